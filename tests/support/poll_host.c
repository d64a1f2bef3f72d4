/* SPDX-License-Identifier: MIT */
#include "tests/support/poll_host.h"

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lull/clock.h"

static struct poll_host *host_of(struct lull_loop *loop)
{
    return (struct poll_host *)(void *)loop;
}

static struct lull_instant now(void)
{
    return lull_clock_now(lull_clock_system());
}

static int watch(struct lull_loop *loop, struct lull_watch *w, unsigned want)
{
    struct poll_host *host = host_of(loop);
    size_t i = 0;
    while (i < host->count && host->watches[i] != w) {
        i++;
    }
    if (want == LULL_WANT_NONE && i < host->count) {
        host->watches[i] = host->watches[--host->count];
    } else if (want != LULL_WANT_NONE && i == host->count) {
        if (host->count == POLL_HOST_FDS) {
            return ENOSPC;
        }
        host->watches[host->count++] = w;
    }
    return 0;
}

static int alarm_at(struct lull_loop *loop, struct lull_instant at)
{
    struct poll_host *host = host_of(loop);
    const int refused = hostile_alarm_set(&host->alarm, now(), at);
    if (at.ns != LULL_NEVER && hostile_alarm_calls_inside(&host->alarm)) {
        ck_assert_int_eq(lull_loop_on_alarm(loop), LULL_RC_IN_TURN);
        host->refused_inside++;
    }
    return refused;
}

static void wake(struct lull_loop *loop)
{
    static const uint64_t one = 1;
    const ssize_t wrote = write(host_of(loop)->wake_fd, &one, sizeof(one));
    ck_assert_int_eq(wrote, sizeof(one));
}

static void soon(struct lull_loop *loop)
{
    host_of(loop)->is_turn_wanted = true;
}

static const struct lull_loop_ops ops = {.watch = watch, .alarm = alarm_at, .wake = wake, .soon = soon};

void poll_host_init(struct poll_host *host, unsigned ways, unsigned refuse_every, uint64_t seed)
{
    memset(host, 0, sizeof(*host));
    hostile_alarm_init(&host->alarm, ways, refuse_every, seed);
    host->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ck_assert_int_ge(host->wake_fd, 0);
    ck_assert_int_eq(lull_loop_init(&host->loop, &ops, "poll host", NULL), LULL_OK);
}

void poll_host_fini(struct poll_host *host)
{
    lull_loop_fini(&host->loop);
    ck_assert_uint_eq(host->count, 0);
    ck_assert_uint_eq(host->alarm.count, 0); /* taken back */
    close(host->wake_fd);
}

/* In ms, rounded up. */
static int timeout_ms(const struct poll_host *host, int64_t wait_ns)
{
    const int64_t left_ns = lull_instant_diff(hostile_alarm_next(&host->alarm), now());
    const int64_t ns = left_ns < wait_ns ? left_ns : wait_ns;
    return host->is_turn_wanted || ns <= 0 ? 0 : (int)((ns + LULL_MS - 1) / LULL_MS);
}

static unsigned ready_of(short events)
{
    return ((events & (POLLIN | POLLERR | POLLHUP)) != 0 ? (unsigned)LULL_WANT_READ : 0U) |
           ((events & (POLLOUT | POLLERR | POLLHUP)) != 0 ? (unsigned)LULL_WANT_WRITE : 0U);
}

static void hear_fds(struct poll_host *host, const struct pollfd *polled, struct lull_watch **watches, size_t count)
{
    uint64_t wakes;
    for (size_t i = 0; i < count; i++) {
        if (polled[i].revents != 0) {
            lull_watch_ready(&host->loop, watches[i], ready_of(polled[i].revents) & watches[i]->want);
            host->is_turn_wanted = true;
        }
    }
    if (polled[count].revents != 0) {
        ck_assert_int_eq(read(host->wake_fd, &wakes, sizeof(wakes)), sizeof(wakes));
        host->is_turn_wanted = true;
    }
}

void poll_host_round(struct poll_host *host, int64_t wait_ns)
{
    struct pollfd polled[POLL_HOST_FDS + 1];
    struct lull_watch *watches[POLL_HOST_FDS];
    const size_t count = host->count;
    for (size_t i = 0; i < count; i++) {
        const unsigned want = host->watches[i]->want;
        watches[i] = host->watches[i];
        polled[i].fd = watches[i]->fd;
        polled[i].events = (short)(((want & LULL_WANT_READ) != 0 ? POLLIN : 0) |
                                   ((want & LULL_WANT_WRITE) != 0 ? POLLOUT : 0));
    }
    polled[count] = (struct pollfd){.fd = host->wake_fd, .events = POLLIN};
    ck_assert_int_ge(poll(polled, count + 1, timeout_ms(host, wait_ns)), 0);
    hear_fds(host, polled, watches, count);
    if (host->is_turn_wanted || (host->alarm.ways & HOSTILE_REFUSES) != 0) {
        host->is_turn_wanted = false;
        ck_assert_int_eq(lull_executor_turn_now(lull_loop_executor(&host->loop)), LULL_OK);
    }
    /* Each once more than it is due at most, so that one that comes twice cannot hold the round. */
    for (size_t i = 0; i < 2 && hostile_alarm_take(&host->alarm, now()); i++) {
        ck_assert_int_eq(lull_loop_on_alarm(&host->loop), LULL_OK);
    }
}
