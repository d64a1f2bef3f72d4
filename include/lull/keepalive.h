/* SPDX-License-Identifier: MIT */
/**
 * @file keepalive.h
 * When to ask a silent peer whether it is alive, and when to give it up: arithmetic only. One
 * struct a connection; tell it what was read, opened and closed, do what it answers, and keep one
 * Rescheduler (rescheduler.h) at `next_at`.
 *
 * Any byte read is life, not only the answer to a ping. A ping is due when nothing was read for
 * `time`, counted from the last byte read; the peer is dead when nothing was read for `timeout`
 * after the ping. Without streams there are no pings, unless `without_calls`; a ping under way is
 * still judged.
 *
 * The transport's duties:
 *  - Before it asks lull_keepalive_on_timer, it does one non-blocking read if this turn has not
 *    read yet, and reports what came by lull_keepalive_on_read. After a stall the answer is often
 *    waiting in the socket.
 *  - lull_keepalive_on_stream_opened comes before the stream's HEADERS are framed, and a SEND_PING
 *    it answers goes first (gRFC A8: the probe of a connection that was quiet for long).
 *  - SEND_PING while a ping of the user is under way writes no second one: the ack of that one
 *    answers both.
 *
 * Nothing here can fail in use, or allocate. Any thread, one at a time for one struct. Instants
 * must not run backwards.
 */
#ifndef LULL_KEEPALIVE_H
#define LULL_KEEPALIVE_H

#include <lull/rc.h>
#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The shortest keepalive time and timeout without allow_short_timers, and the default timeout, in
 * ns (gRFC A8). Since 0.1. */
#define LULL_KEEPALIVE_TIME_MIN_NS        (10 * LULL_SECOND)
#define LULL_KEEPALIVE_TIMEOUT_MIN_NS     (10 * LULL_MS)
#define LULL_KEEPALIVE_TIMEOUT_DEFAULT_NS (20 * LULL_SECOND)

/** How long a doubled keepalive time lasts without a further strike before it halves, in ns. Since
 * 0.1. */
#define LULL_KEEPALIVE_DECAY_NS (86400 * LULL_SECOND)

/** What the owner must do now. Since 0.1. */
enum lull_keepalive_action {
    LULL_KEEPALIVE_NONE = 0,        /**< nothing but setting the timer to next_at */
    LULL_KEEPALIVE_SEND_PING = 1,   /**< write a PING, before anything that is not yet framed */
    LULL_KEEPALIVE_PEER_IS_DEAD = 2 /**< close the connection; said once, and nothing follows */
};

/** Where a connection stands. Since 0.1. */
enum lull_keepalive_phase {
    LULL_KEEPALIVE_CLOSED = 0,   /**< not opened yet, closed, or given up */
    LULL_KEEPALIVE_RESTING = 1,  /**< open, and nobody asks: no streams, or keepalive is off */
    LULL_KEEPALIVE_WATCHING = 2, /**< waiting for `time` of silence */
    LULL_KEEPALIVE_PINGED = 3    /**< waiting for any byte, `timeout` at most */
};

/** An answer: what to do, and when to ask on_timer (LULL_NEVER: not at all). Since 0.1. */
struct lull_keepalive_step {
    enum lull_keepalive_action action;
    struct lull_instant next_at;
};

/** Options of keepalive. Fill with lull_keepalive_options_init. In a struct of another release, from
 * 0.3, what is missing has its default, and what this one does not know has to be zero. Since 0.1. */
struct lull_keepalive_options {
    size_t size;
    int64_t time_ns;    /**< silence before a ping; 0, negative or LULL_NEVER: off; else raised to
                           LULL_KEEPALIVE_TIME_MIN_NS */
    int64_t timeout_ns; /**< silence after a ping; raised to LULL_KEEPALIVE_TIMEOUT_MIN_NS;
                           LULL_NEVER: never judged */
    bool without_calls; /**< ping when there is no stream, too; many servers punish it */
    bool allow_short_timers; /**< no floors; for tests and demonstrations */
};

/** Fills in the defaults: off, 20 s, only with calls. Any thread. Since 0.1. */
static inline void lull_keepalive_options_init(struct lull_keepalive_options *options)
{
    options->size = sizeof(*options);
    options->time_ns = LULL_NEVER;
    options->timeout_ns = LULL_KEEPALIVE_TIMEOUT_DEFAULT_NS;
    options->without_calls = false;
    options->allow_short_timers = false;
}

/** The keepalive state of one connection. Fields are private. Layout not stable before 1.0. Since
 * 0.1. */
struct lull_keepalive {
    int64_t time_ns; /* effective; LULL_NEVER: off */
    int64_t timeout_ns;
    struct lull_instant last_read_at;
    struct lull_instant ping_at; /* when the newest ping was ordered, then when it was written */
    int64_t rtt_ns;
    uint64_t pings_sent;
    uint64_t pings_acked;
    uint64_t pings_late;
    unsigned char phase;
    bool without_calls;
    bool has_streams;
    bool is_written; /* the newest ping reached the socket */
};

/**
 * Makes a closed connection's state.
 * @param options [borrow, nullable] NULL: all defaults, which means off
 * @return LULL_OK, or LULL_RC_INVALID (a size of no release; nothing changed). Any thread. Since
 * 0.1.
 */
LULL_API int lull_keepalive_init(struct lull_keepalive *keepalive,
                                 const struct lull_keepalive_options *options);

/** The connection is there; silence counts from now. Any thread. Since 0.1. */
LULL_API struct lull_keepalive_step
lull_keepalive_on_transport_opened(struct lull_keepalive *keepalive, struct lull_instant now);

