/* SPDX-License-Identifier: MIT */
/*
 * Defaults, clamps and refusals of a server's options. See server_options.h and lull/server.h.
 *
 * What is only unwise is clamped and can be read back; what cannot be meant (a negative duration) is refused, so that a zeroed or
 * damaged struct does not make a server. One negative duration can be meant: what a client must wait between two PINGs, less than
 * nothing, is nothing, as gRPC's servers read it.
 */
#include "server/server_options.h"

#include <string.h>

#include "base/rc.h"
#include "base/sized.h"
#include "lull/keepalive.h"
#include "net/endpoint_tls.h"
#include "policy/conn_age.h"
#include "policy/ping_police.h"

/* RFC 9113 section 6.9.1: windows end at 2^31-1. */
#define WINDOW_MAX ((uint32_t)INT32_MAX)

/* gRFC A9: a server's keepalive is there for peers that vanish, not for NATs. */
#define KEEPALIVE_TIME_DEFAULT_NS (7200 * LULL_SECOND)

void lull_server_options_fill(struct lull_server_options *options, size_t size)
{
    struct lull_server_options all;
    memset(&all, 0, sizeof(all));
    all.size = size;
    all.max_streams = 1000;
    all.max_recv_message_bytes = UINT32_C(4) * 1024 * 1024;
    all.max_send_message_bytes = (uint32_t)INT32_MAX;
    all.max_metadata_bytes = 16 * 1024;
    all.stream_window_bytes = 256 * 1024;
    all.connection_window_bytes = 1024 * 1024;
    all.keepalive_time_ns = KEEPALIVE_TIME_DEFAULT_NS;
    all.keepalive_timeout_ns = LULL_KEEPALIVE_TIMEOUT_DEFAULT_NS;
    all.permit_keepalive_time_ns = PING_POLICE_PERMIT_DEFAULT_NS;
    all.max_ping_strikes = PING_POLICE_STRIKES_DEFAULT;
    all.max_connection_idle_ns = LULL_NEVER;
    all.max_connection_age_ns = LULL_NEVER;
    all.max_connection_age_grace_ns = LULL_NEVER;
    memset(options, 0, size);
    memcpy(options, &all, size < sizeof(all) ? size : sizeof(all));
}

/* A duration, and what is the matter with it. */
struct duration {
    const char *name;
    int64_t *value;
    int64_t floor_ns;
    bool is_switch;         /* 0 is as good as LULL_NEVER */
    bool is_zero_if_negative; /* else negative is refused */
};

static int resolve_duration(const struct duration *d, struct lull_error *error)
{
    if (*d->value < 0 && d->is_zero_if_negative) {
        *d->value = 0;
    }
    if (*d->value < 0) {
        return rc_fail(error, LULL_RC_INVALID, "option %s is negative", d->name);
    }
    if (d->is_switch && *d->value == 0) {
        *d->value = LULL_NEVER;
    }
    if (*d->value < d->floor_ns) {
        *d->value = d->floor_ns;
    }
    return LULL_OK;
}

static int resolve_times(struct lull_server_options *out, struct lull_error *error)
{
    const bool is_short = out->allow_short_timers;
    const struct duration durations[] = {
        {"keepalive_time_ns", &out->keepalive_time_ns, is_short ? 1 : LULL_KEEPALIVE_TIME_MIN_NS,
         true, false},
        {"keepalive_timeout_ns", &out->keepalive_timeout_ns,
         is_short ? 1 : LULL_KEEPALIVE_TIMEOUT_MIN_NS, false, false},
        {"permit_keepalive_time_ns", &out->permit_keepalive_time_ns, 0, false, true},
        {"max_connection_idle_ns", &out->max_connection_idle_ns, is_short ? 1 : CONN_AGE_MIN_NS,
         true, false},
        {"max_connection_age_ns", &out->max_connection_age_ns, is_short ? 1 : CONN_AGE_MIN_NS,
         true, false},
        {"max_connection_age_grace_ns", &out->max_connection_age_grace_ns, 0, false, false},
    };
    for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
        int rc = resolve_duration(&durations[i], error);
        if (rc != LULL_OK) {
            return rc;
        }
    }
    if (out->permit_keepalive_time_ns > PING_POLICE_PERMIT_MAX_NS) {
        out->permit_keepalive_time_ns = PING_POLICE_PERMIT_MAX_NS;
    }
    return LULL_OK;
}

static void raise_to(uint32_t *value, uint32_t floor)
{
    if (*value < floor) {
        *value = floor;
    }
}

static int resolve_sizes(struct lull_server_options *out, struct lull_error *error)
{
    if (out->stream_window_bytes > WINDOW_MAX || out->connection_window_bytes > WINDOW_MAX) {
        return rc_fail(error, LULL_RC_INVALID, "option %s is above 2147483647",
                       out->stream_window_bytes > WINDOW_MAX ? "stream_window_bytes"
                                                             : "connection_window_bytes");
    }
    raise_to(&out->stream_window_bytes, SERVER_STREAM_WINDOW_FLOOR);
    raise_to(&out->connection_window_bytes, SERVER_CONNECTION_WINDOW_FLOOR);
    raise_to(&out->max_metadata_bytes, SERVER_METADATA_FLOOR);
    if (out->max_ping_strikes > (uint32_t)INT32_MAX) {
        out->max_ping_strikes = (uint32_t)INT32_MAX;
    }
    return LULL_OK;
}

static const struct sized options_kind = {
    SIZED_UP_TO(struct lull_server_options, log), sizeof(struct lull_server_options), "option",
    "the options with lull_server_options_init"};

int server_options_resolve(const struct lull_server_options *given, struct lull_server_options *out,
                           struct lull_error *error)
{
    if (given == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "no options: a server needs a loop");
    }
    lull_server_options_fill(out, sizeof(*out));
    int rc = sized_take(&options_kind, out, given, error);
    if (rc == LULL_OK) {
        rc = resolve_times(out, error);
    }
    if (rc == LULL_OK) {
        rc = resolve_sizes(out, error);
    }
    if (rc != LULL_OK) {
        return rc;
    }
    if (out->credentials != NULL && !tls_can_serve(out->credentials)) {
        return rc_fail(error, LULL_RC_INVALID,
                       "option credentials has no certificate to show: identity or identity_fn is "
                       "needed");
    }
    if (out->log.level < 0 || out->log.level > LULL_LOG_DEBUG) {
        return rc_fail(error, LULL_RC_INVALID, "option log.level is %d, not in 0 to 7", out->log.level);
    }
    if (out->log.level == 0) {
        out->log.level = LULL_LOG_INFO;
    }
    return LULL_OK;
}
