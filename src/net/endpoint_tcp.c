/* SPDX-License-Identifier: MIT */
#include "net/endpoint_tcp.h"

#include <errno.h>
#include <limits.h>
#include <sys/socket.h>

#include "base/cold.h"
#include "base/container.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "exec/executor.h"
#include "loop/loop.h"
#include "net/sys.h"

/* What the system takes (TCP_RTO_MAX_MS). */
#define RESEND_LEAST_MS 1000
#define RESEND_MOST_MS  120000

struct endpoint_tcp {
    struct endpoint base;
    struct lull_loop *loop;
    bool is_connected;
    int hook_errno; /* the hook refused the socket */
    bool is_tcp;    /* not a unix socket, nor of a virtual machine (vsock) */
    bool is_resent; /* the system's resends are limited */
    bool is_at_once;   /* the dial connected, and nobody was told yet */
    bool is_unwatched; /* base.watch.want is known here only, and not to the loop: told without it */
};

static struct endpoint_tcp *tcp_of(struct endpoint *base)
{
    return container_of(base, struct endpoint_tcp, base);
}

static struct lull_counters *counters_of(const struct endpoint *base)
{
    return executor_counters(base->executor);
}

/*
 * Writable means that the connect has ended, well or not: one with a peer is connected, and of another SO_ERROR says why not
 * (POSIX, connect). Asked too early it says 0.
 */
LULL_COLD static enum io tcp_finish_connect(struct endpoint *base)
{
    struct endpoint_tcp *tcp = tcp_of(base);
    int err;

    LULL_INVARIANT(!base->is_closed, "a closed endpoint is asked whether it is connected");
    if (tcp->is_connected) {
        return IO_OK;
    }
    if (tcp->hook_errno != 0) {
        return endpoint_fail(base, "socket hook", tcp->hook_errno);
    }
    err = sys_is_connected(counters_of(base), base->watch.fd);
    if (err == ENOTCONN) {
        err = sys_socket_error(counters_of(base), base->watch.fd);
        if (err == 0) {
            return IO_AGAIN;
        }
    }
    if (err != 0) {
        return endpoint_fail(base, "connect", err);
    }
    tcp->is_connected = true;
    return IO_OK;
}

static enum io tcp_read(struct endpoint *base, void *into, size_t capacity, size_t *got)
{
    int err;

    LULL_INVARIANT(!base->is_closed && capacity > 0,
                   "a read from a closed endpoint, or of nothing");
    err = sys_read(counters_of(base), base->watch.fd, into, capacity, got);
    if (err == EAGAIN) {
        return IO_AGAIN;
    }
    if (err != 0) {
        return endpoint_fail(base, "read", err);
    }
    return *got == 0 ? IO_EOF : IO_OK;
}

static enum io tcp_writev(struct endpoint *base, const struct io_piece *pieces, size_t count,
                          size_t *wrote)
{
    int err;

    LULL_INVARIANT(!base->is_closed, "a write to a closed endpoint");
    if (lull_loop_is_forked(tcp_of(base)->loop)) {
        /* The connection is the parent's: not even a GOAWAY from here (RULINGS 27). */
        return endpoint_fail(base, "write", EPIPE);
    }
    err = sys_writev(counters_of(base), base->watch.fd, pieces, count,
                     base->more_follows && tcp_of(base)->is_tcp, wrote);
    if (err == EAGAIN) {
        return IO_AGAIN;
    }
    return err == 0 ? IO_OK : endpoint_fail(base, "write", err);
}

/* Set again, the option sends what waits for a whole packet. */
LULL_COLD static void tcp_push(struct endpoint *base)
{
    if (tcp_of(base)->is_tcp) {
        (void)sys_set_nodelay(counters_of(base), base->watch.fd);
    }
}

static void forget_unwatched(struct endpoint_tcp *tcp)
{
    if (tcp->is_unwatched) {
        tcp->is_unwatched = false;
        tcp->base.watch.want = LULL_WANT_NONE;
    }
}

static int tcp_want(struct endpoint *base, unsigned want)
{
    struct endpoint_tcp *tcp = tcp_of(base);

    LULL_INVARIANT(!base->is_closed, "a closed endpoint is watched");
    if (tcp->is_at_once && want == LULL_WANT_WRITE) {
        /* A socket that has just connected is writable: the loop need not be asked, nor this turn be over. */
        tcp->is_at_once = false;
        tcp->is_unwatched = true;
        base->watch.want = want;
        base->watch.ready = want;
        lull_executor_post(base->executor, &base->watch.on_ready);
        return 0;
    }
    forget_unwatched(tcp);
    if (base->watch.want == want) {
        return 0;
    }
    return loop_watch(tcp->loop, &base->watch, want);
}

/*
 * The system doubles the wait from resend to resend: of 20 s it tries nothing in the last 8, and a network that came back meanwhile finds
 * the connection ended all the same. An eighth of the timeout is often enough to be heard, and no more than a few packets. Where
 * the system cannot (Linux before 6.15), what lasts longer than half the timeout may be too long.
 */
static void limit_resends(struct endpoint_tcp *tcp, int64_t timeout_ms)
{
    int64_t ms = timeout_ms / 8;
    if (tcp->is_resent) {
        return;
    }
    tcp->is_resent = true;
    ms = ms < RESEND_LEAST_MS ? RESEND_LEAST_MS : ms;
    ms = ms > RESEND_MOST_MS ? RESEND_MOST_MS : ms;
    (void)sys_set_resend_limit(counters_of(&tcp->base), tcp->base.watch.fd, (unsigned)ms);
}

