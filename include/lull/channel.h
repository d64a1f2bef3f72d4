/* SPDX-License-Identifier: MIT */
/**
 * @file channel.h
 * A channel: a target that calls are made to. It dials when it must, waits when it should, and tells why.
 *
 * Threads: orders (ref, unref, close, state, enter_idle, reset_backoff) may be given on any thread and never wait: a thread that cannot
 * carry one out at once, since another one is in a turn or the loop is a host's and another one drives it, leaves it to the next turn.
 * "Open to visitors" below means: any thread, if the loop is lull's own; it then waits until no other thread is in a turn. It waits
 * as long as a callback in that turn takes, for nobody else knows the answer: deadlines do not apply. Who must not wait asks in a callback. On
 * a host's loop it means the driving thread. A blocking call (sync.h) does have a limit.
 */
#ifndef LULL_CHANNEL_H
#define LULL_CHANNEL_H

#include <lull/log.h>
#include <lull/rc.h>
#include <lull/status.h>
#include <lull/trace.h>
#include <lull/types.h>
#include <lull/world.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lull_channel;
struct lull_credentials;

/** Connectivity (grpc/doc/connectivity-semantics-and-api.md). Since 0.1. */
enum lull_state {
    LULL_STATE_IDLE = 0,
    LULL_STATE_CONNECTING = 1,
    LULL_STATE_READY = 2, /**< the server's first SETTINGS came */
    LULL_STATE_TRANSIENT_FAILURE = 3,
    LULL_STATE_SHUTDOWN = 4
};

/** Options of a channel. Fill with lull_channel_options_init. All clamps are applied once, by lull_channel_new. In a struct of another
 * release, from 0.3, what is missing has its default, and what this one does not know has to be zero. Since 0.1. */
struct lull_channel_options {
    size_t size;
    const struct lull_world *world; /**< [borrow, nullable] its members outlive the channel */
    struct lull_loop *loop;         /**< [borrow, nullable] who drives; NULL, and none in `world`: the channel has
                                       one of its own, opened at the first dial and freed with it: see lull_channel_loop */
    const char *authority;          /**< [borrow, nullable] `:authority`; NULL: from the target */
    const char *user_agent;         /**< [borrow, nullable] put before our own, as gRPC does */
    int64_t min_connect_timeout_ns; /**< how long one attempt may take, TCP to the first SETTINGS: at least this, or the
                                       current backoff if that is longer (grpc/doc/connection-backoff.md); default 20 s;
                                       floor 10 ms, 0 is the floor */
    int64_t backoff_initial_ns;     /**< default 1 s; floor 100 ms, 0 is the floor */
    int64_t backoff_max_ns;         /**< default 120 s */
    double backoff_multiplier;      /**< default 1.6 */
    double backoff_jitter;          /**< default 0.2, in [0, 1) */
    int64_t idle_timeout_ns;        /**< from the end of the last call to idle mode; default 30 min;
                                       floor 1 s; 0 or LULL_NEVER: never. Since 0.2 */
    int64_t keepalive_time_ns;      /**< silence before a PING; default LULL_NEVER, as 0: no PING at
                                       all; floor 10 s. Where several channels share a loop theirs go at the same wake-ups, up to a
                                       part in 64 later, 268 ms at most, and never earlier. Since 0.2 */
    int64_t keepalive_timeout_ns;   /**< silence after a PING that means a dead peer; default 20 s;
                                       floor 10 ms, 0 is the floor; LULL_NEVER: never judged. Since 0.2 */
    int64_t read_timeout_ns;      /**< of calls that do not say: the silence that ends one; default
                                       LULL_NEVER, as 0: none. Since 0.2 */
    bool keepalive_without_calls; /**< PING when no call runs, too; many servers punish it;
                                       default false. Since 0.2 */
    bool tcp_keepalive;           /**< the system's own probes (after 45 s, every 15 s, 3), which
                                       keep NATs and balancers from forgetting; default true. Since
                                       0.2 */
    uint32_t max_recv_message_bytes;  /**< default 4 MiB; 0 is no "unlimited": empty messages only */
    uint32_t max_send_message_bytes;  /**< default INT32_MAX; 0: empty messages only */
    uint32_t max_metadata_bytes;      /**< received, a call; default 16 KiB; advertised */
    uint32_t stream_window_bytes;     /**< default 256 KiB */
    uint32_t connection_window_bytes; /**< default 1 MiB */
    uint32_t max_queued_calls; /**< calls waiting for a connection or a stream; default 100 000 */
    bool allow_short_timers;   /**< lifts the floors of times: for tests and demonstrations */
    struct lull_trace trace;   /**< hook; event NULL: none */
    struct lull_credentials *credentials; /**< [ref, nullable] TLS by these (credentials.h); NULL:
                                             plaintext. Since 0.3 */
    int (*on_socket)(void *ctx, int fd); /**< [nullable] called with each new socket before it connects, to mark or bind it
                                            (SO_MARK, SO_BINDTODEVICE, a source address); 0, or an errno that fails the attempt.
                                            In a turn; must not call into lull, nor close or keep fd. Not asked where the world has
                                            a dialer of its own. Since 0.3 */
    void *on_socket_ctx;                 /**< [borrow] handed to on_socket. Since 0.3 */
    struct lull_log log; /**< lines of the log; line NULL: none (log.h). Since 0.3 */
};

