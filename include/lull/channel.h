/* SPDX-License-Identifier: MIT */
/**
 * @file channel.h
 * A channel: a target that calls are made to. It dials when it must, waits when it should, and tells why.
 */
#ifndef LULL_CHANNEL_H
#define LULL_CHANNEL_H

#include <lull/rc.h>
#include <lull/status.h>
#include <lull/trace.h>
#include <lull/types.h>
#include <lull/world.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lull_channel;

/** Connectivity (grpc/doc/connectivity-semantics-and-api.md). Since 0.1. */
enum lull_state {
    LULL_STATE_IDLE = 0,
    LULL_STATE_CONNECTING = 1,
    LULL_STATE_READY = 2, /**< the server's first SETTINGS came */
    LULL_STATE_TRANSIENT_FAILURE = 3,
    LULL_STATE_SHUTDOWN = 4
};

/** Options of a channel. Fill with lull_channel_options_init. All clamps are applied once, by lull_channel_new. Since 0.1. */
struct lull_channel_options {
    size_t size;
    const struct lull_world *world;     /**< [borrow, nullable] its members outlive the channel */
    struct lull_loop *loop;             /**< [borrow] who drives; needed here or in `world` */
    const char *authority;              /**< [borrow, nullable] `:authority`; NULL: from the target */
    const char *user_agent;             /**< [borrow, nullable] put before our own, as gRPC does */
    int64_t min_connect_timeout_ns;     /**< one attempt, TCP to first SETTINGS; default 20 s; floor 10 ms */
    int64_t backoff_initial_ns;         /**< default 1 s; floor 100 ms */
    int64_t backoff_max_ns;             /**< default 120 s */
    double backoff_multiplier;          /**< default 1.6 */
    double backoff_jitter;              /**< default 0.2, in [0, 1) */
    uint32_t max_recv_message_bytes;    /**< default 4 MiB */
    uint32_t max_send_message_bytes;    /**< default INT32_MAX */
    uint32_t max_metadata_bytes;        /**< received, a call; default 16 KiB; advertised */
    uint32_t stream_window_bytes;       /**< default 256 KiB */
    uint32_t connection_window_bytes;   /**< default 1 MiB */
    uint32_t max_queued_calls;          /**< calls waiting for a connection or a stream; default 100 000 */
    bool allow_short_timers;            /**< lifts the floors of times: for tests and demonstrations */
    struct lull_trace trace;            /**< hook; event NULL: none */
};

/** Fills in the defaults. Since 0.1. */
LULL_API void lull_channel_options_init(struct lull_channel_options *options);

/**
 * Makes a channel; nothing is dialled before the first call or lull_channel_state(…, true).
 *
 * Targets: `ipv4:1.2.3.4:80`, `ipv6:[::1]:80`, `unix:path`, `unix:///absolute`, `unix-abstract:name`, `dns:///1.2.3.4:80`, and bare
 * `1.2.3.4:80`, `[::1]:80`, `localhost:80`. Other names need a resolver, which this version does not have (LULL_RC_UNSUPPORTED).
 * @param target [borrow] NUL-terminated
 * @param options [borrow] with a loop
 * @param out receives the channel with one reference, owned by the caller; left alone on failure
 * @param error [nullable] receives the code and a text that names what was wrong
 * @return LULL_OK, LULL_RC_INVALID, LULL_RC_UNSUPPORTED, LULL_RC_NOMEM. Driving thread. Since 0.1.
 */
LULL_API int lull_channel_new(const char *target, const struct lull_channel_options *options,
                              struct lull_channel **out, struct lull_error *error);

/** Takes a reference. NULL is harmless. Driving thread. Since 0.1. */
LULL_API void lull_channel_ref(struct lull_channel *channel);

/** Gives a reference back; the last one closes the channel as lull_channel_close does. NULL is harmless. Driving thread, callbacks included. Since 0.1. */
LULL_API void lull_channel_unref(struct lull_channel *channel);

/** Ends every call with UNAVAILABLE "channel closed", closes the connection and stays in SHUTDOWN. The second time does nothing. Driving thread, callbacks included. Since 0.1. */
LULL_API void lull_channel_close(struct lull_channel *channel);

/** The state before this call; with `try_to_connect` an IDLE channel starts to connect. Driving thread. Since 0.1. */
LULL_API enum lull_state lull_channel_state(struct lull_channel *channel, bool try_to_connect);

/** Forgets the backoff: a channel in TRANSIENT_FAILURE dials now, elsewhere nothing happens. Driving thread. Since 0.1. */
LULL_API void lull_channel_reset_backoff(struct lull_channel *channel);

/** The options in force after defaults and clamps [borrow]; world is resolved. Since 0.1. */
LULL_API const struct lull_channel_options *lull_channel_effective_options(const struct lull_channel *channel);

/** The target as it was given [borrow]. Since 0.1. */
LULL_API const char *lull_channel_target(const struct lull_channel *channel);

/** The name of a state ("READY"). Static. Any thread. Since 0.1. */
LULL_API const char *lull_state_name(int state);

#ifdef __cplusplus
}
#endif

#endif