static int tcp_write_timeout(struct endpoint *base, int64_t after_ns)
{
    int64_t ms = 0; /* the system's own limit */

    if (!tcp_of(base)->is_tcp) {
        return 0;
    }
    if (after_ns != LULL_NEVER) {
        ms = after_ns <= 0 ? 1 : after_ns / LULL_MS + (after_ns % LULL_MS != 0);
        ms = ms > INT_MAX ? INT_MAX : ms;
        limit_resends(tcp_of(base), ms);
    } else if (sys_has_unacknowledged(counters_of(base), base->watch.fd)) {
        return EAGAIN;
    }
    return sys_set_user_timeout(counters_of(base), base->watch.fd, (unsigned)ms);
}

static int set_keepalive(struct lull_counters *counters, int fd, bool on)
{
    return sys_set_keepalive(counters, fd, on ? TCP_KEEPALIVE_IDLE_S : 0, TCP_KEEPALIVE_INTERVAL_S,
                             TCP_KEEPALIVE_PROBES);
}

static int tcp_system_keepalive(struct endpoint *base, bool on)
{
    return tcp_of(base)->is_tcp ? set_keepalive(counters_of(base), base->watch.fd, on) : 0;
}

static void free_dead(struct lull_task *task, struct lull_executor *executor)
{
    struct endpoint *base = container_of(task, struct endpoint, dead);

    mem_release(executor_allocator(executor), tcp_of(base));
}

/*
 * The watch is taken back first: a registration outlives its descriptor wherever a forked child
 * holds a copy, and would then report into freed memory.
 */
static void tcp_close(struct endpoint *base)
{
    struct endpoint_tcp *tcp = tcp_of(base);

    (void)lull_executor_unpost(base->executor, &base->watch.on_ready);
    forget_unwatched(tcp);
    if (base->watch.want != LULL_WANT_NONE) {
        (void)loop_watch(tcp->loop, &base->watch, LULL_WANT_NONE);
    }
    sys_close(counters_of(base), base->watch.fd);
    base->watch.fd = -1;
    executor_post_dead(base->executor, &base->dead);
}

static const struct endpoint_ops tcp_ops = {
    .finish_connect = tcp_finish_connect,
    .read = tcp_read,
    .writev = tcp_writev,
    .push = tcp_push,
    .want = tcp_want,
    .write_timeout = tcp_write_timeout,
    .system_keepalive = tcp_system_keepalive,
    .close = tcp_close,
};

LULL_COLD static struct endpoint_tcp *make(struct lull_loop *loop, struct lull_executor *executor,
                                 const struct addr *peer)
{
    struct endpoint_tcp *tcp =
        (struct endpoint_tcp *)mem_zeroed(executor_allocator(executor), sizeof(*tcp));

    if (tcp == NULL) {
        return NULL;
    }
    executor_counters(executor)->allocations++;
    endpoint_init(&tcp->base, &tcp_ops, executor, peer);
    lull_task_init(&tcp->base.dead, free_dead);
    tcp->loop = loop;
    tcp->is_tcp = peer->storage.ss_family == AF_INET || peer->storage.ss_family == AF_INET6;
    return tcp;
}

/* Best effort: a connection without them is slower to notice things, not broken. */
static void set_options(struct endpoint_tcp *tcp, int fd)
{
    if (tcp->is_tcp) {
        (void)sys_set_nodelay(counters_of(&tcp->base), fd);
        (void)set_keepalive(counters_of(&tcp->base), fd, true);
    }
}

int endpoint_tcp_dial(struct lull_loop *loop, struct lull_executor *executor, const struct addr *to,
                      const struct socket_hook *hook, struct endpoint **out)
{
    struct lull_counters *counters = executor_counters(executor);
    struct endpoint_tcp *tcp = make(loop, executor, to);
    int fd = -1;
    int err;

    if (tcp == NULL) {
        return ENOMEM;
    }
    err = sys_socket(counters, to->storage.ss_family, &fd);
    if (err != 0) {
        goto out;
    }
    set_options(tcp, fd);
    if (hook != NULL) {
        tcp->hook_errno = hook->fn(hook->ctx, fd);
        executor_on_user_returned(executor);
    }
    /* One that was refused is not connected, which is ready at once: the reason is told with the endpoint's words. */
    err = tcp->hook_errno != 0 ? 0 : sys_connect(counters, fd, to);
    if (err == EINPROGRESS) {
        /* A peer on this machine has answered by now. */
        tcp->is_connected = sys_is_connected(counters, fd) == 0;
        err = 0;
    } else {
        tcp->is_connected = err == 0 && tcp->hook_errno == 0;
    }
    tcp->is_at_once = tcp->is_connected;
out:
    if (err != 0) {
        if (fd >= 0) {
            sys_close(counters, fd);
        }
        mem_release(executor_allocator(executor), tcp);
        return err;
    }
    tcp->base.watch.fd = fd;
    *out = &tcp->base;
    return 0;
}

int endpoint_tcp_adopt(struct lull_loop *loop, struct lull_executor *executor, int fd,
                       const struct addr *peer, struct endpoint **out)
{
    struct endpoint_tcp *tcp = make(loop, executor, peer);

    if (tcp == NULL) {
        return ENOMEM;
    }
    set_options(tcp, fd);
    tcp->is_connected = true;
    tcp->base.watch.fd = fd;
    *out = &tcp->base;
    return 0;
}
