/* SPDX-License-Identifier: MIT */
/*
 * A8's ping strikes, as ping_police.h states them: one instant and one count. Called by the
 * server's glue. Must not know what a ping was for or how a connection is closed.
 */
#include "policy/ping_police.h"

/* The infinite past is a value of its own, not an early instant: a clock may start anywhere. */
#define INFINITE_PAST INT64_MIN

static int64_t permit_ns(const struct ping_police *police)
{
    bool is_permitted = police->has_streams || police->options.permit_without_calls;
    return is_permitted ? police->options.permit_ns : PING_POLICE_PERMIT_MAX_NS;
}

void ping_police_options_init(struct ping_police_options *options)
{
    options->permit_ns = PING_POLICE_PERMIT_DEFAULT_NS;
    options->max_strikes = PING_POLICE_STRIKES_DEFAULT;
    options->permit_without_calls = false;
}

void ping_police_init(struct ping_police *police, const struct ping_police_options *options)
{
    police->options = *options;
    if (police->options.permit_ns < 0) {
        police->options.permit_ns = 0;
    } else if (police->options.permit_ns > PING_POLICE_PERMIT_MAX_NS) {
        police->options.permit_ns = PING_POLICE_PERMIT_MAX_NS;
    }
    if (police->options.max_strikes < 0) {
        police->options.max_strikes = 0;
    }
    police->last_valid_at = lull_at(INFINITE_PAST);
    police->strikes = 0;
    police->has_streams = false;
    police->is_closed = false;
}

enum ping_police_action ping_police_on_ping(struct ping_police *police, struct lull_instant now)
{
    if (police->is_closed) {
        return PING_POLICE_NONE; /* the rest of what was read together with the last straw */
    }
    if (!lull_instant_before(now, ping_police_permit_at(police))) {
        police->last_valid_at = now;
        return PING_POLICE_NONE;
    }
    police->strikes++;
    int max_strikes = police->options.max_strikes;
    if (max_strikes == 0 || police->strikes <= (uint64_t)max_strikes) {
        return PING_POLICE_STRIKE;
    }
    police->is_closed = true;
    return PING_POLICE_CLOSE;
}

void ping_police_on_sent(struct ping_police *police)
{
    police->last_valid_at = lull_at(INFINITE_PAST);
    police->strikes = 0;
}

void ping_police_on_stream_opened(struct ping_police *police)
{
    police->has_streams = true;
}

void ping_police_on_last_stream_closed(struct ping_police *police)
{
    police->has_streams = false;
}

struct lull_instant ping_police_permit_at(const struct ping_police *police)
{
    if (police->last_valid_at.ns == INFINITE_PAST) {
        return police->last_valid_at;
    }
    return lull_instant_add(police->last_valid_at, permit_ns(police));
}