/** The connection is gone, for whatever reason. Later facts are ignored. Any thread. Since 0.1. */
LULL_API struct lull_keepalive_step
lull_keepalive_on_transport_closed(struct lull_keepalive *keepalive);

/** Bytes came, whatever they are. One store unless a ping is under way. Any thread. Since 0.1. */
LULL_API struct lull_keepalive_step lull_keepalive_on_read(struct lull_keepalive *keepalive,
                                                           struct lull_instant now);

/** A stream is about to be opened (each one, or only the first: it makes no difference). May answer
 * SEND_PING. Any thread. Since 0.1. */
LULL_API struct lull_keepalive_step
lull_keepalive_on_stream_opened(struct lull_keepalive *keepalive, struct lull_instant now);

/** No stream is left. A ping under way is still judged. Any thread. Since 0.1. */
LULL_API struct lull_keepalive_step
lull_keepalive_on_last_stream_closed(struct lull_keepalive *keepalive);

/**
 * The ping that was ordered reached the socket, later than it was ordered if the turn was long: the
 * timeout counts from here. One that never gets there is judged from its order. Optional; only the
 * first report of a ping counts. Any thread. Since 0.1.
 */
LULL_API struct lull_keepalive_step lull_keepalive_on_ping_written(struct lull_keepalive *keepalive,
                                                                   struct lull_instant now);

/** The ack of our ping was parsed: life, and a round trip measured when only one was under way. Any
 * thread. Since 0.1. */
LULL_API struct lull_keepalive_step lull_keepalive_on_ping_acked(struct lull_keepalive *keepalive,
                                                                 struct lull_instant now);

/**
 * The timer expired, perhaps early, late or for nothing. Never orders a ping and condemns the peer
 * at the same `now`: a ping that is overdue goes first, however late it is, and its timeout counts
 * from now. Any thread. Since 0.1.
 */
LULL_API struct lull_keepalive_step lull_keepalive_on_timer(struct lull_keepalive *keepalive,
                                                            struct lull_instant now);

/** When to ask on_timer next, as the last answer said. Any thread. Since 0.1. */
LULL_API struct lull_instant lull_keepalive_next_at(const struct lull_keepalive *keepalive);

/** How long nothing was read, in ns; after PEER_IS_DEAD too. Any thread. Since 0.1. */
LULL_API int64_t lull_keepalive_quiet_ns(const struct lull_keepalive *keepalive,
                                         struct lull_instant now);

/** Where the connection stands. Any thread. Since 0.1. */
LULL_API enum lull_keepalive_phase lull_keepalive_phase_of(const struct lull_keepalive *keepalive);

/** The time in force after clamping, in ns; LULL_NEVER: off. Any thread. Since 0.1. */
LULL_API int64_t lull_keepalive_time_ns(const struct lull_keepalive *keepalive);

/** The timeout in force after clamping, in ns. Any thread. Since 0.1. */
LULL_API int64_t lull_keepalive_timeout_ns(const struct lull_keepalive *keepalive);

/** How long written bytes may stay unacknowledged, in ns: the timeout, or 20 s when keepalive is
 * off (gRFC A18, and beyond it). Any thread. Since 0.1. */
LULL_API int64_t lull_keepalive_write_timeout_ns(const struct lull_keepalive *keepalive);

/** What became of a connection's pings. Since 0.1. */
struct lull_keepalive_stats {
    uint64_t pings_sent;  /**< SEND_PING orders */
    uint64_t pings_acked; /**< acks that came */
    uint64_t pings_late; /**< of these, measured ones that took longer than the timeout: other bytes
                            had kept the connection */
    int64_t rtt_ns;      /**< the last round trip measured; LULL_NEVER: none yet */
};

/** Copies the counts of this connection. Any thread. Since 0.1. */
LULL_API void lull_keepalive_stats(const struct lull_keepalive *keepalive,
                                   struct lull_keepalive_stats *out);

/**
 * The keepalive time of a channel, which outlives its connections and its idle spells: it doubles
 * when a server says too_many_pings and halves again, back to what was configured, for each 24 h
 * without another strike. A connection takes the value when it is made and keeps it. Fields are
 * private. Layout not stable before 1.0. Since 0.1.
 */
struct lull_keepalive_interval {
    int64_t configured_ns;
    int64_t current_ns;            /* at the last strike */
    struct lull_instant struck_at; /* the last strike */
};

/** Starts at the configured time, clamped as lull_keepalive_options' time_ns. Any thread. Since
 * 0.1. */
LULL_API void lull_keepalive_interval_init(struct lull_keepalive_interval *interval,
                                           int64_t time_ns, bool allow_short_timers);

/** The time for a connection that is made now, in ns; LULL_NEVER: off. Any thread. Since 0.1. */
LULL_API int64_t lull_keepalive_interval_ns(const struct lull_keepalive_interval *interval,
                                            struct lull_instant now);

/**
 * A server closed a connection with too_many_pings.
 * @param used_ns lull_keepalive_time_ns of that connection: connections that used the same time
 * double it once between them. Off stays off; a doubled time saturates one ns short of LULL_NEVER,
 * so that it can decay. Any thread. Since 0.1.
 */
LULL_API void lull_keepalive_interval_on_too_many_pings(struct lull_keepalive_interval *interval,
                                                        int64_t used_ns, struct lull_instant now);

/**
 * True for a GOAWAY that means it: code ENHANCE_YOUR_CALM and debug data of exactly
 * "too_many_pings" (gRFC A8).
 * @param debug [borrow, nullable when len is 0] bytes of the peer, any
 * Any thread. Since 0.1.
 */
LULL_API bool lull_keepalive_is_too_many_pings(uint32_t goaway_code, const void *debug, size_t len);

#ifdef __cplusplus
}
#endif

#endif
