/* SPDX-License-Identifier: MIT */
/* The timer queue (src/time/timerq.c), against a naive sorted array and case by case. */
#include "time/timerq.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lull/world.h"
#include "tests/support/check_main.h"
#include "tests/support/rounds.h"
#include "tests/support/must.h"

#define TIMERS     300
#define OPERATIONS 100000

static void make(struct timerq *queue, struct lull_timer *timer)
{
    memset(timer, 0, sizeof(*timer));
    timer->slot = TIMERQ_SLOT_IDLE;
    timer->at = lull_at(LULL_NEVER);
    MUST(timerq_reserve(queue) == LULL_OK);
}

static void unmake(struct timerq *queue, struct lull_timer *timer)
{
    timerq_disarm(queue, timer);
    timerq_unreserve(queue);
}

/* ---- the oracle: an array, searched from end to end */

struct expectation {
    bool is_made;
    bool is_armed;
    bool is_due; /* taken by the pass under way */
    int64_t at_ns;
    uint64_t seq;
};

struct world {
    struct lull_random_seeded random;
    struct lull_counters counters;
    struct timerq queue;
    struct lull_timer timer[TIMERS];
    struct expectation expected[TIMERS];
    uint64_t next_seq;
    int64_t now_ns;
    uint64_t fires;
};

static uint64_t pick(struct world *w, uint64_t below)
{
    return w->random.base.next(&w->random.base) % below;
}

/* The armed timer that comes first among those with is_due == `is_due`; -1 when there is none. */
static int oracle_first(const struct world *w, bool is_due)
{
    int first = -1;
    for (int i = 0; i < TIMERS; i++) {
        const struct expectation *e = &w->expected[i];
        if (!e->is_armed || e->is_due != is_due) {
            continue;
        }
        const struct expectation *f = first < 0 ? NULL : &w->expected[first];
        if (f == NULL || e->at_ns < f->at_ns || (e->at_ns == f->at_ns && e->seq < f->seq)) {
            first = i;
        }
    }
    return first;
}

static void check_heap(const struct world *w)
{
    const struct timerq *queue = &w->queue;
    uint64_t armed = 0;
    for (uint32_t i = 0; i < queue->count; i++) {
        MUST(queue->heap[i].timer->slot == i);
        MUST(queue->heap[i].timer->at.ns == queue->heap[i].at_ns);
        if (i > 0) {
            MUST(queue->heap[(i - 1) / 4].at_ns <= queue->heap[i].at_ns);
        }
    }
    for (int i = 0; i < TIMERS; i++) {
        armed += w->expected[i].is_armed;
        if (w->expected[i].is_made) {
            MUST(timerq_is_armed(&w->timer[i]) == w->expected[i].is_armed);
        }
    }
    MUST(w->counters.timers_armed == armed);
    MUST(queue->reserved <= queue->capacity);
}

/* One random change to one random timer. */
static void change(struct world *w)
{
    const uint64_t i = pick(w, TIMERS);
    struct lull_timer *timer = &w->timer[i];
    struct expectation *e = &w->expected[i];
    const uint64_t what = pick(w, 16);
    if (!e->is_made) {
        make(&w->queue, timer);
        e->is_made = true;
    } else if (what == 0) {
        unmake(&w->queue, timer);
        e->is_made = false;
        e->is_armed = false;
    } else if (what < 5) {
        timerq_disarm(&w->queue, timer);
        e->is_armed = false;
    } else {
        /* Few distinct instants, so that many are equal; some in the past. */
        const int64_t after_ns = (int64_t)pick(w, 64) - 8;
        struct lull_instant at = lull_instant_add(lull_at(w->now_ns), after_ns);
        if (at.ns == LULL_NEVER) {
            at.ns = LULL_NEVER - 1;
        }
        timerq_arm(&w->queue, timer, at);
        e->is_armed = true;
        e->at_ns = at.ns;
        e->seq = w->next_seq++;
    }
    e->is_due = false;
}

static void pass(struct world *w)
{
    for (int i = 0; i < TIMERS; i++) {
        w->expected[i].is_due = w->expected[i].is_armed && w->expected[i].at_ns <= w->now_ns;
    }
    timerq_take_due(&w->queue, lull_at(w->now_ns));
    for (;;) {
        const int first = oracle_first(w, true);
        struct lull_timer *timer = timerq_next_due(&w->queue);
        if (first < 0) {
            ck_assert_ptr_null(timer);
            break;
        }
        MUST(timer == &w->timer[first]);
        MUST(!timerq_is_armed(timer));
        w->expected[first].is_armed = false;
        w->expected[first].is_due = false;
        w->fires++;
        for (uint64_t n = pick(w, 4); n > 0; n--) {
            change(w);
        }
    }
}

