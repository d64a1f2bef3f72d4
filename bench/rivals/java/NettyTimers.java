// SPDX-License-Identifier: MIT

import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.util.HashedWheelTimer;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;

/**
 * Netty's two timers in the families "push" and "attempt": `nettytimers push|attempt SECONDS`. A deadline is pushed out by cancel and a new
 * one: there is no other way. The wheel's own thread takes cancelled timeouts away every 100 ms; that is not in the quickest block, and is in
 * the median one. The event loop's timers are used on its thread. The rows are those of bench/micro/timers_rows.h.
 */
final class NettyTimers {
    private static final long BLOCK_NS = 200000;
    private static final boolean ONCE = "1".equals(System.getenv("BENCH_ONCE"));

    private static final byte[] RING = new byte[65536];
    private static int ringAt;
    private static int random;
    private static long sink;

    private NettyTimers() {}

    /** What a timer is here: something that can be cancelled. */
    private interface Timers {
        Object arm(long afterMs);

        void cancel(Object timer);
    }

    private static final class Wheel implements Timers {
        private final HashedWheelTimer timer = new HashedWheelTimer(task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        });

        @Override
        public Object arm(long afterMs) {
            return timer.newTimeout(timeout -> { }, afterMs, TimeUnit.MILLISECONDS);
        }

        @Override
        public void cancel(Object one) {
            ((io.netty.util.Timeout) one).cancel();
        }
    }

    private static final class Loop implements Timers {
        private final io.netty.channel.EventLoop loop;

        Loop(io.netty.channel.EventLoop loop) {
            this.loop = loop;
        }

        @Override
        public Object arm(long afterMs) {
            return loop.schedule(() -> { }, afterMs, TimeUnit.MILLISECONDS);
        }

        @Override
        public void cancel(Object one) {
            ((java.util.concurrent.Future<?>) one).cancel(false);
        }
    }

    private static void work() {
        for (int i = 0; i < 4096; i += 64) {
            RING[ringAt + i]++;
        }
        ringAt = (ringAt + 4096) % RING.length;
    }

    private static int below(int limit) {
        random ^= random << 13;
        random ^= random >>> 17;
        random ^= random << 5;
        return (int) (((random & 0xffffffffL) * limit) >>> 32);
    }

    private static double block(IntConsumer operations, int count) {
        long from = System.nanoTime();
        operations.accept(count);
        return System.nanoTime() - from;
    }

    private static void measure(String variant, String family, String row, int others, double seconds, IntConsumer operations, IntConsumer empty) {
        int count = 16;
        long end = System.nanoTime() + (long) (seconds * 1e9);
        double[] took = new double[2000];
        double least = Double.MAX_VALUE;
        int n = 0;
        while (!ONCE && block(operations, count) < BLOCK_NS / 2 && count < 1 << 24) {
            count *= 2;
        }
        // The compiler learns in the first half.
        long from = System.nanoTime();
        while (!ONCE && System.nanoTime() - from < (end - from) / 2) {
            block(operations, count);
            block(empty, count);
        }
        while (n < took.length && (n < 7 || !ONCE && System.nanoTime() < end)) {
            took[n++] = block(operations, count);
            least = Math.min(least, block(empty, count));
        }
        took = Arrays.copyOf(took, n);
        Arrays.sort(took);
        String head = row + "@" + others + "\t" + family + "\t" + variant + "\t";
        System.out.println(head + "ns\t" + (took[0] - least) / count);
        System.out.println(head + "mid_ns\t" + (took[n / 2] - least) / count);
        System.out.println(head + "empty_ns\t" + least / count);
    }

    private static IntConsumer loop(boolean works, IntConsumer operation) {
        return n -> {
            for (int i = 0; i < n; i++) {
                if (works) {
                    work();
                }
                operation.accept(i);
            }
        };
    }

    private static void rows(String variant, String family, Timers timers, int others, double seconds) {
        Object[] all = new Object[others + 1];
        random = 0x92d68ca2;
        for (int i = 0; i < all.length; i++) {
            all[i] = timers.arm(10000 + i * 2654435761L % 50000);
        }
        if (family.equals("push")) {
            IntConsumer push = which -> {
                timers.cancel(all[which]);
                all[which] = timers.arm(30000);
            };
            measure(variant, family, "hot", others, seconds, loop(false, i -> push.accept(0)), loop(false, i -> sink++));
            measure(variant, family, "random", others, seconds, loop(false, i -> push.accept(1 + below(others))), loop(false, i -> sink += below(others)));
            measure(variant, family, "work", others, seconds, loop(true, i -> push.accept(1 + below(others))), loop(true, i -> sink += below(others)));
        } else {
            IntConsumer attempt = value -> {
                Object window = timers.arm(10000 + value * 10L);
                Object deadline = timers.arm(60000 + value * 10L);
                timers.cancel(window);
                timers.cancel(deadline);
            };
            measure(variant, family, "one", others, seconds, loop(false, i -> attempt.accept(0)), loop(false, i -> sink++));
            measure(variant, family, "work", others, seconds, loop(true, i -> attempt.accept(0)), loop(true, i -> sink++));
            measure(variant, family, "64-values", others, seconds, loop(false, i -> attempt.accept(i & 63)), loop(false, i -> sink += i & 63));
        }
        for (Object one : all) {
            timers.cancel(one);
        }
    }

    private static void subject(String variant, String family, Timers timers, double seconds) {
        for (int others : ONCE ? new int[] {1, 1000} : new int[] {1, 1000, 100000}) {
            rows(variant, family, timers, others, seconds);
        }
    }

    public static void main(String[] args) throws Exception {
        if (args.length < 2) {
            System.err.println("usage: nettytimers push|attempt SECONDS");
            System.exit(1);
        }
        double seconds = Math.max(Double.parseDouble(args[1]) / 9, ONCE ? 0 : 0.2);
        subject("netty-wheel", args[0], new Wheel(), seconds);
        io.netty.channel.EventLoop loop = new NioEventLoopGroup(1).next();
        loop.submit(() -> subject("netty-loop", args[0], new Loop(loop), seconds)).get();
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