/** Fills in the defaults of options of `size` bytes: what lull_channel_options_init stands on, which passes the size that the program was
 * compiled with, so that a library whose options have grown writes no further. Any thread. Since 0.3. */
LULL_API void lull_channel_options_fill(struct lull_channel_options *options, size_t size);

/** Fills in the defaults. Any thread. Since 0.1. */
static inline void lull_channel_options_init(struct lull_channel_options *options)
{
    lull_channel_options_fill(options, sizeof(*options));
}

/**
 * Makes a channel; nothing is asked or dialled before the first call or lull_channel_state(…, true).
 *
 * Targets (grpc/doc/naming.md): `dns:///host:port` and bare `host:port` for names, `dns://server[:port]/host:port` to ask that name
 * server (a numeric address), `ipv4:1.2.3.4:80,1.2.3.5:80` and `ipv6:[::1]:80,…` for lists of up to 16 addresses, `unix:path`,
 * `unix:///absolute`, `unix-abstract:name`. A port that is left out is 80 (443 over TLS). Numeric hosts and `localhost` (127.0.0.1,
 * then ::1) ask nobody; the `:authority` is the host and the port as written, of a list the first.
 *
 * Names: c-ares, with the system's hosts file and resolv.conf as they are at the time; A and AAAA, tried in turn, IPv6 first (RFC
 * 8305). Asked for at the first need, after a connection was lost or all addresses failed, and after idle mode, but not within 30 s of
 * the last good answer's question; a question takes 10 s at most. Addresses stay when a later question fails (gRFC A62).
 * Several addresses are tried in order: the next at once after a failure, and after 250 ms in any case (gRFC A61); the backoff comes
 * after all have failed.
 * @param target [borrow] NUL-terminated
 * @param options [borrow] copied; of lull_channel_options_init. Without a loop the channel has one of its own
 * @param out receives the channel with one reference, owned by the caller; left alone on failure
 * @param error [nullable] receives the code and a text that names what was wrong
 * @return LULL_OK, LULL_RC_INVALID, LULL_RC_UNSUPPORTED (a name, and this library was built without c-ares), LULL_RC_NOMEM. Open to
 *   visitors. Since 0.1; names and lists since 0.3.
 */
LULL_API int lull_channel_new(const char *target, const struct lull_channel_options *options,
                              struct lull_channel **out, struct lull_error *error);

/**
 * Makes a channel over one connection that is there already: a socketpair, what accept gave, a descriptor that was inherited or that a
 * sandbox's helper or a proxy opened. It is a channel like any other, but it never dials. Nothing is read or written before the first
 * call or lull_channel_state(…, true), which is when the HTTP/2 preface goes out.
 *
 * Its end is the channel's. When the connection is lost, or nothing comes of it (no SETTINGS within min_connect_timeout_ns, a TLS handshake
 * that fails), the channel closes by itself: its state is SHUTDOWN with the reason, calls that wait end UNAVAILABLE for
 * LULL_REASON_CONNECT (or _TLS), wait_for_ready or not, and later ones get LULL_RC_CLOSED, all saying that the connection is gone and that there is
 * none to dial. After a GOAWAY the calls that it spares go on, further ones fail at once, and the channel closes behind the last.
 *
 * Idle mode is off, since it could not wake again: idle_timeout_ns in force is LULL_NEVER, and lull_channel_enter_idle does nothing.
 * Keepalive, TLS by `credentials`, all timeouts and limits are as ever. Not used: backoff_…, on_socket, the world's `dial`
 * and `resolve`. The target is `fd:N`, and texts call the peer that, with its address if it has one: "fd:7 (127.0.0.1:443)". The
 * `:authority`, and the name that a certificate must be for, is "localhost" unless the options say it.
 *
 * In a forked child the rule of all channels holds once the first call was made; before it, either process may use the socket, not both.
 * @param fd [own on success] a connected stream socket: TCP, unix or another, blocking or not. It becomes non-blocking and close-on-exec, and
 *   the channel closes it; nobody else may read or write it, by a duplicate neither. On failure it is still the caller's, unchanged
 * @param options [borrow] copied; of lull_channel_options_init. Without a loop the channel has one of its own
 * @param out receives the channel with one reference, owned by the caller; left alone on failure
 * @param error [nullable] receives the code and a text that says what fd is instead: not open, no socket, of datagrams, listening, not connected
 * @return LULL_OK, LULL_RC_INVALID, LULL_RC_NOMEM. Open to visitors. Since 0.3.
 */