static void run_against_oracle(int64_t origin_ns, uint64_t seed)
{
    struct world *w = calloc(1, sizeof(*w));
    ck_assert_ptr_nonnull(w);
    printf("timerq oracle: origin %lld seed %llu\n", (long long)origin_ns,
           (unsigned long long)seed);
    lull_random_seed(&w->random, seed);
    timerq_init(&w->queue, NULL, &w->counters);
    w->now_ns = origin_ns;
    for (int n = 0; n < (int)test_rounds(OPERATIONS, 10000); n++) {
        if (pick(w, 8) == 0) {
            w->now_ns = lull_duration_add(w->now_ns, (int64_t)pick(w, 24));
            w->now_ns = w->now_ns == LULL_NEVER ? LULL_NEVER - 1 : w->now_ns;
            pass(w);
        } else {
            change(w);
        }
        const int first = oracle_first(w, false);
        MUST(timerq_earliest(&w->queue).ns == (first < 0 ? LULL_NEVER : w->expected[first].at_ns));
        if (n % 64 == 0) {
            check_heap(w);
        }
    }
    MUST(w->counters.timer_fires == w->fires);
    MUST(w->counters.timer_arms == w->next_seq);
    MUST(w->fires > 1000);
    for (int i = 0; i < TIMERS; i++) {
        if (w->expected[i].is_made) {
            unmake(&w->queue, &w->timer[i]);
        }
    }
    timerq_fini(&w->queue);
    free(w);
}

START_TEST(random_operations_match_a_sorted_array_from_zero)
{
    run_against_oracle(0, 1);
}
END_TEST

START_TEST(random_operations_match_a_sorted_array_from_a_negative_origin)
{
    run_against_oracle(-700000, 2);
}
END_TEST

/* Sums saturate short of LULL_NEVER: most instants become equal, and order is by arming (RULINGS 1). */
START_TEST(random_operations_match_a_sorted_array_near_the_end_of_time)
{
    run_against_oracle(INT64_MAX - 500, 3);
}
END_TEST

/* ---- case by case */

static struct lull_counters counters;
static struct timerq queue;
static struct lull_timer t[4];

static void setup(void)
{
    memset(&counters, 0, sizeof(counters));
    timerq_init(&queue, NULL, &counters);
    for (size_t i = 0; i < 4; i++) {
        make(&queue, &t[i]);
    }
}

static void teardown(void)
{
    for (size_t i = 0; i < 4; i++) {
        unmake(&queue, &t[i]);
    }
    timerq_fini(&queue);
}

START_TEST(equal_instants_come_out_in_the_order_of_arming)
{
    timerq_arm(&queue, &t[2], lull_at(5));
    timerq_arm(&queue, &t[0], lull_at(5));
    timerq_arm(&queue, &t[1], lull_at(5));
    timerq_arm(&queue, &t[2], lull_at(5)); /* armed again: behind the others now */
    timerq_take_due(&queue, lull_at(5));
    ck_assert_ptr_eq(timerq_next_due(&queue), &t[0]);
    ck_assert_ptr_eq(timerq_next_due(&queue), &t[1]);
    ck_assert_ptr_eq(timerq_next_due(&queue), &t[2]);
    ck_assert_ptr_null(timerq_next_due(&queue));
}
END_TEST

START_TEST(nothing_comes_out_before_its_instant)
{
    timerq_arm(&queue, &t[0], lull_at(10));
    timerq_take_due(&queue, lull_at(9));
    ck_assert_ptr_null(timerq_next_due(&queue));
    ck_assert(timerq_is_armed(&t[0]));
    timerq_take_due(&queue, lull_at(10));
    ck_assert_ptr_eq(timerq_next_due(&queue), &t[0]);
    ck_assert_ptr_null(timerq_next_due(&queue));
}
END_TEST

START_TEST(a_timer_disarmed_during_the_pass_is_not_handed_out)
{
    timerq_arm(&queue, &t[0], lull_at(1));
    timerq_arm(&queue, &t[1], lull_at(2));
    timerq_arm(&queue, &t[2], lull_at(3));
    timerq_take_due(&queue, lull_at(3));
    ck_assert_ptr_eq(timerq_next_due(&queue), &t[0]);
    ck_assert(timerq_is_armed(&t[1]));
    timerq_disarm(&queue, &t[1]);
    ck_assert(!timerq_is_armed(&t[1]));
    ck_assert_ptr_eq(timerq_next_due(&queue), &t[2]);
    ck_assert_ptr_null(timerq_next_due(&queue));
    ck_assert_uint_eq(counters.timer_disarms, 1);
    ck_assert_uint_eq(counters.timer_fires, 2);
}
END_TEST

