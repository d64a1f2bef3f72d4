// SPDX-License-Identifier: MIT

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The client on grpc-java and Netty: `grpcjava MODE PORT SECONDS [n=] [size=] [tls=] [deadline=]`, as the C programs; TLS is
 * OpenSSL's. Messages are raw bytes. A call has its deadline, and the rest is the library's default; what is asynchronous runs on
 * the event loop's thread (directExecutor). Streams has streams, Many channels that come, rest and are counted, Meter counts.
 */
final class GrpcJava {
    static String mode;
    static int port;
    static double seconds;
    static int count = 1;
    static int size = 64;
    static boolean deadline = true;
    static SslContext tls;
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
        NettyChannelBuilder builder = NettyChannelBuilder.forAddress("127.0.0.1", port);
        if (tls == null) {
            builder.usePlaintext();
        } else {
            builder.sslContext(tls);
        }
        if (isDirect) {
            builder.directExecutor();
        }
        if (hasKeepalive) {
            builder.keepAliveTime(10, TimeUnit.SECONDS).keepAliveWithoutCalls(true);
        }
        return builder.build();
    }

    private static SslContext encrypted(File roots) throws IOException {
        if (!OpenSsl.isAvailable()) {
            System.err.println("Netty's library for OpenSSL was not found (bench/setup)");
            Runtime.getRuntime().halt(77);
        }
        return GrpcSslContexts.configure(SslContextBuilder.forClient().trustManager(roots), SslProvider.OPENSSL).protocols("TLSv1.3").build();
    }

    static CallOptions options() {
        return deadline ? CallOptions.DEFAULT.withDeadlineAfter(10, TimeUnit.SECONDS) : CallOptions.DEFAULT;
    }

    static void mustAnswer(byte[] answer) {
        mustAnswer(answer, size);
    }

    private static void mustAnswer(byte[] answer, int wanted) {
        if (answer.length != wanted) {
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
        private final MethodDescriptor<byte[], byte[]> method;
        private final byte[] request;
        private final int wanted;
        private final Meter meter;
        private final CountDownLatch ended;
        private long from;

        Slot(ManagedChannel channel, MethodDescriptor<byte[], byte[]> method, byte[] request, int wanted, Meter meter, CountDownLatch ended) {
            this.channel = channel;
            this.method = method;
            this.request = request;
            this.wanted = wanted;
            this.meter = meter;
            this.ended = ended;
        }

        void start() {
            from = System.nanoTime();
            ClientCalls.asyncUnaryCall(channel.newCall(method, options()), request, this);
        }

        @Override
        public void onNext(byte[] answer) {
            mustAnswer(answer, wanted);
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
        slots(UNARY, new byte[size], size);
    }

    /** A message of `size` bytes one way, and a small one the other. */
    private static void big(boolean isReceived) throws InterruptedException {
        byte[] request = isReceived ? ByteBuffer.allocate(4).putInt(size).array() : new byte[size];
        double rate = slots(method(MethodDescriptor.MethodType.UNARY, isReceived ? "Big" : "Sink"), request, isReceived ? size : 64);
        Meter.line("mb_per_s", rate * size / 1e6);
    }

    /** Returns the rate. */
    private static double slots(MethodDescriptor<byte[], byte[]> method, byte[] request, int wanted) throws InterruptedException {
        ManagedChannel channel = channel(true, false);
        mustAnswer(ClientCalls.blockingUnaryCall(channel, method, options(), request), wanted);
        Meter[] meters = Meter.begin(1);
        CountDownLatch ended = new CountDownLatch(count);
        for (int i = 0; i < count; i++) {
            new Slot(channel, method, request, wanted, meters[0], ended).start();
        }
        ended.await();
        return Meter.print(meters);
    }

    private static void arguments(String[] args) throws IOException {
        if (args.length < 3) {
            fail("usage", "grpcjava MODE PORT SECONDS [n=COUNT] [size=BYTES] [tls=CA] [deadline=0|1]");
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
            } else if (args[i].startsWith("tls=")) {
                tls = encrypted(new File(value));
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
            case "big-recv": big(true); break;
            case "big-send": big(false); break;
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
