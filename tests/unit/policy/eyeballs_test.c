/* SPDX-License-Identifier: MIT */
/* src/policy/eyeballs.c as tables: { at, fact, address, what is to be done then }. Times in ms. */
#include "policy/eyeballs.h"

#include "tests/support/check_main.h"

#define LIMIT_MS 20000

enum fact { NOTHING, STARTED, FAILED, CONNECTED, END };

struct row {
    int64_t at_ms;
    enum fact fact;
    size_t index;
    enum eyeballs_action action;
    int64_t then; /* START, EXPIRE: the address; WAIT: until when */
};

static const struct row alone[] = {
    {0, NOTHING, 0, EYEBALLS_START, 0},
    {0, STARTED, 0, EYEBALLS_WAIT, LIMIT_MS},
    {LIMIT_MS - 1, NOTHING, 0, EYEBALLS_WAIT, LIMIT_MS},
    {LIMIT_MS, NOTHING, 0, EYEBALLS_EXPIRE, 0},
    {LIMIT_MS, FAILED, 0, EYEBALLS_OVER, 0},
    {0, END, 0, EYEBALLS_WAIT, 0},
};

/* scenario 153: the next address at once, and the end after the last */
static const struct row both_refuse[] = {
    {0, NOTHING, 0, EYEBALLS_START, 0},
    {0, STARTED, 0, EYEBALLS_WAIT, 250},
    {1, FAILED, 0, EYEBALLS_START, 1},
    {1, STARTED, 1, EYEBALLS_WAIT, 1 + LIMIT_MS},
    {2, FAILED, 1, EYEBALLS_OVER, 0},
    {0, END, 0, EYEBALLS_WAIT, 0},
};

/* scenario 190, C24: the first hangs */
static const struct row head_start[] = {
    {0, NOTHING, 0, EYEBALLS_START, 0},
    {0, STARTED, 0, EYEBALLS_WAIT, 250},
    {249, NOTHING, 0, EYEBALLS_WAIT, 250},
    {250, NOTHING, 0, EYEBALLS_START, 1},
    {250, STARTED, 1, EYEBALLS_WAIT, LIMIT_MS},
    {280, CONNECTED, 1, EYEBALLS_WAIT, LIMIT_MS},
    {280, FAILED, 0, EYEBALLS_WAIT, 250 + LIMIT_MS}, /* given up for the other */
    {250 + LIMIT_MS, NOTHING, 0, EYEBALLS_EXPIRE, 1},
    {250 + LIMIT_MS, FAILED, 1, EYEBALLS_OVER, 0},
    {0, END, 0, EYEBALLS_WAIT, 0},
};

/* A late timer starts one, not all that would have been due: each has its head start. */
static const struct row late[] = {
    {0, NOTHING, 0, EYEBALLS_START, 0},
    {0, STARTED, 0, EYEBALLS_WAIT, 250},
    {1000, NOTHING, 0, EYEBALLS_START, 1},
    {1000, STARTED, 1, EYEBALLS_WAIT, 1250},
    {1250, NOTHING, 0, EYEBALLS_START, 2},
    {1250, STARTED, 2, EYEBALLS_WAIT, LIMIT_MS},
    {0, END, 0, EYEBALLS_WAIT, 0},
};

/* While one that connected is waited for, nobody else is dialled; when it fails, the rest goes on. */
static const struct row winner_fails[] = {
    {0, NOTHING, 0, EYEBALLS_START, 0},
    {0, STARTED, 0, EYEBALLS_WAIT, 250},
    {10, CONNECTED, 0, EYEBALLS_WAIT, LIMIT_MS},
    {400, NOTHING, 0, EYEBALLS_WAIT, LIMIT_MS},
    {500, FAILED, 0, EYEBALLS_START, 1},
    {500, STARTED, 1, EYEBALLS_WAIT, 750},
    {750, NOTHING, 0, EYEBALLS_START, 2},
    {750, STARTED, 2, EYEBALLS_WAIT, 500 + LIMIT_MS},
    {760, FAILED, 2, EYEBALLS_WAIT, 500 + LIMIT_MS},
    {770, FAILED, 1, EYEBALLS_OVER, 0},
    {0, END, 0, EYEBALLS_WAIT, 0},
};

/* Two limits at one instant are told one by one. */
static const struct row two_expire[] = {
    {0, NOTHING, 0, EYEBALLS_START, 0},
    {0, STARTED, 0, EYEBALLS_WAIT, 250},
    {250, STARTED, 1, EYEBALLS_WAIT, LIMIT_MS},
    {99000, NOTHING, 0, EYEBALLS_EXPIRE, 0},
    {99000, FAILED, 0, EYEBALLS_EXPIRE, 1},
    {99000, FAILED, 1, EYEBALLS_OVER, 0},
    {0, END, 0, EYEBALLS_WAIT, 0},
};

static const struct {
    const struct row *rows;
    size_t count;
} passes[] = {
    {alone, 1}, {both_refuse, 2}, {head_start, 2}, {late, 3}, {winner_fails, 3}, {two_expire, 2},
};