START_TEST(a_timer_armed_during_the_pass_waits_for_the_next)
{
    timerq_arm(&queue, &t[0], lull_at(1));
    timerq_arm(&queue, &t[1], lull_at(2));
    timerq_take_due(&queue, lull_at(5));
    ck_assert_ptr_eq(timerq_next_due(&queue), &t[0]);
    timerq_arm(&queue, &t[0], lull_at(0)); /* fired, armed for the past */
    timerq_arm(&queue, &t[1], lull_at(0)); /* due, armed again */
    ck_assert_ptr_null(timerq_next_due(&queue));
    ck_assert_int_eq(timerq_earliest(&queue).ns, 0);
    timerq_take_due(&queue, lull_at(5));
    ck_assert_ptr_eq(timerq_next_due(&queue), &t[0]);
    ck_assert_ptr_eq(timerq_next_due(&queue), &t[1]);
    ck_assert_ptr_null(timerq_next_due(&queue));
}
END_TEST

START_TEST(the_first_or_last_due_timer_can_be_disarmed)
{
    for (size_t i = 0; i < 4; i++) {
        timerq_arm(&queue, &t[i], lull_at((int64_t)i));
    }
    timerq_take_due(&queue, lull_at(9));
    timerq_disarm(&queue, &t[0]);
    timerq_disarm(&queue, &t[3]);
    ck_assert_ptr_eq(timerq_next_due(&queue), &t[1]);
    ck_assert_ptr_eq(timerq_next_due(&queue), &t[2]);
    ck_assert_ptr_null(timerq_next_due(&queue));
    ck_assert_uint_eq(counters.timers_armed, 0);
}
END_TEST

START_TEST(a_move_counts_as_one_arm_and_no_disarm)
{
    timerq_arm(&queue, &t[0], lull_at(10));
    timerq_arm(&queue, &t[0], lull_at(5));
    timerq_arm(&queue, &t[0], lull_at(20));
    ck_assert_uint_eq(counters.timer_arms, 3);
    ck_assert_uint_eq(counters.timer_disarms, 0);
    ck_assert_uint_eq(counters.timers_armed, 1);
    ck_assert_int_eq(timerq_earliest(&queue).ns, 20);
    timerq_disarm(&queue, &t[0]);
    timerq_disarm(&queue, &t[0]);
    ck_assert_uint_eq(counters.timer_disarms, 1);
    ck_assert_int_eq(timerq_earliest(&queue).ns, LULL_NEVER);
}
END_TEST

/* C14: live timers one at a time leave a small heap. */
START_TEST(many_reservations_one_after_another_keep_the_queue_small)
{
    struct lull_timer one;
    for (int i = 0; i < (int)test_rounds(100000, 5000); i++) {
        make(&queue, &one);
        timerq_arm(&queue, &one, lull_at(3600000 + i));
        unmake(&queue, &one);
    }
    ck_assert_uint_le(queue.capacity, 64);
    ck_assert_uint_eq(counters.timers_armed, 0);
    ck_assert_uint_eq(counters.allocations, 1);
}
END_TEST

START_TEST(the_queue_grows_by_doubling_and_shrinks_after_a_peak)
{
    enum { PEAK = 20000 };
    struct lull_timer *many = calloc(PEAK, sizeof(*many));
    ck_assert_ptr_nonnull(many);
    for (int i = 0; i < PEAK; i++) {
        make(&queue, &many[i]);
        timerq_arm(&queue, &many[i], lull_at(PEAK - i));
    }
    MUST(queue.capacity == 32768);
    for (int i = 0; i < PEAK; i++) {
        MUST(timerq_earliest(&queue).ns == 1);
        unmake(&queue, &many[i]);
    }
    MUST(queue.capacity < 8192);
    for (int i = 0; i < 10000; i++) {
        make(&queue, &many[0]);
        unmake(&queue, &many[0]);
    }
    MUST(queue.capacity <= 64);
    free(many);
}
END_TEST

START_TEST(a_burst_that_comes_and_goes_takes_no_memory_each_time)
{
    struct lull_timer burst[100];
    uint64_t after_first = 0;
    for (int round = 0; round < 1000; round++) {
        for (int i = 0; i < 100; i++) {
            make(&queue, &burst[i]);
        }
        for (int i = 0; i < 100; i++) {
            unmake(&queue, &burst[i]);
        }
        if (round == 0) {
            after_first = counters.allocations;
        }
    }
    ck_assert_uint_eq(counters.allocations, after_first);
}
END_TEST