LULL_API int lull_channel_from_fd(int fd, const struct lull_channel_options *options,
                                  struct lull_channel **out, struct lull_error *error);

/** Takes a reference. NULL is harmless. Any thread. Since 0.1. */
LULL_API void lull_channel_ref(struct lull_channel *channel);

/**
 * Gives a reference back. Each call under way holds one and ends by itself first; the last reference that goes closes the channel. A
 * channel with a loop of its own is closed by the last one that is not a call's, as lull_channel_close does, since nobody would drive it any
 * more. lull_loop_free needs all of them gone, the handles of calls included: let the calls end, or lull_channel_close, and give the
 * handles back. NULL is harmless. Any thread, callbacks included. Since 0.1.
 */
LULL_API void lull_channel_unref(struct lull_channel *channel);

/**
 * Ends every call with UNAVAILABLE "channel closed", closes the connection and stays in SHUTDOWN. The second time does nothing. Calls are
 * told in the next turn. A channel with a loop of its own runs that turn here, with its callbacks on this thread, unless this is a
 * callback or another thread drives, which then does it. Any thread, callbacks included. Since 0.1.
 */
LULL_API void lull_channel_close(struct lull_channel *channel);

/** The state before this call; with `try_to_connect` an IDLE channel starts to connect, which wakes it from idle mode and counts as activity then. Any thread. Since 0.1. */
LULL_API enum lull_state lull_channel_state(struct lull_channel *channel, bool try_to_connect);

/**
 * Falls idle now, as after the idle timeout: the connection is closed with a GOAWAY, every timer leaves the queue, errors and backoff
 * are forgotten (dials to one address stay 800 ms apart). Calls that are on a connection finish on it, and it closes behind the
 * last of them; calls that wait for one wake the channel again at once. In idle mode and after the close nothing happens. Any
 * thread, callbacks included. Since 0.2.
 */
LULL_API void lull_channel_enter_idle(struct lull_channel *channel);

/** Told from a task that the state is another one, with the state it is now. May call any lull_ function but what drives (loop.h). Since 0.2. */
typedef void (*lull_channel_watch_fn)(struct lull_channel *channel, enum lull_state now, void *ctx);

/**
 * Asks to be told, once, when the state is not `not_this`: from a task at once if that is so already. States that come and go within
 * a turn may be missed. Who wants the next change too asks again, with the state he was told; SHUTDOWN is the last. It keeps
 * no reference to the channel, and it is no activity.
 * @param not_this the state that is of no interest
 * @param fn what to call
 * @param ctx [borrow] handed to fn
 * @return LULL_OK; LULL_RC_CLOSED: the state is SHUTDOWN for good, and so is `not_this`; LULL_RC_INVALID (no fn), LULL_RC_NOMEM.
 *   Open to visitors, callbacks included. Since 0.2.
 */
LULL_API int lull_channel_watch(struct lull_channel *channel, enum lull_state not_this,
                                lull_channel_watch_fn fn, void *ctx);

/** Takes back every watch of this fn and ctx. @return true when there was one: it will not be told. Open to visitors, callbacks included. Since 0.2. */
LULL_API bool lull_channel_unwatch(struct lull_channel *channel, lull_channel_watch_fn fn,
                                   void *ctx);

/**
 * How a PING ended, told from a task. `rtt_ns` is the round trip; negative: no answer will come, and `why` says so (NULL
 * otherwise) [borrow]. Since 0.2.
 */
typedef void (*lull_channel_ping_fn)(void *ctx, int64_t rtt_ns, const char *why);

