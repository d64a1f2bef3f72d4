/* SPDX-License-Identifier: MIT */
#include "net/endpoint_pipe.h"

#include <errno.h>
#include <string.h>

#include "base/container.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "exec/executor.h"

#define DEFAULT_CAPACITY ((size_t)64 * 1024)

enum connect_state { CONNECTED, CONNECTING, REFUSED };

/* One end, with the bytes that it wrote. */
struct pipe_end {
    struct endpoint base;
    struct pipe *pipe;
    struct pipe_end *peer;
    enum connect_state connect;
    int fault; /* of a broken or refused end; 0: none */
    uint8_t *ring;
    size_t head; /* of the oldest byte in flight */
    size_t in_flight;
    bool is_held;
    uint64_t bytes_written;
    uint64_t bytes_read;
    int64_t write_timeout_ns;
};

struct pipe {
    const struct lull_allocator *allocator;
    size_t capacity;
    size_t read_chunk;  /* SIZE_MAX: no limit */
    size_t write_chunk; /* SIZE_MAX: no limit */
    unsigned alive;     /* ends not freed yet */
    struct pipe_end ends[2];
};

static struct pipe_end *end_of(struct endpoint *base)
{
    return container_of(base, struct pipe_end, base);
}

static const struct pipe_end *end_of_const(const struct endpoint *base)
{
    return container_of_const(base, struct pipe_end, base);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The peer's close has arrived here (its bytes may still have to be read). */
static bool is_peer_gone(const struct pipe_end *end)
{
    return end->peer->base.is_closed && !end->peer->is_held;
}

/* What epoll would say. */
static unsigned readiness(const struct pipe_end *end)
{
    unsigned ready = LULL_WANT_NONE;

    if (end->connect == CONNECTING) {
        return LULL_WANT_NONE;
    }
    if (end->fault != 0) {
        return LULL_WANT_READ | LULL_WANT_WRITE;
    }
    if ((end->peer->in_flight > 0 && !end->peer->is_held) || is_peer_gone(end)) {
        ready |= LULL_WANT_READ;
    }
    if (end->in_flight < end->pipe->capacity || is_peer_gone(end)) {
        ready |= LULL_WANT_WRITE;
    }
    return ready;
}

/* Puts the end on its ready list if it has something to hear. */
static void update(struct pipe_end *end)
{
    if (!end->base.is_closed && (readiness(end) & end->base.watch.want) != LULL_WANT_NONE) {
        executor_post_ready(end->base.executor, &end->base.watch.on_ready);
    }
}

static void on_listed(struct lull_task *task, struct lull_executor *executor)
{
    struct pipe_end *end = container_of(task, struct pipe_end, base.watch.on_ready);

    (void)executor;
    endpoint_tell(&end->base, readiness(end));
    update(end); /* in the next turn, if it is ready still */
}

/* ---- the seam */

static enum io pipe_finish_connect(struct endpoint *base)
{
    struct pipe_end *end = end_of(base);

    LULL_INVARIANT(!base->is_closed, "a closed endpoint is asked whether it is connected");
    if (end->connect == CONNECTING) {
        return IO_AGAIN;
    }
    return end->fault != 0 ? endpoint_fail(base, "connect", end->fault) : IO_OK;
}

/* Takes `len` bytes, no more than there are, out of the ring of the end that wrote them. */
static void take(struct pipe_end *from, uint8_t *into, size_t len)
{
    size_t first = least(len, from->pipe->capacity - from->head);

    memcpy(into, from->ring + from->head, first);
    memcpy(into + first, from->ring, len - first);
    from->head = (from->head + len) % from->pipe->capacity;
    from->in_flight -= len;
}

static enum io pipe_read(struct endpoint *base, void *into, size_t capacity, size_t *got)
{
    struct pipe_end *end = end_of(base);
    size_t len = least(least(capacity, end->pipe->read_chunk), end->peer->in_flight);

    LULL_INVARIANT(!base->is_closed && capacity > 0,
                   "a read from a closed endpoint, or of nothing");
    *got = 0;
    if (end->fault != 0) {
        return endpoint_fail(base, "read", end->fault);
    }
    if (end->connect == CONNECTING || end->peer->is_held) {
        return IO_AGAIN;
    }
    if (len == 0) {
        return is_peer_gone(end) ? IO_EOF : IO_AGAIN;
    }
    take(end->peer, (uint8_t *)into, len);
    end->bytes_read += len;
    *got = len;
    update(end->peer);
    return IO_OK;
}

/* Puts `len` bytes, no more than fit, into the ring of the end that writes them. */
static void put(struct pipe_end *end, const uint8_t *bytes, size_t len)
{
    size_t at = (end->head + end->in_flight) % end->pipe->capacity;
    size_t first = least(len, end->pipe->capacity - at);

    memcpy(end->ring + at, bytes, first);
    memcpy(end->ring, bytes + first, len - first);
    end->in_flight += len;
}

static enum io pipe_writev(struct endpoint *base, const struct io_piece *pieces, size_t count,
                           size_t *wrote)
{
    struct pipe_end *end = end_of(base);
    size_t room = least(end->pipe->capacity - end->in_flight, end->pipe->write_chunk);
    size_t offered = 0;

    LULL_INVARIANT(!base->is_closed, "a write to a closed endpoint");
    LULL_INVARIANT(count <= IO_PIECES_MAX, "more pieces than one write takes");
    *wrote = 0;
    if (end->fault != 0) {
        return endpoint_fail(base, "write", end->fault);
    }
    if (end->connect == CONNECTING) {
        return IO_AGAIN;
    }
    if (is_peer_gone(end)) {
        return endpoint_fail(base, "write", EPIPE);
    }
    for (size_t i = 0; i < count; i++) {
        size_t len = least(pieces[i].len, room - *wrote);

        if (len > 0) {
            put(end, (const uint8_t *)pieces[i].data, len);
            *wrote += len;
        }
        offered += pieces[i].len;
    }
    if (*wrote == 0 && offered > 0) {
        return IO_AGAIN;
    }
    end->bytes_written += *wrote;
    update(end->peer);
    return IO_OK;
}

static int pipe_want(struct endpoint *base, unsigned want)
{
    LULL_INVARIANT(!base->is_closed, "a closed endpoint is watched");
    base->watch.want = want;
    update(end_of(base));
    return 0;
}

static int pipe_write_timeout(struct endpoint *base, int64_t after_ns)
{
    end_of(base)->write_timeout_ns = after_ns;
    return 0;
}

static void free_pipe(struct pipe *pipe)
{
    mem_release(pipe->allocator, pipe->ends[0].ring);
    mem_release(pipe->allocator, pipe->ends[1].ring);
    mem_release(pipe->allocator, pipe);
}

static void free_dead(struct lull_task *task, struct lull_executor *executor)
{
    struct pipe *pipe = container_of(task, struct pipe_end, base.dead)->pipe;

    (void)executor;
    if (--pipe->alive == 0) {
        free_pipe(pipe);
    }
}

static void pipe_close(struct endpoint *base)
{
    (void)lull_executor_unpost(base->executor, &base->watch.on_ready);
    update(end_of(base)->peer);
    executor_post_dead(base->executor, &base->dead);
}

static const struct endpoint_ops pipe_ops = {
    .finish_connect = pipe_finish_connect,
    .read = pipe_read,
    .writev = pipe_writev,
    .want = pipe_want,
    .write_timeout = pipe_write_timeout,
    .close = pipe_close,
};

static void init_end(struct pipe *pipe, size_t which, struct lull_executor *executor,
                     const struct addr *peer)
{
    struct pipe_end *end = &pipe->ends[which];

    endpoint_init(&end->base, &pipe_ops, executor, peer);
    lull_task_init(&end->base.watch.on_ready, on_listed);
    lull_task_init(&end->base.dead, free_dead);
    end->pipe = pipe;
    end->peer = &pipe->ends[1 - which];
    end->write_timeout_ns = LULL_NEVER;
}

int endpoint_pipe_new(struct lull_executor *a_executor, struct lull_executor *b_executor,
                      const struct addr *a_peer, const struct addr *b_peer,
                      const struct pipe_options *options, struct endpoint **a, struct endpoint **b)
{
    static const struct pipe_options defaults = {0};
    const struct pipe_options *chosen = options != NULL ? options : &defaults;
    const struct lull_allocator *allocator = executor_allocator(a_executor);
    struct pipe *pipe = (struct pipe *)mem_zeroed(allocator, sizeof(*pipe));

    if (pipe == NULL) {
        return ENOMEM;
    }
    pipe->allocator = allocator;
    pipe->capacity = chosen->capacity_bytes != 0 ? chosen->capacity_bytes : DEFAULT_CAPACITY;
    pipe->read_chunk = chosen->read_chunk_bytes != 0 ? chosen->read_chunk_bytes : SIZE_MAX;
    pipe->write_chunk = chosen->write_chunk_bytes != 0 ? chosen->write_chunk_bytes : SIZE_MAX;
    pipe->alive = 2;
    init_end(pipe, 0, a_executor, a_peer);
    init_end(pipe, 1, b_executor, b_peer);
    for (size_t i = 0; i < 2; i++) {
        pipe->ends[i].ring = (uint8_t *)mem_alloc(allocator, pipe->capacity);
        if (pipe->ends[i].ring == NULL) {
            free_pipe(pipe);
            return ENOMEM;
        }
    }
    executor_counters(a_executor)->allocations += 3;
    pipe->ends[0].connect = chosen->connecting ? CONNECTING : CONNECTED;
    *a = &pipe->ends[0].base;
    *b = &pipe->ends[1].base;
    return 0;
}

/* ---- knobs */

void endpoint_pipe_connected(struct endpoint *a)
{
    struct pipe_end *end = end_of(a);

    if (end->connect == CONNECTING) {
        end->connect = CONNECTED;
        update(end);
    }
}

void endpoint_pipe_refuse(struct endpoint *a, int sys_errno)
{
    struct pipe_end *end = end_of(a);

    if (end->connect == CONNECTING) {
        end->connect = REFUSED;
        end->fault = sys_errno;
        update(end);
    }
}

void endpoint_pipe_break(struct endpoint *end, int sys_errno)
{
    end_of(end)->fault = sys_errno;
    update(end_of(end));
}

void endpoint_pipe_hold(struct endpoint *end, bool held)
{
    end_of(end)->is_held = held;
    update(end_of(end)->peer);
}

size_t endpoint_pipe_in_flight(const struct endpoint *end)
{
    return end_of_const(end)->in_flight;
}

uint64_t endpoint_pipe_bytes_written(const struct endpoint *end)
{
    return end_of_const(end)->bytes_written;
}

uint64_t endpoint_pipe_bytes_read(const struct endpoint *end)
{
    return end_of_const(end)->bytes_read;
}

int64_t endpoint_pipe_write_timeout(const struct endpoint *end)
{
    return end_of_const(end)->write_timeout_ns;
}
