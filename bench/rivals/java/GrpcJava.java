// SPDX-License-Identifier: MIT

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The client on grpc-java and Netty: `grpcjava MODE PORT SECONDS [n=] [size=] [deadline=]`, as the C programs; no TLS. Messages are raw
 * bytes. A call has its deadline, and the rest is the library's default; what is asynchronous runs on the event loop's thread
 * (directExecutor). Streams has streams, Many channels that come, rest and are counted, Meter counts.
 */
final class GrpcJava {
    static String mode;
    static int port;
    static double seconds;
    static int count = 1;
    static int size = 64;
    static boolean deadline = true;
    static final boolean ONCE = "1".equals(System.getenv("BENCH_ONCE"));

    private GrpcJava() {}

    static void fail(String what, Object why) {
        System.err.println(what + ": " + why);
        Runtime.getRuntime().halt(1);
    }

    /** Bytes as they are. */
    private static final class Raw implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static MethodDescriptor<byte[], byte[]> method(MethodDescriptor.MethodType type, String name) {
        return MethodDescriptor.<byte[], byte[]>newBuilder().setType(type).setFullMethodName("bench/" + name)
            .setRequestMarshaller(new Raw()).setResponseMarshaller(new Raw()).build();
    }

    static final MethodDescriptor<byte[], byte[]> UNARY = method(MethodDescriptor.MethodType.UNARY, "Unary");

    static ManagedChannel channel(boolean isDirect, boolean hasKeepalive) {
        NettyChannelBuilder builder = NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext();
        if (isDirect) {
            builder.directExecutor();
        }
        if (hasKeepalive) {
            builder.keepAliveTime(10, TimeUnit.SECONDS).keepAliveWithoutCalls(true);
        }
        return builder.build();
    }

    static CallOptions options() {
        return deadline ? CallOptions.DEFAULT.withDeadlineAfter(10, TimeUnit.SECONDS) : CallOptions.DEFAULT;
    }

    static void mustAnswer(byte[] answer) {
        if (answer.length != size) {
            fail("call", "an answer of another length");
        }
    }

    static void call(ManagedChannel channel, byte[] request) {
        mustAnswer(ClientCalls.blockingUnaryCall(channel, UNARY, options(), request));
    }

    /** Calls that block, each thread its own, all on one channel. */
    private static void blocking() throws InterruptedException {
        ManagedChannel channel = channel(false, false);
        byte[] request = new byte[size];
        call(channel, request);
        Meter[] meters = Meter.begin(count);
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            Meter meter = meters[i];
            threads[i] = new Thread(() -> {
                boolean goesOn = true;
                while (goesOn) {
                    long from = System.nanoTime();
                    call(channel, request);
                    goesOn = meter.sample(from, System.nanoTime());
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Meter.print(meters);
    }

    /** One of the calls that are always under way; all of them call back on the one thread of the channel's event loop. */
    private static final class Slot implements StreamObserver<byte[]> {
        private final ManagedChannel channel;
        private final byte[] request;
        private final Meter meter;
        private final CountDownLatch ended;
        private long from;

        Slot(ManagedChannel channel, byte[] request, Meter meter, CountDownLatch ended) {
            this.channel = channel;
            this.request = request;
            this.meter = meter;
            this.ended = ended;
        }

        void start() {
            from = System.nanoTime();
            ClientCalls.asyncUnaryCall(channel.newCall(UNARY, options()), request, this);
        }

        @Override
        public void onNext(byte[] answer) {
            mustAnswer(answer);
        }

        @Override
        public void onError(Throwable why) {
            fail("call", why);
        }

        @Override
        public void onCompleted() {
            if (meter.sample(from, System.nanoTime())) {
                start();
            } else {
                ended.countDown();
            }
        }
    }

    private static void unary() throws InterruptedException {
        ManagedChannel channel = channel(true, false);
        byte[] request = new byte[size];
        call(channel, request);
        Meter[] meters = Meter.begin(1);
        CountDownLatch ended = new CountDownLatch(count);
        for (int i = 0; i < count; i++) {
            new Slot(channel, request, meters[0], ended).start();
        }
        ended.await();
        Meter.print(meters);
    }

    private static void arguments(String[] args) {
        if (args.length < 3) {
            fail("usage", "grpcjava MODE PORT SECONDS [n=COUNT] [size=BYTES] [deadline=0|1]");
        }
        mode = args[0];
        port = Integer.parseInt(args[1]);
        seconds = Double.parseDouble(args[2]);
        for (int i = 3; i < args.length; i++) {
            String value = args[i].substring(args[i].indexOf('=') + 1);
            if (args[i].startsWith("n=")) {
                count = Integer.parseInt(value);
            } else if (args[i].startsWith("size=")) {
                size = Integer.parseInt(value);
            } else if (args[i].startsWith("deadline=")) {
                deadline = !value.equals("0");
            } else {
                fail("no such argument", args[i]);
            }
        }
        if (ONCE && count > 8) {
            count = 8;
        }
    }

    public static void main(String[] args) throws Exception {
        arguments(args);
        switch (mode) {
            case "unary": unary(); break;
            case "unary-block": blocking(); break;
            case "bidi": Streams.bidi(); break;
            case "recv-frames": Streams.receive("Frames"); break;
            case "recv-packed": Streams.receive("Source"); break;
            case "send": Streams.send(); break;
            case "connect": Many.connects(); break;
            case "memory": Many.memory(); break;
            case "keepalive": Many.wakeups(true); break;
            case "quiet": Many.wakeups(false); break;
            default: fail("no such mode", mode);
        }
        System.out.flush();
        Runtime.getRuntime().halt(0); // channels are not tidied up
    }
}