/**
 * Sends a PING on the connection; all who ask while one is out share it. It does not dial, and it is no activity: idle mode
 * is not put off. Servers count PINGs: see keepalive_time_ns for how often is too often.
 * @param fn what to call, once
 * @param ctx [borrow] handed to fn
 * @param error [nullable] receives what was wrong
 * @return LULL_OK: fn will be called. Else not: LULL_RC_STATE (not READY), LULL_RC_CLOSED, LULL_RC_INVALID (no fn), LULL_RC_NOMEM.
 *   Open to visitors, callbacks included. Since 0.2.
 */
LULL_API int lull_channel_ping(struct lull_channel *channel, lull_channel_ping_fn fn, void *ctx,
                               struct lull_error *error);

/** What a channel has done and is about to do. Fields are appended only. Since 0.2. */
struct lull_channel_stats {
    size_t size; /**< set by the caller to sizeof; then: how much of it was filled */
    enum lull_state state;
    bool is_in_idle_mode;      /**< from birth or falling idle until the next call: no timer, no
                                  descriptor, no session, but for calls that still run */
    int64_t state_for_ns;      /**< since the last transition */
    const char *reason;        /**< of the last transition; "" at first [borrow, until the next] */
    uint64_t calls;            /**< created, and their last callback has not returned */
    uint64_t calls_waiting;    /**< of these, without a stream */
    int64_t idle_after_ns;     /**< until it falls idle; 0 in idle mode, LULL_NEVER while calls run
                                  or when it never will by itself */
    uint64_t attempts;         /**< dials */
    uint64_t connections_made; /**< that became READY */
    uint64_t connections_lost; /**< of these, ended by the peer, the network or keepalive */
    int64_t keepalive_time_ns; /**< of a connection made now: as configured, or doubled by
                                  too_many_pings; LULL_NEVER: off */
    uint64_t pings_sent;  /**< PINGs of every kind, on all connections so far; not the peer's */
    uint64_t pings_acked; /**< of these, answered */
    uint64_t pings_late;  /**< of these, after more than the keepalive timeout, when other bytes
                                  had kept the connection */
    int64_t rtt_ns;       /**< the last round trip measured (of keepalive's PINGs up to 8 ms longer when channels share a loop and no call is
                               under way: their answers gather); LULL_NEVER: none yet */
    int64_t rtt_min_ns;   /**< the shortest; LULL_NEVER: none yet */
    int64_t rtt_max_ns;   /**< the longest; LULL_NEVER: none yet */
};

/** Fills `out` as far as its `size` says. Open to visitors, callbacks included. Since 0.2. */
LULL_API void lull_channel_stats(const struct lull_channel *channel,
                                 struct lull_channel_stats *out);

/** One line of a dump, without a newline [borrow]. Called inline, as a trace hook is: it must not call into lull. Since 0.3. */
typedef void (*lull_channel_line_fn)(void *ctx, const char *line);

/**
 * Tells all about a channel, a line each: its state with the reason, when it falls idle, attempts and the last failure, the addresses,
 * each connection with its streams and PINGs, the calls that wait (32 at most). For people, in words that change; programs ask
 * lull_channel_stats. It changes nothing, asks for no memory and is no activity.
 * @param line what to call for each
 * @param ctx [borrow] handed to line
 *   Open to visitors, callbacks included. Since 0.3.
 */
LULL_API void lull_channel_dump(const struct lull_channel *channel, lull_channel_line_fn line,
                                void *ctx);

/** Forgets the backoff: a channel in TRANSIENT_FAILURE dials now, elsewhere nothing happens. Any thread. Since 0.1. */
LULL_API void lull_channel_reset_backoff(struct lull_channel *channel);

/** The options in force after defaults and clamps; world is resolved. [borrow] They never change, and are there until the caller's
 * reference is given back. Any thread. Since 0.1. */
LULL_API const struct lull_channel_options *
lull_channel_effective_options(const struct lull_channel *channel);

/**
 * The loop that the channel is on [borrow]: the one it was given, or its own if there was none; that one lives as long as the channel is held, is
 * not to be freed, and has no other channel. Blocking calls (sync.h) and lull_loop_run, lull_loop_run_once and lull_loop_dispatch on
 * it drive it, on any thread; between those nothing moves: an asynchronous call is neither sent nor ended by its deadline. Closing
 * the channel, or giving back the last reference, ends what is left. Any thread. Since 0.3.
 */
LULL_API struct lull_loop *lull_channel_loop(const struct lull_channel *channel);

/** The target as it was given [borrow], until the caller's reference is given back. Any thread. Since 0.1. */
LULL_API const char *lull_channel_target(const struct lull_channel *channel);

/** The name of a state ("READY"). Static. Any thread. Since 0.1. */
LULL_API const char *lull_state_name(int state);

#ifdef __cplusplus
}
#endif

#endif
