/* SPDX-License-Identifier: MIT */
/*
 * The endpoint seam: one byte stream to a peer, over TCP, unix sockets, TLS or memory. What lies
 * above never sees an fd. Readiness is told through the executor: the endpoint posts
 * `watch.on_ready` to the ready list; the owner's `on_ready` then runs in the read phase of the
 * turn, or, for a dial that connected at once, among its tasks. All in context.
 */
#ifndef NET_ENDPOINT_H
#define NET_ENDPOINT_H

#include "lull/loop.h"
#include "net/addr.h"

struct endpoint;
struct strbuf;

enum io {
    IO_OK,    /* something was done */
    IO_AGAIN, /* nothing now; readiness will be told if it is wanted */
    IO_EOF,   /* the peer ended its side in order */
    IO_FAIL   /* endpoint->sys_errno and endpoint_error_text say why */
};

/* A piece of bytes to write. */
struct io_piece {
    const void *data;
    size_t len;
};

/* At most so many pieces go into one writev. */
#define IO_PIECES_MAX 64

struct endpoint_ops {
    /* Asks after a dial: IO_OK once connected (and, over TLS, shaken hands), IO_AGAIN while under
     * way, IO_FAIL. */
    enum io (*finish_connect)(struct endpoint *endpoint);
    enum io (*read)(struct endpoint *endpoint, void *into, size_t capacity, size_t *got);
    enum io (*writev)(struct endpoint *endpoint, const struct io_piece *pieces, size_t count,
                      size_t *wrote);
    /* [nullable] What a writev of which more_follows was true has left with the system goes out now. */
    void (*push)(struct endpoint *endpoint);
    /* Which readiness (LULL_WANT_*) to tell from now on. Level-triggered: what is ready already is
     * told too. 0 or an errno. */
    int (*want)(struct endpoint *endpoint, unsigned want);
    /*
     * [nullable] Bytes that the peer's system has not acknowledged for so long end the connection
     * (RULINGS 7: TCP_USER_TIMEOUT); LULL_NEVER: no limit of ours, which is refused with EAGAIN while
     * there are such bytes. 0 or an errno; where there is nothing to set, 0.
     */
    int (*write_timeout)(struct endpoint *endpoint, int64_t after_ns);
    /* [nullable] The system's own probes on a quiet connection (RULINGS 5); on from the start. 0 or
     * an errno. */
    int (*system_keepalive)(struct endpoint *endpoint, bool on);
    /* [nullable] What people should know of the connection that is up: "TLSv1.3, resumed". */
    void (*describe)(const struct endpoint *endpoint, struct strbuf *sb);
    /* For endpoint_close only. Ends both directions at once; never waits. Takes the endpoint off
     * the ready list and frees it in the turn's free phase. */
    void (*close)(struct endpoint *endpoint);
};

struct endpoint {
    const struct endpoint_ops *ops;
    struct lull_executor *executor;
    struct lull_watch watch; /* fd is -1 where there is none; ready holds what was told */
    void (*on_ready)(struct endpoint *endpoint,
                     unsigned ready); /* set by the owner; NULL: nobody listens */
    void *owner;
    struct addr peer;
    int sys_errno;          /* of the last IO_FAIL, else 0 */
    const char *phase_text; /* static: of the last IO_FAIL, "connect", "TLS handshake", "read", "write"; while a dial is under way,
                               "TLS handshake" once that has begun, when the owner's on_ready is called as well */
    const char *reason_text; /* [nullable] of the last IO_FAIL, where an errno does not say it */
    struct lull_task dead;  /* for the free phase */
    bool is_closed;
    bool more_follows; /* endpoint_writev_more is at work */
};

/* Fills the common part; ops must be set by the caller. */
void endpoint_init(struct endpoint *endpoint, const struct endpoint_ops *ops,
                   struct lull_executor *executor, const struct addr *peer);

static inline enum io endpoint_finish_connect(struct endpoint *endpoint)
{
    return endpoint->ops->finish_connect(endpoint);
}

static inline enum io endpoint_read(struct endpoint *endpoint, void *into, size_t capacity,
                                    size_t *got)
{
    return endpoint->ops->read(endpoint, into, capacity, got);
}

static inline enum io endpoint_writev(struct endpoint *endpoint, const struct io_piece *pieces,
                                      size_t count, size_t *wrote)
{
    return endpoint->ops->writev(endpoint, pieces, count, wrote);
}

/*
 * The same, by an owner that writes more at once: a last packet that is not full may wait for it. Behind the last of such writes comes an
 * endpoint_writev that takes something, or an endpoint_push.
 */
static inline enum io endpoint_writev_more(struct endpoint *endpoint, const struct io_piece *pieces,
                                           size_t count, size_t *wrote)
{
    endpoint->more_follows = true;
    const enum io io = endpoint->ops->writev(endpoint, pieces, count, wrote);
    endpoint->more_follows = false;
    return io;
}

static inline void endpoint_push(struct endpoint *endpoint)
{
    if (endpoint->ops->push != NULL) {
        endpoint->ops->push(endpoint);
    }
}

static inline int endpoint_write_timeout(struct endpoint *endpoint, int64_t after_ns)
{
    return endpoint->ops->write_timeout == NULL ? 0
                                                : endpoint->ops->write_timeout(endpoint, after_ns);
}

static inline int endpoint_system_keepalive(struct endpoint *endpoint, bool on)
{
    return endpoint->ops->system_keepalive == NULL ? 0
                                                   : endpoint->ops->system_keepalive(endpoint, on);
}

static inline int endpoint_want(struct endpoint *endpoint, unsigned want)
{
    return endpoint->ops->want(endpoint, want);
}

/*
 * Closes and forgets: on_ready is not called any more, the memory goes in the turn's free phase.
 * Legal inside on_ready. NULL and, within the turn, the second time are harmless.
 */
void endpoint_close(struct endpoint *endpoint);

/* For implementations: readiness of what is still wanted goes to the owner. In the read phase. */
void endpoint_tell(struct endpoint *endpoint, unsigned ready);

/* For implementations: remembers why, for the IO_FAIL that it returns. `phase_text` is static. */
enum io endpoint_fail(struct endpoint *endpoint, const char *phase_text, int sys_errno);

/* The same, for a reason that is no errno [borrow, as long as the endpoint]. */
enum io endpoint_fail_text(struct endpoint *endpoint, const char *phase_text, const char *reason);

/* Adds ", TLSv1.3, resumed" or the like, where there is something to say. */
void endpoint_describe(const struct endpoint *endpoint, struct strbuf *sb);

/* A line on the last IO_FAIL: "connect 127.0.0.1:1: connection refused (errno 111)"; empty when
 * there was none. `size` above 0. */
void endpoint_error_text(const struct endpoint *endpoint, char *into, size_t size);

/* Adds the same without the address, for a connection: "read failed: connection reset by peer (errno 104)". */
void endpoint_failure_text(const struct endpoint *endpoint, struct strbuf *sb);

/* The same line for a dial that made no endpoint. */
void io_error_text(const char *phase_text, const struct addr *peer, int sys_errno, char *into,
                   size_t size);

#endif