/* The clock's origin is none: before zero, at it, and near the end of time, where limits saturate. */
static const int64_t origins_ns[] = {0, INT64_C(-7000000000000), INT64_C(1) << 60};

START_TEST(a_pass_is_a_table_of_facts_and_times)
{
    const int64_t origin_ns = origins_ns[(size_t)_i % 3];
    const struct row *row = passes[_i / 3].rows;
    struct eyeballs_try tries[EYEBALLS_MAX];
    struct eyeballs e;

    eyeballs_init(&e, tries, passes[_i / 3].count);
    for (size_t n = 0; row->fact != END; row++, n++) {
        struct lull_instant now = lull_at(origin_ns + row->at_ms * LULL_MS);

        switch (row->fact) {
        case STARTED:
            eyeballs_on_started(&e, row->index, now, lull_instant_add(now, LIMIT_MS * LULL_MS));
            break;
        case FAILED:
            eyeballs_on_failed(&e, row->index, now);
            break;
        case CONNECTED:
            eyeballs_on_connected(&e, row->index);
            break;
        default:
            break;
        }
        struct eyeballs_step step = eyeballs_next(&e, now);
        ck_assert_msg(step.action == row->action, "pass %d, row %zu: action %d", _i / 3, n,
                      (int)step.action);
        if (step.action == EYEBALLS_START || step.action == EYEBALLS_EXPIRE) {
            ck_assert_uint_eq(step.index, (size_t)row->then);
        } else if (step.action == EYEBALLS_WAIT) {
            ck_assert_int_eq(step.next_at.ns, origin_ns + row->then * LULL_MS);
        }
    }
}
END_TEST

START_TEST(no_address_is_a_pass_that_is_over)
{
    struct eyeballs_try tries[EYEBALLS_MAX];
    struct eyeballs e;

    eyeballs_init(&e, tries, 0);
    ck_assert_int_eq(eyeballs_next(&e, lull_at(0)).action, EYEBALLS_OVER);
}
END_TEST

START_TEST(a_limit_that_never_comes_is_waited_for_without_a_timer)
{
    struct eyeballs_try tries[EYEBALLS_MAX];
    struct eyeballs e;

    eyeballs_init(&e, tries, 1);
    eyeballs_on_started(&e, 0, lull_at(0), lull_at(LULL_NEVER));
    ck_assert_int_eq(eyeballs_next(&e, lull_at(1)).next_at.ns, LULL_NEVER);
}
END_TEST

/* Whatever happens: each address starts once, and a pass ends after as many failures as it has addresses. */
START_TEST(every_address_starts_once_and_the_pass_ends)
{
    uint64_t state = 20261201;

    for (int round = 0; round < 2000; round++) {
        struct eyeballs_try tries[EYEBALLS_MAX];
        struct eyeballs e;
        size_t count, starts = 0, failures = 0;
        struct lull_instant now = lull_at(0);
        unsigned started = 0;

        state = state * 6364136223846793005u + 1442695040888963407u;
        count = (size_t)(state >> 60) + 1;
        eyeballs_init(&e, tries, count);
        for (;;) {
            struct eyeballs_step step = eyeballs_next(&e, now);
            state = state * 6364136223846793005u + 1442695040888963407u;
            if (step.action == EYEBALLS_OVER) {
                break;
            }
            if (step.action == EYEBALLS_START) {
                ck_assert_uint_eq(started & (1u << step.index), 0);
                started |= 1u << step.index;
                starts++;
                eyeballs_on_started(&e, step.index, now, lull_instant_add(now, LULL_SECOND));
            } else if (step.action == EYEBALLS_EXPIRE) {
                failures++;
                eyeballs_on_failed(&e, step.index, now);
            } else {
                ck_assert(lull_instant_before(now, step.next_at));
                now = step.next_at;
                size_t one = (size_t)(state >> 33) % count;
                if (e.tries[one].state == EYEBALLS_TRYING && (state >> 20) % 3 == 0) {
                    failures++;
                    eyeballs_on_failed(&e, one, now);
                } else if (e.tries[one].state == EYEBALLS_TRYING && e.winner == EYEBALLS_NONE &&
                           (state >> 20) % 3 == 1) {
                    eyeballs_on_connected(&e, one);
                }
            }
            ck_assert_uint_le(starts, count);
        }
        ck_assert_uint_eq(starts, count);
        ck_assert_uint_eq(failures, count);
    }
}
END_TEST

static Suite *eyeballs_suite(void)
{
    Suite *suite = suite_create("eyeballs");
    TCase *cases = tcase_create("eyeballs");

    tcase_add_loop_test(cases, a_pass_is_a_table_of_facts_and_times, 0,
                        3 * (int)(sizeof(passes) / sizeof(passes[0])));
    tcase_add_test(cases, no_address_is_a_pass_that_is_over);
    tcase_add_test(cases, a_limit_that_never_comes_is_waited_for_without_a_timer);
    tcase_add_test(cases, every_address_starts_once_and_the_pass_ends);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("eyeballs", eyeballs_suite)
