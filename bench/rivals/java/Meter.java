// SPDX-License-Identifier: MIT

import java.lang.management.ManagementFactory;
import java.util.Arrays;

/** Counts for one thread; all of them begin after the same warm-up and end at the same time. */
final class Meter {
    /** The compiler wants longer than a fifth of a measurement to find out what is hot: so much CPU time, or on a busy machine so long. */
    private static final long WARM_CPU_NS = 3000000000L;
    private static final long WARM_LIMIT_NS = 20000000000L;
    private static final long LOOK_EACH_NS = 50000000L;

    private static long warmLook;
    private static long warmLimit;
    private static long cpuBefore;
    private static volatile long until;
    private static long cpu;
    private static long switches;
    private static boolean isBegun;
    private static boolean isEnded;

    private long ops;
    private boolean isWarm;
    private long[] samples = new long[1 << 16];
    private int sampled;

    private Meter() {}

    static long cpuNs() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    static Meter[] begin(int count) {
        Meter[] meters = new Meter[count];
        for (int i = 0; i < count; i++) {
            meters[i] = new Meter();
        }
        warmLook = System.nanoTime();
        warmLimit = warmLook + WARM_LIMIT_NS;
        cpuBefore = cpuNs();
        if (GrpcJava.ONCE) {
            note();
        }
        return meters;
    }

    private static synchronized boolean isWarmedUp(long now) {
        if (!isBegun && now >= warmLook) {
            warmLook = now + LOOK_EACH_NS;
            if (now >= warmLimit || cpuNs() - cpuBefore >= WARM_CPU_NS) {
                note();
                until = System.nanoTime() + (long) (GrpcJava.seconds * 1e9);
            }
        }
        return isBegun;
    }

    private static void note() {
        isBegun = true;
        switches = Proc.switches(true);
        cpu = cpuNs();
    }

    /** Noted by the first thread that is over: those that have ended are not in /proc any more. */
    private static synchronized boolean noteEnd() {
        if (!isEnded) {
            isEnded = true;
            cpu = cpuNs() - cpu;
            switches = Proc.switches(true) - switches;
        }
        return false;
    }

    boolean count(long more, long now) {
        if (GrpcJava.ONCE) {
            ops += more;
            return ops < 2 || noteEnd();
        }
        if (!isWarm) {
            isWarm = isWarmedUp(now);
            return true; // this one began before
        }
        ops += more;
        return now < until || noteEnd();
    }

    boolean sample(long from, long now) {
        if (isWarm || GrpcJava.ONCE) {
            if (sampled == samples.length) {
                samples = Arrays.copyOf(samples, sampled * 2);
            }
            samples[sampled++] = now - from;
        }
        return count(1, now);
    }

    static void line(String metric, double value) {
        System.out.println(named("BENCH_ROW", "none") + "\t" + named("BENCH_FAMILY", "none") + "\t" + named("BENCH_VARIANT", "grpc-java")
            + "\t" + metric + "\t" + value);
    }

    private static String named(String variable, String otherwise) {
        String value = System.getenv(variable);
        return value != null && !value.isEmpty() ? value : otherwise;
    }

    /** Returns the rate. */
    static double print(Meter[] meters) {
        double ops = 0;
        int count = 0;
        for (Meter meter : meters) {
            ops += meter.ops;
            count += meter.sampled;
        }
        if (ops == 0) {
            GrpcJava.fail("meter", "nothing was measured");
        }
        long[] all = new long[count];
        int at = 0;
        for (Meter meter : meters) {
            System.arraycopy(meter.samples, 0, all, at, meter.sampled);
            at += meter.sampled;
        }
        Arrays.sort(all);
        if (count > 0) {
            String[] names = {"p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "max_us"};
            double[] shares = {0.5, 0.9, 0.95, 0.99, 0.999, 1};
            for (int i = 0; i < names.length; i++) {
                line(names[i], all[(int) ((count - 1) * shares[i] + 0.5)] / 1e3);
            }
        }
        double rate = ops / (GrpcJava.ONCE ? 1 : GrpcJava.seconds);
        line("rate", rate);
        line("cpu_us", cpu / 1e3 / ops);
        line("ctx", switches / ops);
        return rate;
    }
}
