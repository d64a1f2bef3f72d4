/* SPDX-License-Identifier: MIT */
/*
 * A cable that is slow, and no better than cables are.
 *
 *     tun_forward NETWORK NETWORK [--delay MS] [--jitter MS] [--overtake %] [--lose %] [--double %] [--seed N]
 *
 * Makes a TUN device, slow0, in each of two network namespaces (/proc/PID/ns/net), says "ready", and carries packets from one to the
 * other: each waits for `delay` and up to `jitter` more, in its order; of each hundred some overtake those before them, some are lost,
 * some arrive twice. The same seed makes the same choices, packet for packet. (The kernel's netem does more; not every kernel has it.)
 *
 * Decides: when a packet leaves. Called by town.c, ends with it. Must not know what is in a packet.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <lull/lull.h>

#define PACKET_BYTES 2048
#define QUEUE_MAX    4096 /* more are lost, as in any queue */

struct packet {
    struct lull_instant due_at;
    int to;
    size_t len;
    uint8_t bytes[PACKET_BYTES];
};

struct options {
    unsigned long delay, jitter, overtake, lose, twice, seed;
};

struct cable {
    struct options options;
    uint64_t random;
    int ends[2];
    struct lull_instant last_at[2];  /* of those in order, a direction each */
    struct packet *queue[QUEUE_MAX]; /* the soonest first */
    size_t count;
};

/* 0 to below: xorshift64*. */
static unsigned long chance(struct cable *cable, unsigned long below)
{
    uint64_t x = cable->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    cable->random = x;
    return below == 0 ? 0 : (unsigned long)((x * UINT64_C(2685821657736338717)) >> 33) % below;
}

static void enqueue(struct cable *cable, int to, struct lull_instant due_at, const uint8_t *bytes,
                    size_t len)
{
    size_t at = cable->count;
    if (cable->count == QUEUE_MAX) {
        return;
    }
    struct packet *packet = malloc(sizeof(*packet));
    if (packet == NULL) {
        return;
    }
    packet->due_at = due_at;
    packet->to = to;
    packet->len = len;
    memcpy(packet->bytes, bytes, len);
    while (at > 0 && lull_instant_before(due_at, cable->queue[at - 1]->due_at)) {
        cable->queue[at] = cable->queue[at - 1];
        at--;
    }
    cable->queue[at] = packet;
    cable->count++;
}

/* One packet from one end; the draws are the same number for each, so that one choice does not shift the others. */
static void take(struct cable *cable, int from, struct lull_instant now)
{
    uint8_t bytes[PACKET_BYTES];
    const ssize_t len = read(cable->ends[from], bytes, sizeof(bytes));
    const int64_t ms = (int64_t)(cable->options.delay + chance(cable, cable->options.jitter + 1));
    const bool overtakes = chance(cable, 100) < cable->options.overtake;
    const bool is_lost = chance(cable, 100) < cable->options.lose;
    const bool is_double = chance(cable, 100) < cable->options.twice;
    struct lull_instant due_at = lull_instant_add(now, ms * LULL_MS);
    if (len <= 0 || is_lost) {
        return;
    }
    if (overtakes) {
        due_at = lull_instant_add(now, ms * LULL_MS / 2);
    } else if (lull_instant_before(due_at, cable->last_at[from])) {
        due_at = cable->last_at[from];
    } else {
        cable->last_at[from] = due_at;
    }
    for (int i = 0; i < (is_double ? 2 : 1); i++) {
        enqueue(cable, cable->ends[1 - from], due_at, bytes, (size_t)len);
    }
}

static void give(struct cable *cable, struct lull_instant now)
{
    size_t gone = 0;
    while (gone < cable->count && !lull_instant_before(now, cable->queue[gone]->due_at)) {
        struct packet *packet = cable->queue[gone++];
        /* A full device loses it, as a full cable would. */
        if (write(packet->to, packet->bytes, packet->len) < 0) {
            (void)0;
        }
        free(packet);
    }
    memmove(cable->queue, cable->queue + gone, (cable->count - gone) * sizeof(cable->queue[0]));
    cable->count -= gone;
}

static int wait_ms(const struct cable *cable, struct lull_instant now)
{
    if (cable->count == 0) {
        return -1;
    }
    const int64_t left_ns = lull_instant_diff(cable->queue[0]->due_at, now);
    return left_ns <= 0 ? 0 : (int)((left_ns + LULL_MS - 1) / LULL_MS);
}

static int open_end(const char *network)
{
    struct ifreq request;
    const int net = open(network, O_RDONLY | O_CLOEXEC);
    if (net < 0 || setns(net, CLONE_NEWNET) != 0) {
        return -1;
    }
    (void)close(net);
    const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    memset(&request, 0, sizeof(request));
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    memcpy(request.ifr_name, "slow0", sizeof("slow0"));
    return fd < 0 || ioctl(fd, TUNSETIFF, &request) != 0 ? -1 : fd;
}

static bool parse(struct options *options, int argc, char **argv)
{
    const struct {
        const char *name;
        unsigned long *value;
    } names[] = {{"--delay", &options->delay},       {"--jitter", &options->jitter},
                 {"--overtake", &options->overtake}, {"--lose", &options->lose},
                 {"--double", &options->twice},      {"--seed", &options->seed}};
    for (int i = 3; i + 1 < argc; i += 2) {
        bool is_known = false;
        for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
            if (strcmp(argv[i], names[n].name) == 0) {
                *names[n].value = strtoul(argv[i + 1], NULL, 10);
                is_known = true;
            }
        }
        if (!is_known) {
            return false;
        }
    }
    return argc >= 3 && argc % 2 == 1;
}

int main(int argc, char **argv)
{
    static struct cable cable;
    cable.options.seed = 1;
    if (!parse(&cable.options, argc, argv)) {
        (void)fprintf(stderr, "usage: tun_forward NETWORK NETWORK [--delay MS] ...\n");
        return 2;
    }
    cable.random = cable.options.seed + 1;
    for (int i = 0; i < 2; i++) {
        cable.last_at[i] = lull_at(INT64_MIN);
        cable.ends[i] = open_end(argv[i + 1]);
        if (cable.ends[i] < 0) {
            perror("tun_forward");
            return 1;
        }
    }
    (void)printf("ready\n");
    (void)fflush(stdout);
    for (;;) {
        struct pollfd fds[2] = {{cable.ends[0], POLLIN, 0}, {cable.ends[1], POLLIN, 0}};
        (void)poll(fds, 2, wait_ms(&cable, lull_clock_now(lull_clock_system())));
        const struct lull_instant now = lull_clock_now(lull_clock_system());
        for (int i = 0; i < 2; i++) {
            if (fds[i].revents != 0) {
                take(&cable, i, now);
            }
        }
        give(&cable, now);
    }
}
