/* SPDX-License-Identifier: MIT */
/*
 * Tables of keepalive facts, shared by keepalive_test.c and keepalive_cases_test.c: a row is an
 * instant, a fact, and the answer that must come.
 */
#ifndef LULL_TESTS_UNIT_POLICY_KEEPALIVE_ROWS_H
#define LULL_TESTS_UNIT_POLICY_KEEPALIVE_ROWS_H

#include "lull/keepalive.h"

#include <check.h>

#define NEVER       LULL_NEVER
#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define MS(x)       ((x)*LULL_MS)

#define NONE LULL_KEEPALIVE_NONE
#define PING LULL_KEEPALIVE_SEND_PING
#define DEAD LULL_KEEPALIVE_PEER_IS_DEAD

enum fact { UP, DOWN, READ, OPENED, LAST_CLOSED, WRITTEN, ACKED, TIMER };

struct row {
    int64_t at;
    enum fact fact;
    enum lull_keepalive_action action;
    int64_t next_at;
};

static inline struct lull_keepalive_step tell(struct lull_keepalive *k, enum fact fact,
                                              struct lull_instant now)
{
    switch (fact) {
    case UP:
        return lull_keepalive_on_transport_opened(k, now);
    case DOWN:
        return lull_keepalive_on_transport_closed(k);
    case READ:
        return lull_keepalive_on_read(k, now);
    case OPENED:
        return lull_keepalive_on_stream_opened(k, now);
    case LAST_CLOSED:
        return lull_keepalive_on_last_stream_closed(k);
    case WRITTEN:
        return lull_keepalive_on_ping_written(k, now);
    case ACKED:
        return lull_keepalive_on_ping_acked(k, now);
    default:
        return lull_keepalive_on_timer(k, now);
    }
}

static inline void make(struct lull_keepalive *k, int64_t time_ns, int64_t timeout_ns,
                        bool without_calls)
{
    struct lull_keepalive_options options;
    lull_keepalive_options_init(&options);
    options.time_ns = time_ns;
    options.timeout_ns = timeout_ns;
    options.without_calls = without_calls;
    options.allow_short_timers = true;
    ck_assert_int_eq(lull_keepalive_init(k, &options), LULL_OK);
}

/* Runs a table at three origins of the clock; every unit of time is `scale` ns. */
static inline void run_scaled(struct lull_keepalive *k, int64_t scale, const struct row *rows,
                              size_t count)
{
    const int64_t origins[] = {0, -7000 * LULL_SECOND, INT64_C(1) << 62};
    const struct lull_keepalive fresh = *k;
    for (size_t o = 0; o < COUNT(origins); o++) {
        *k = fresh;
        for (size_t i = 0; i < count; i++) {
            int64_t next = rows[i].next_at == NEVER ? NEVER : origins[o] + rows[i].next_at * scale;
            struct lull_keepalive_step step =
                tell(k, rows[i].fact, lull_at(origins[o] + rows[i].at * scale));
            ck_assert_msg(step.action == rows[i].action, "row %zu: action %d", i, (int)step.action);
            ck_assert_msg(step.next_at.ns == next, "row %zu: next_at %lld", i,
                          (long long)step.next_at.ns);
            ck_assert_int_eq(lull_keepalive_next_at(k).ns, next);
        }
    }
}

/* T = 1 000 ns, K = 2 000 ns: grpc-java's numbers. */
#define RUN(without_calls, rows)                                                                   \
    do {                                                                                           \
        struct lull_keepalive k_;                                                                  \
        make(&k_, 1000, 2000, without_calls);                                                      \
        run_scaled(&k_, 1, rows, COUNT(rows));                                                     \
    } while (0)

#endif
