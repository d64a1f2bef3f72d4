// SPDX-License-Identifier: MIT

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;

/** Streams, on the event loop's thread. */
final class Streams {
    private static final int AT_A_TIME = 1000000; // messages of one response
    private static final int CLOCK_EACH = 256;    // messages between two looks at the clock

    private static final CountDownLatch OVER = new CountDownLatch(1);
    private static final int EACH = GrpcJava.ONCE ? 1 : CLOCK_EACH;

    private Streams() {}

    private abstract static class Listener extends ClientCall.Listener<byte[]> {
        ClientCall<byte[], byte[]> call;
        Meter[] meters;
        int uncounted;

        void start(String name, MethodDescriptor.MethodType type, ManagedChannel channel) {
            call = channel.newCall(GrpcJava.method(type, name), CallOptions.DEFAULT);
            call.start(this, new Metadata());
        }

        void end() {
            OVER.countDown();
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            if (OVER.getCount() > 0) {
                GrpcJava.fail("stream", status);
            }
        }
    }

    private static void waitAndPrint(Meter[] meters) throws InterruptedException {
        OVER.await();
        Meter.print(meters);
    }

    static void bidi() throws InterruptedException {
        byte[] request = new byte[GrpcJava.size];
        Listener listener = new Listener() {
            private long from = System.nanoTime();

            @Override
            public void onMessage(byte[] answer) {
                GrpcJava.mustAnswer(answer);
                if (OVER.getCount() == 0) {
                    return;
                }
                if (!meters[0].sample(from, System.nanoTime())) {
                    end();
                    return;
                }
                from = System.nanoTime();
                call.sendMessage(request);
                call.request(1);
            }
        };
        listener.meters = Meter.begin(1);
        listener.start("Echo", MethodDescriptor.MethodType.BIDI_STREAMING, GrpcJava.channel(true, false));
        listener.call.request(1);
        listener.call.sendMessage(request);
        waitAndPrint(listener.meters);
    }

    static void receive(String name) throws InterruptedException {
        ManagedChannel channel = GrpcJava.channel(true, false);
        byte[] request = ByteBuffer.allocate(8).putInt(GrpcJava.ONCE ? 10 : AT_A_TIME).putInt(GrpcJava.size).array();
        Listener listener = new Listener() {
            @Override
            public void onMessage(byte[] answer) {
                GrpcJava.mustAnswer(answer);
                call.request(1);
                if (OVER.getCount() > 0 && ++uncounted == EACH) {
                    uncounted = 0;
                    if (!meters[0].count(EACH, System.nanoTime())) {
                        end();
                    }
                }
            }

            @Override
            public void onClose(Status status, Metadata trailers) {
                if (OVER.getCount() > 0 && status.isOk()) {
                    again(this, name, channel, request);
                } else {
                    super.onClose(status, trailers);
                }
            }
        };
        listener.meters = Meter.begin(1);
        again(listener, name, channel, request);
        waitAndPrint(listener.meters);
    }

    private static void again(Listener listener, String name, ManagedChannel channel, byte[] request) {
        listener.start(name, MethodDescriptor.MethodType.SERVER_STREAMING, channel);
        listener.call.request(64);
        listener.call.sendMessage(request);
        listener.call.halfClose();
    }

    static void send() throws InterruptedException {
        byte[] request = new byte[GrpcJava.size];
        Listener listener = new Listener() {
            @Override
            public void onReady() {
                while (OVER.getCount() > 0 && call.isReady()) {
                    call.sendMessage(request);
                    if (++uncounted == EACH) {
                        uncounted = 0;
                        if (!meters[0].count(EACH, System.nanoTime())) {
                            end();
                        }
                    }
                }
            }
        };
        listener.meters = Meter.begin(1);
        listener.start("Sink", MethodDescriptor.MethodType.CLIENT_STREAMING, GrpcJava.channel(true, false));
        listener.call.request(1);
        waitAndPrint(listener.meters);
    }
}
