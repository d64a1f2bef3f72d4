/* SPDX-License-Identifier: MIT */
/*
 * Tables of a connection's facts, shared by conn_age_test.c and conn_age_drain_test.c: a row is an
 * instant, a fact, and the answer that must come.
 */
#ifndef LULL_TESTS_UNIT_POLICY_CONN_AGE_ROWS_H
#define LULL_TESTS_UNIT_POLICY_CONN_AGE_ROWS_H

#include "policy/conn_age.h"

#include <check.h>

#define NEVER       LULL_NEVER
#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define MS(x)       ((x)*LULL_MS)
#define NO_JITTER   0.5

#define NONE   CONN_AGE_NONE
#define DRAIN  CONN_AGE_DRAIN
#define LAST   CONN_AGE_LAST_GOAWAY
#define FINISH CONN_AGE_GOAWAY_AND_CLOSE
#define CLOSE  CONN_AGE_CLOSE

/* SHUTDOWN gives 50 units of grace, HALT none. */
enum fact { UP, DOWN, OPENED, ENDED, ACKED, SHUTDOWN, HALT, TIMER };

struct row {
    int64_t at;
    enum fact fact;
    enum conn_age_action action;
    int64_t next_at;
};

static inline struct conn_age_step tell(struct conn_age *age, enum fact fact, int64_t scale,
                                        struct lull_instant now)
{
    switch (fact) {
    case UP:
        return conn_age_on_opened(age, NO_JITTER, now);
    case DOWN:
        return conn_age_on_closed(age);
    case OPENED:
        return conn_age_on_stream_opened(age);
    case ENDED:
        return conn_age_on_stream_closed(age, now);
    case ACKED:
        return conn_age_on_drain_acked(age, now);
    case SHUTDOWN:
        return conn_age_on_shutdown(age, 50 * scale, now);
    case HALT:
        return conn_age_on_shutdown(age, 0, now);
    default:
        return conn_age_on_timer(age, now);
    }
}

static inline int64_t scaled(int64_t value, int64_t scale)
{
    return value == NEVER ? NEVER : value * scale;
}

/* In units of `scale` ns. */
struct limits {
    int64_t idle;
    int64_t age;
    int64_t grace;
    int64_t limit;
};

static inline struct conn_age_options options_of(struct limits limits, int64_t scale)
{
    struct conn_age_options options;
    conn_age_options_init(&options);
    options.max_idle_ns = scaled(limits.idle, scale);
    options.max_age_ns = scaled(limits.age, scale);
    options.max_age_grace_ns = scaled(limits.grace, scale);
    options.drain_limit_ns = scaled(limits.limit, scale);
    options.allow_short_timers = true;
    return options;
}

/* Runs a table at three origins of the clock, and checks the reason when it is through. */
static inline void run(struct limits limits, int64_t scale, enum conn_age_reason reason,
                       const struct row *rows, size_t count)
{
    const int64_t origins_ns[] = {0, -5000 * LULL_SECOND, INT64_C(1) << 62};
    struct conn_age_options options = options_of(limits, scale);
    for (size_t o = 0; o < COUNT(origins_ns); o++) {
        struct conn_age age;
        conn_age_init(&age, &options);
        for (size_t i = 0; i < count; i++) {
            struct lull_instant now = lull_at(origins_ns[o] + rows[i].at * scale);
            int64_t next_ns =
                rows[i].next_at == NEVER ? NEVER : origins_ns[o] + rows[i].next_at * scale;
            struct conn_age_step step = tell(&age, rows[i].fact, scale, now);
            ck_assert_msg(step.action == rows[i].action, "row %zu: action %d", i, (int)step.action);
            ck_assert_msg(step.next_at.ns == next_ns, "row %zu: next_at %lld", i,
                          (long long)step.next_at.ns);
            ck_assert_int_eq(conn_age_next_at(&age).ns, next_ns);
        }
        ck_assert_int_eq(age.reason, reason);
    }
}

#define RUN(limits, reason, rows)                                                                  \
    do {                                                                                           \
        run(limits, 1, reason, rows, COUNT(rows));                                                 \
        run(limits, LULL_MS, reason, rows, COUNT(rows));                                           \
    } while (0)

#endif
