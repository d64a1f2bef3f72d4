/* SPDX-License-Identifier: MIT */
/*
 * Defaults, clamps and refusals of a channel's options. See options.h and lull/channel.h.
 *
 * What is only unwise is clamped and can be read back; what cannot be meant (a negative duration, a
 * multiplier that is no number) is refused, so that a zeroed or damaged struct does not make a channel.
 */
#include "channel/options.h"

#include <string.h>

#include "base/rc.h"
#include "base/sized.h"
#include "lull/idle.h"
#include "lull/keepalive.h"

/* RFC 9113 section 6.9.1: windows end at 2^31-1. */
#define WINDOW_MAX ((uint32_t)INT32_MAX)

void lull_channel_options_fill(struct lull_channel_options *options, size_t size)
{
    struct lull_channel_options all;
    memset(&all, 0, sizeof(all));
    all.size = size;
    all.min_connect_timeout_ns = 20 * LULL_SECOND;
    all.backoff_initial_ns = LULL_SECOND;
    all.backoff_max_ns = 120 * LULL_SECOND;
    all.backoff_multiplier = 1.6;
    all.backoff_jitter = 0.2;
    all.idle_timeout_ns = LULL_IDLE_TIMEOUT_DEFAULT_NS;
    all.keepalive_time_ns = LULL_NEVER;
    all.keepalive_timeout_ns = LULL_KEEPALIVE_TIMEOUT_DEFAULT_NS;
    all.read_timeout_ns = LULL_NEVER;
    all.tcp_keepalive = true;
    all.max_recv_message_bytes = UINT32_C(4) * 1024 * 1024;
    all.max_send_message_bytes = (uint32_t)INT32_MAX;
    all.max_metadata_bytes = 16 * 1024;
    all.stream_window_bytes = 256 * 1024;
    all.connection_window_bytes = 1024 * 1024;
    all.max_queued_calls = 100000;
    memset(options, 0, size);
    memcpy(options, &all, size < sizeof(all) ? size : sizeof(all));
}

/* Raises *value to its floor; false for what cannot be meant. */
static bool clamp_duration(int64_t *value, int64_t floor_ns)
{
    if (*value < 0) {
        return false;
    }
    if (*value < floor_ns) {
        *value = floor_ns;
    }
    return true;
}

static void raise_to(uint32_t *value, uint32_t floor)
{
    if (*value < floor) {
        *value = floor;
    }
}

/* What goes into a header field, or is compared with one: visible ASCII, and spaces where they are allowed. */
static bool is_header_text(const char *text, bool may_have_spaces)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c > 0x7e || (c == ' ' && !may_have_spaces)) {
            return false;
        }
    }
    return true;
}

static int resolve_times(struct lull_channel_options *out, struct lull_error *error)
{
    bool is_short = out->allow_short_timers;
    if (!clamp_duration(&out->min_connect_timeout_ns,
                        is_short ? 1 : OPTIONS_MIN_CONNECT_FLOOR_NS)) {
        return rc_fail(error, LULL_RC_INVALID, "option min_connect_timeout_ns is negative");
    }
    if (!clamp_duration(&out->backoff_initial_ns, is_short ? 1 : OPTIONS_BACKOFF_FLOOR_NS)) {
        return rc_fail(error, LULL_RC_INVALID, "option backoff_initial_ns is negative");
    }
    if (!clamp_duration(&out->backoff_max_ns, is_short ? 1 : OPTIONS_BACKOFF_FLOOR_NS)) {
        return rc_fail(error, LULL_RC_INVALID, "option backoff_max_ns is negative");
    }
    /* Written so that a NaN fails. */
    if (!(out->backoff_multiplier >= 1.0 && out->backoff_multiplier <= 1000.0)) {
        return rc_fail(error, LULL_RC_INVALID, "option backoff_multiplier is not in [1, 1000]");
    }
    if (!(out->backoff_jitter >= 0.0 && out->backoff_jitter < 1.0)) {
        return rc_fail(error, LULL_RC_INVALID, "option backoff_jitter is not in [0, 1)");
    }
    return rc_ok(error);
}