START_TEST(trim_keeps_what_is_reserved_and_armed)
{
    struct lull_timer burst[100];
    for (int i = 0; i < 100; i++) {
        make(&queue, &burst[i]);
    }
    timerq_arm(&queue, &t[1], lull_at(7));
    timerq_arm(&queue, &t[3], lull_at(6));
    for (int i = 0; i < 100; i++) {
        unmake(&queue, &burst[i]);
    }
    ck_assert_uint_eq(queue.capacity, 128);
    timerq_trim(&queue);
    ck_assert_uint_eq(queue.capacity, TIMERQ_SLOTS_MIN);
    timerq_take_due(&queue, lull_at(7));
    ck_assert_ptr_eq(timerq_next_due(&queue), &t[3]);
    ck_assert_ptr_eq(timerq_next_due(&queue), &t[1]);
    ck_assert_ptr_null(timerq_next_due(&queue));
}
END_TEST

/* ---- no memory */

struct miser {
    struct lull_allocator allocator;
    bool is_empty;
    int64_t in_use;
};

static void *miser_alloc(void *ctx, size_t size)
{
    struct miser *m = ctx;
    if (m->is_empty) {
        return NULL;
    }
    m->in_use++;
    return malloc(size);
}

static void *miser_resize(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    return realloc(memory, size);
}

static void miser_release(void *ctx, void *memory)
{
    struct miser *m = ctx;
    m->in_use -= memory != NULL;
    free(memory);
}

START_TEST(only_reserving_can_fail_and_then_nothing_has_changed)
{
    struct miser m = {{miser_alloc, miser_resize, miser_release, NULL}, false, 0};
    struct lull_timer made[TIMERQ_SLOTS_MIN];
    struct timerq poor;
    m.allocator.ctx = &m;
    timerq_init(&poor, &m.allocator, &counters);
    for (size_t i = 0; i < TIMERQ_SLOTS_MIN; i++) {
        make(&poor, &made[i]);
    }
    m.is_empty = true;
    ck_assert_int_eq(timerq_reserve(&poor), LULL_RC_NOMEM);
    ck_assert_uint_eq(poor.reserved, TIMERQ_SLOTS_MIN);
    for (size_t i = 0; i < TIMERQ_SLOTS_MIN; i++) {
        timerq_arm(&poor, &made[i], lull_at(-(int64_t)i));
    }
    ck_assert_int_eq(timerq_earliest(&poor).ns, -(int64_t)(TIMERQ_SLOTS_MIN - 1));
    for (size_t i = 0; i < TIMERQ_SLOTS_MIN; i++) {
        unmake(&poor, &made[i]);
    }
    timerq_trim(&poor); /* down to nothing: needs no memory */
    ck_assert_int_eq(m.in_use, 0);
    timerq_fini(&poor);
}
END_TEST

START_TEST(children_share_a_cache_line)
{
    ck_assert_uint_eq(sizeof(struct timerq_entry) * 4, 64);
    ck_assert_uint_eq((uintptr_t)&queue.heap[1] % 64, 0);
}
END_TEST

static Suite *timerq_suite(void)
{
    Suite *suite = suite_create("time/timerq");
    TCase *oracle = tcase_create("oracle");
    TCase *cases = tcase_create("cases");
    tcase_set_timeout(oracle, 300);
    tcase_add_test(oracle, random_operations_match_a_sorted_array_from_zero);
    tcase_add_test(oracle, random_operations_match_a_sorted_array_from_a_negative_origin);
    tcase_add_test(oracle, random_operations_match_a_sorted_array_near_the_end_of_time);
    suite_add_tcase(suite, oracle);
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, equal_instants_come_out_in_the_order_of_arming);
    tcase_add_test(cases, nothing_comes_out_before_its_instant);
    tcase_add_test(cases, a_timer_disarmed_during_the_pass_is_not_handed_out);
    tcase_add_test(cases, a_timer_armed_during_the_pass_waits_for_the_next);
    tcase_add_test(cases, the_first_or_last_due_timer_can_be_disarmed);
    tcase_add_test(cases, a_move_counts_as_one_arm_and_no_disarm);
    tcase_add_test(cases, many_reservations_one_after_another_keep_the_queue_small);
    tcase_add_test(cases, the_queue_grows_by_doubling_and_shrinks_after_a_peak);
    tcase_add_test(cases, a_burst_that_comes_and_goes_takes_no_memory_each_time);
    tcase_add_test(cases, trim_keeps_what_is_reserved_and_armed);
    tcase_add_test(cases, only_reserving_can_fail_and_then_nothing_has_changed);
    tcase_add_test(cases, children_share_a_cache_line);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("timerq", timerq_suite)
