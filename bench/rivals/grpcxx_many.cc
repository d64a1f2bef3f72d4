/* SPDX-License-Identifier: MIT */
/* See grpcxx.h: connections of their own, and many channels at rest. */
#include "grpcxx.h"

#include <chrono>
#include <cstdio>
#include <malloc.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

void connects()
{
    const Bytes request = message_of(args.size);
    bool goes_on = true;

    bench_meter_begin(&meter, &args, 3);
    while (goes_on) {
        const uint64_t from = bench_now_ns();
        const ChannelPtr channel = make_channel();
        call_once(channel, request);
        goes_on = bench_meter_sample(&meter, from, bench_now_ns());
    }
    bench_meter_print(&meter);
}

static std::vector<ChannelPtr> make_channels(int keepalive_ms)
{
    const Bytes request = message_of(args.size);
    std::vector<ChannelPtr> channels;

    for (int i = 0; i < args.count; i++) {
        channels.push_back(make_channel(keepalive_ms));
        call_once(channels.back(), request);
    }
    return channels;
}

static double used_kib()
{
    const struct mallinfo2 info = mallinfo2();

    return (double)(info.uordblks + info.hblkhd) / 1024.0;
}

void memory()
{
    bench_all_files();
    const ChannelPtr first = make_channel(); /* what is there once is no channel's */
    call_once(first, message_of(args.size));
    const double heap = used_kib();
    const double rss = (double)bench_rss_kib();
    const std::vector<ChannelPtr> channels = make_channels(0);
    bench_print("heap_kib", (used_kib() - heap) / args.count);
    bench_print("rss_kib", ((double)bench_rss_kib() - rss) / args.count);
    bench_print("threads", bench_threads());
}

/* Connections to the server's port that are established: the library's sockets are of both families. */
static int alive()
{
    int count = 0;

    for (const char *path : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
        FILE *file = fopen(path, "r");
        char line[512];
        while (file != nullptr && fgets(line, sizeof(line), file) != nullptr) {
            unsigned int port, state;
            if (sscanf(line, " %*d: %*[0-9A-F]:%*4x %*[0-9A-F]:%4x %2x", &port, &state) == 2 && port == (unsigned int)args.port &&
                state == 1) {
                count++;
            }
        }
        if (file != nullptr) {
            fclose(file);
        }
    }
    return count;
}

void wakeups(bool has_keepalive)
{
    struct rusage before, after;

    bench_all_files();
    const std::vector<ChannelPtr> channels = make_channels(has_keepalive ? 10000 : 0);
    std::this_thread::sleep_for(std::chrono::duration<double>(args.is_once ? 0.01 : 1)); /* what the connections still had to say */
    getrusage(RUSAGE_SELF, &before);
    std::this_thread::sleep_for(std::chrono::duration<double>(args.seconds));
    getrusage(RUSAGE_SELF, &after);
    const long woken = after.ru_nvcsw - before.ru_nvcsw - 1; /* less the one that ends the measurement */
    bench_print("wakeups_per_s", (double)(woken > 0 ? woken : 0) / args.seconds);
    bench_print("alive", alive());
}