/* The same for what can be switched off: 0 is as good as LULL_NEVER. */
static bool clamp_switchable(int64_t *value, int64_t floor_ns)
{
    if (*value == 0) {
        *value = LULL_NEVER;
    }
    return clamp_duration(value, floor_ns);
}

static int resolve_silences(struct lull_channel_options *out, struct lull_error *error)
{
    bool is_short = out->allow_short_timers;
    if (!clamp_switchable(&out->idle_timeout_ns, is_short ? 1 : LULL_IDLE_TIMEOUT_MIN_NS)) {
        return rc_fail(error, LULL_RC_INVALID, "option idle_timeout_ns is negative");
    }
    if (!clamp_switchable(&out->keepalive_time_ns, is_short ? 1 : LULL_KEEPALIVE_TIME_MIN_NS)) {
        return rc_fail(error, LULL_RC_INVALID, "option keepalive_time_ns is negative");
    }
    if (!clamp_duration(&out->keepalive_timeout_ns, is_short ? 1 : LULL_KEEPALIVE_TIMEOUT_MIN_NS)) {
        return rc_fail(error, LULL_RC_INVALID, "option keepalive_timeout_ns is negative");
    }
    if (!clamp_switchable(&out->read_timeout_ns, 1)) {
        return rc_fail(error, LULL_RC_INVALID, "option read_timeout_ns is negative");
    }
    return rc_ok(error);
}

static int resolve_sizes(struct lull_channel_options *out, struct lull_error *error)
{
    if (out->stream_window_bytes > WINDOW_MAX) {
        return rc_fail(error, LULL_RC_INVALID, "option stream_window_bytes is %u, above 2147483647",
                       out->stream_window_bytes);
    }
    if (out->connection_window_bytes > WINDOW_MAX) {
        return rc_fail(error, LULL_RC_INVALID,
                       "option connection_window_bytes is %u, above 2147483647",
                       out->connection_window_bytes);
    }
    raise_to(&out->stream_window_bytes, OPTIONS_STREAM_WINDOW_FLOOR);
    raise_to(&out->connection_window_bytes, OPTIONS_CONNECTION_WINDOW_FLOOR);
    raise_to(&out->max_metadata_bytes, OPTIONS_METADATA_FLOOR);
    raise_to(&out->max_queued_calls, 1);
    return LULL_OK;
}

static const struct sized options_kind = {
    SIZED_UP_TO(struct lull_channel_options, log), sizeof(struct lull_channel_options), "option",
    "the options with lull_channel_options_init"};

int options_resolve(const struct lull_channel_options *given, struct lull_channel_options *out,
                    struct lull_error *error)
{
    if (given == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "no options: fill some with lull_channel_options_init");
    }
    if (given->size < sizeof(*out)) {
        lull_channel_options_fill(out, sizeof(*out));
    }
    int rc = sized_take(&options_kind, out, given, error);
    if (rc == LULL_OK) {
        rc = resolve_times(out, error);
    }
    if (rc == LULL_OK) {
        rc = resolve_silences(out, error);
    }
    if (rc == LULL_OK) {
        rc = resolve_sizes(out, error);
    }
    if (rc != LULL_OK) {
        return rc;
    }
    if (out->authority != NULL &&
        (*out->authority == '\0' || !is_header_text(out->authority, false))) {
        return rc_fail(error, LULL_RC_INVALID,
                       "option authority is empty or has characters no host has");
    }
    if (out->user_agent != NULL && !is_header_text(out->user_agent, true)) {
        return rc_fail(error, LULL_RC_INVALID,
                       "option user_agent has characters that are not printable ASCII");
    }
    if (out->log.level < 0 || out->log.level > LULL_LOG_DEBUG) {
        return rc_fail(error, LULL_RC_INVALID, "option log.level is %d, not in 0 to 7", out->log.level);
    }
    if (out->log.level == 0) {
        out->log.level = LULL_LOG_INFO;
    }
    return LULL_OK;
}
