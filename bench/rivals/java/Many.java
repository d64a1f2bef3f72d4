// SPDX-License-Identifier: MIT

import io.grpc.ManagedChannel;
import java.util.ArrayList;
import java.util.List;

/** Connections of their own, and many channels at rest. */
final class Many {
    private Many() {}

    static void connects() {
        byte[] request = new byte[GrpcJava.size];
        Meter[] meters = Meter.begin(1);
        boolean goesOn = true;
        while (goesOn) {
            long from = System.nanoTime();
            ManagedChannel channel = GrpcJava.channel(true, false);
            GrpcJava.call(channel, request);
            goesOn = meters[0].sample(from, System.nanoTime());
            channel.shutdownNow();
        }
        Meter.print(meters);
    }

    private static List<ManagedChannel> makeChannels(boolean hasKeepalive) {
        byte[] request = new byte[GrpcJava.size];
        List<ManagedChannel> channels = new ArrayList<>();
        for (int i = 0; i < GrpcJava.count; i++) {
            ManagedChannel channel = GrpcJava.channel(true, hasKeepalive);
            GrpcJava.call(channel, request);
            channels.add(channel);
        }
        return channels;
    }

    static void memory() {
        ManagedChannel first = GrpcJava.channel(true, false); // what is there once is no channel's
        GrpcJava.call(first, new byte[GrpcJava.size]);
        System.gc();
        double rss = Proc.status("/proc/self/status", "VmRSS");
        List<ManagedChannel> channels = makeChannels(false);
        System.gc();
        Meter.line("rss_kib", (Proc.status("/proc/self/status", "VmRSS") - rss) / channels.size());
        Meter.line("threads", Proc.status("/proc/self/status", "Threads"));
        first.shutdownNow();
    }

    static void wakeups(boolean hasKeepalive) throws InterruptedException {
        List<ManagedChannel> channels = makeChannels(hasKeepalive);
        Thread.sleep(GrpcJava.ONCE ? 10 : 1000); // what the connections still had to say
        long before = Proc.switches(false);
        Thread.sleep((long) (GrpcJava.seconds * 1000));
        long woken = Proc.switches(false) - before - 1; // less the one that ends the measurement
        Meter.line("wakeups_per_s", Math.max(woken, 0) / GrpcJava.seconds);
        Meter.line("alive", channels.isEmpty() ? 0 : Proc.alive(GrpcJava.port));
    }
}
