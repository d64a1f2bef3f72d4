/* SPDX-License-Identifier: MIT */
/*
 * src/policy/deadline.c: the coding tables; a table with a row for each line of the attempt
 * timeouts' order; random walks of one call against an oracle that looks at every instant.
 */
#include "policy/deadline.h"

#include "tests/support/check_main.h"
#include "tests/support/must.h"

#include <string.h>

#define NEVER       LULL_NEVER
#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* scenario 205, pain-case C13 */
START_TEST(timeout_is_written_rounded_up_in_the_smallest_unit_that_fits)
{
    const struct {
        int64_t ns;
        const char *text;
    } rows[] = {
        {INT64_MIN, "1n"},
        {-1, "1n"},
        {0, "1n"},
        {1, "1n"},
        {99999999, "99999999n"},
        {100000000, "100000u"},
        {100000001, "100001u"},
        {123456789, "123457u"},
        {INT64_C(99999999) * LULL_US, "99999999u"},
        {INT64_C(99999999) * LULL_US + 1, "100000m"},
        {INT64_C(1234) * LULL_MS, "1234000u"},
        {3600 * LULL_SECOND, "3600000m"},
        {INT64_C(99999999) * LULL_MS, "99999999m"},
        {INT64_C(99999999) * LULL_MS + 1, "100000S"},
        {INT64_C(99999999) * LULL_SECOND, "99999999S"},
        {INT64_C(99999999) * LULL_SECOND + 1, "1666667M"},
        {INT64_C(123456789) * LULL_SECOND, "2057614M"},
        {INT64_C(99999999) * 60 * LULL_SECOND, "99999999M"},
        {INT64_C(99999999) * 60 * LULL_SECOND + 1, "1666667H"},
        {INT64_MAX - 1, "2562048H"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[DEADLINE_TEXT_BYTES];
        size_t len = deadline_encode(rows[i].ns, text);
        ck_assert_str_eq(text, rows[i].text);
        ck_assert_uint_eq(len, strlen(rows[i].text));
    }
}
END_TEST

START_TEST(no_deadline_writes_no_timeout)
{
    char text[DEADLINE_TEXT_BYTES] = "x";
    ck_assert_uint_eq(deadline_encode(LULL_NEVER, text), 0);
    ck_assert_str_eq(text, "");
}
END_TEST

/* scenario 206 */
START_TEST(timeout_is_read)
{
    const struct {
        const char *text;
        int64_t ns;
    } rows[] = {
        {"1234S", 1234 * LULL_SECOND},
        {"00000001n", 1},
        {"0S", 0},
        {"1n", 1},
        {"2u", 2 * LULL_US},
        {"3m", 3 * LULL_MS},
        {"4M", 240 * LULL_SECOND},
        {"5H", 18000 * LULL_SECOND},
        {"99999999n", 99999999},
        {"2562047H", INT64_C(2562047) * 3600 * LULL_SECOND},
        {"2562048H", LULL_NEVER - 1},
        {"99999999H", LULL_NEVER - 1},
        {"99999999M", INT64_C(99999999) * 60 * LULL_SECOND},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t ns = -7;
        ck_assert_msg(deadline_decode(rows[i].text, strlen(rows[i].text), &ns), "%s", rows[i].text);
        ck_assert_msg(ns == rows[i].ns, "%s: %lld", rows[i].text, (long long)ns);
    }
}
END_TEST

/* scenario 206 */
START_TEST(malformed_timeout_is_refused)
{
    const char *const bad[] = {"",    "S",   "1",   "123456789S", "1s",   "-1S",  "+1S",
                               " 1S", "1 S", "1S ", "1.5S",       "1SS",  "0x1S", "1h",
                               "1U",  "1N",  "SS",  "12345678",   "1\xc3"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        int64_t ns = -7;
        ck_assert_msg(!deadline_decode(bad[i], strlen(bad[i]), &ns), "%s", bad[i]);
        ck_assert_int_eq(ns, -7);
    }
    int64_t ns = -7;
    ck_assert(!deadline_decode("1\0S", 3, &ns)); /* a NUL is a byte like any other */
    ck_assert(!deadline_decode("1S", 1, &ns));
    ck_assert(!deadline_decode("1\0", 2, &ns));
}
END_TEST

START_TEST(what_is_written_reads_back_never_shorter_and_hardly_longer)
{
    uint64_t state = 1;
    for (int i = 0; i < 200000; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int64_t ns = (int64_t)((state >> 1) >> (state % 63));
        if (ns < 1 || ns == LULL_NEVER) {
            continue;
        }
        char text[DEADLINE_TEXT_BYTES];
        int64_t back = 0;
        size_t len = deadline_encode(ns, text);
        MUST_MSG(len <= 9, "%s", text);
        MUST_MSG(deadline_decode(text, len, &back), "%s", text);
        MUST_MSG(back >= ns, "%lld became %s", (long long)ns, text);
        /* The next unit is taken when the value has six digits in it: less than 1 in 100 000 is
         * added. */
        MUST_MSG(back - ns <= ns / 99999 + 1, "%lld became %s", (long long)ns, text);
    }
}
END_TEST

START_TEST(call_has_the_last_word_on_its_window)
{
    ck_assert_int_eq(deadline_window_of(5, 0), 5);
    ck_assert_int_eq(deadline_window_of(5, 9), 9);
    ck_assert_int_eq(deadline_window_of(5, 3), 3);
    ck_assert_int_eq(deadline_window_of(5, LULL_NEVER), LULL_NEVER);
    ck_assert_int_eq(deadline_window_of(0, 0), 0);
}
END_TEST

/* RULINGS 15 */
START_TEST(window_that_cannot_matter_costs_no_early_entry)
{
    const struct {
        int64_t deadline_at, window, first_at;
        bool has_window;
    } rows[] = {
        {1000, 0, 1000, false},
        {1000, -1, 1000, false},
        {1000, NEVER, 1000, false},
        {1000, 900, 1000, false},
        {1000, 901, 1000, false},
        {1000, 899, 999, true},
        {1000, 1, 101, true},
        {NEVER, 0, NEVER, false},
        {NEVER, NEVER, NEVER, false},
        {NEVER, 50, 150, true},
        {NEVER, NEVER - 1, NEVER, true},
        {100, 1, 100, false},
        {INT64_MIN, 1, INT64_MIN, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct deadline d;
        struct lull_instant first =
            deadline_init(&d, lull_at(100), lull_at(rows[i].deadline_at), rows[i].window);
        ck_assert_msg(first.ns == rows[i].first_at, "row %zu: %lld", i, (long long)first.ns);
        ck_assert_msg(deadline_has_window(&d) == rows[i].has_window, "row %zu", i);
    }
}
END_TEST

START_TEST(what_is_left_is_read_and_never_negative)
{
    struct deadline d;
    deadline_init(&d, lull_at(0), lull_at(100), 0);
    ck_assert_int_eq(deadline_left_ns(&d, lull_at(40)), 60);
    ck_assert_int_eq(deadline_left_ns(&d, lull_at(100)), 0);
    ck_assert_int_eq(deadline_left_ns(&d, lull_at(101)), 0);
    deadline_init(&d, lull_at(0), lull_at(INT64_MIN),
                  0); /* pain-case C13: a timeout of INT64_MIN */
    ck_assert_int_eq(deadline_left_ns(&d, lull_at(0)), 0);
    deadline_init(&d, lull_at(0), lull_at(NEVER), 0);
    ck_assert_int_eq(deadline_left_ns(&d, lull_at(40)), NEVER);
}
END_TEST

/* RULINGS 16, a row a line, in its order; window 100. */
#define DONE   1
#define PAUSED 2
#define OPEN   4

START_TEST(firing_is_judged_in_the_ruled_order)
{
    const struct {
        int64_t now, deadline_at, window, last_byte_at;
        int flags;
        enum deadline_action action;
        int64_t next_at;
    } rows[] = {
        /* done: nothing, whatever else is true (an attempt that is over has closed its window: not open) */
        {1000, 1000, 100, 0, DONE | OPEN, DEADLINE_NOTHING, NEVER},
        {1000, 2000, 100, 0, DONE | OPEN, DEADLINE_NOTHING, NEVER},
        {1000, 2000, 100, 0, DONE | OPEN | PAUSED, DEADLINE_NOTHING, NEVER},
        /* the deadline, even when the window is past, paused or closed */
        {1000, 1000, 100, 0, OPEN, DEADLINE_REACHED, NEVER},
        {1001, 1000, 100, 0, OPEN | PAUSED, DEADLINE_REACHED, NEVER},
        {1000, 1000, 100, 0, 0, DEADLINE_REACHED, NEVER},
        {1000, 1000, NEVER, 0, 0, DEADLINE_REACHED, NEVER},
        /* early for a deadline alone */
        {999, 1000, NEVER, 0, OPEN, DEADLINE_REARM, 1000},
        {999, NEVER, NEVER, 0, OPEN, DEADLINE_NOTHING, NEVER},
        /* paused: a whole window, not past the deadline */
        {500, 1000, 100, 0, OPEN | PAUSED, DEADLINE_REARM, 600},
        {950, 1000, 100, 0, OPEN | PAUSED, DEADLINE_REARM, 1000},
        {500, NEVER, 100, 0, PAUSED, DEADLINE_REARM, 600},
        /* not open: on to the deadline */
        {500, 1000, 100, 0, 0, DEADLINE_REARM, 1000},
        {500, NEVER, 100, 0, 0, DEADLINE_NOTHING, NEVER},
        /* past */
        {500, 1000, 100, 400, OPEN, DEADLINE_READ_TIMEOUT, NEVER},
        {900, 1000, 100, 400, OPEN, DEADLINE_READ_TIMEOUT, NEVER},
        {500, NEVER, 100, 400, OPEN, DEADLINE_READ_TIMEOUT, NEVER},
        /* the rest of the window, not past the deadline */
        {500, 1000, 100, 401, OPEN, DEADLINE_REARM, 501},
        {500, 1000, 100, 500, OPEN, DEADLINE_REARM, 600},
        {950, 1000, 100, 940, OPEN, DEADLINE_REARM, 1000},
        {950, NEVER, 100, 940, OPEN, DEADLINE_REARM, 1040},
        /* the same before the clock's origin, and where sums saturate (RULINGS 1): never early */
        {-500, -400, 100, -550, OPEN, DEADLINE_REARM, -450},
        {-500, -400, 100, -600, OPEN, DEADLINE_READ_TIMEOUT, NEVER},
        {-400, -400, 100, -450, OPEN, DEADLINE_REACHED, NEVER},
        {INT64_MAX - 5, NEVER, 100, INT64_MAX - 10, OPEN, DEADLINE_NOTHING, NEVER},
        {INT64_MAX - 5, NEVER, 100, 0, OPEN | PAUSED, DEADLINE_NOTHING, NEVER},
        {INT64_MAX - 5, INT64_MAX - 1, 100, INT64_MAX - 10, OPEN, DEADLINE_REARM, INT64_MAX - 1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct deadline d;
        deadline_init(&d, lull_at(0), lull_at(NEVER), rows[i].window);
        d.deadline_at = lull_at(rows[i].deadline_at);
        d.last_byte_at = lull_at(rows[i].last_byte_at);
        d.is_done = rows[i].flags & DONE;
        d.is_paused = rows[i].flags & PAUSED;
        d.is_window_open = rows[i].flags & OPEN;
        struct deadline_step step = deadline_on_timer(&d, lull_at(rows[i].now));
        ck_assert_msg(step.action == rows[i].action, "row %zu: action %d", i, (int)step.action);
        ck_assert_msg(step.next_at.ns == rows[i].next_at, "row %zu: next_at %lld", i,
                      (long long)step.next_at.ns);
    }
}
END_TEST

/* RULINGS 16: one re-arm a fire at most, capped by a window (once it is open or paused) and by the deadline; all 8 mixtures of facts. */
START_TEST(whatever_is_true_a_firing_rearms_once_and_within_its_caps)
{
    for (int i = 0; i < 8 * 40 * 40; i++) {
        const int64_t now = i / 8 % 40 * 10, last_byte_at = now - i / 320 * 5;
        struct deadline d;
        deadline_init(&d, lull_at(0), lull_at(NEVER), 100);
        d.deadline_at = lull_at(i % 3 == 0 ? NEVER : 250);
        d.last_byte_at = lull_at(last_byte_at);
        d.is_done = (i & DONE) != 0;
        d.is_paused = (i & PAUSED) != 0;
        d.is_window_open = (i & OPEN) != 0;
        const struct deadline_step step = deadline_on_timer(&d, lull_at(now));
        if (step.action != DEADLINE_REARM) {
            MUST_MSG(step.next_at.ns == NEVER, "mixture %d", i);
            continue;
        }
        MUST_MSG((i & DONE) == 0 && step.next_at.ns > now, "mixture %d", i);
        MUST_MSG(step.next_at.ns <= d.deadline_at.ns, "mixture %d", i);
        MUST_MSG((i & (PAUSED | OPEN)) == 0 || step.next_at.ns <= now + 100, "mixture %d", i);
    }
}
END_TEST

/* RULINGS 14: it opens when the request is out, not with what comes before; each HEADERS or DATA opens a whole one again. */
START_TEST(bytes_before_the_opening_do_not_open_it_and_later_ones_reopen_it)
{
    struct deadline d;
    deadline_init(&d, lull_at(0), lull_at(1000), 100);
    deadline_on_byte(&d, lull_at(10));
    ck_assert_int_eq(deadline_on_timer(&d, lull_at(200)).next_at.ns, 1000);
    ck_assert_int_eq(deadline_on_window_opened(&d, lull_at(210)).ns, 310);
    deadline_on_byte(&d, lull_at(300));
    ck_assert_int_eq(deadline_on_timer(&d, lull_at(310)).next_at.ns, 400);
    deadline_on_byte(&d, lull_at(400)); /* earlier in the turn of the firing: it counts */
    ck_assert_int_eq(deadline_on_timer(&d, lull_at(400)).next_at.ns, 500);
    ck_assert_int_eq(deadline_on_timer(&d, lull_at(500)).action, DEADLINE_READ_TIMEOUT);
}
END_TEST

START_TEST(pause_held_through_ten_windows_is_reported_once)
{
    struct deadline d;
    deadline_init(&d, lull_at(0), lull_at(NEVER), 100);
    deadline_on_window_opened(&d, lull_at(0));
    for (int round = 0; round < 2; round++) {
        int reports = 0;
        deadline_on_paused(&d);
        for (int i = 1; i <= 40; i++) {
            struct deadline_step step = deadline_on_timer(&d, lull_at(100 * i));
            ck_assert_int_eq(step.action, DEADLINE_REARM);
            ck_assert_msg(step.report_pause == (i == 10), "window %d", i);
            reports += step.report_pause;
        }
        ck_assert_int_eq(reports, 1);
        deadline_on_resumed(&d, lull_at(4000)); /* the next pause may be reported again */
    }
}
END_TEST

START_TEST(resume_starts_a_whole_window_and_leaves_the_last_byte_alone)
{
    struct deadline d;
    deadline_init(&d, lull_at(0), lull_at(NEVER), 100);
    deadline_on_window_opened(&d, lull_at(0));
    deadline_on_byte(&d, lull_at(10));
    deadline_on_paused(&d);
    deadline_on_resumed(&d, lull_at(95));
    struct deadline_step step = deadline_on_timer(&d, lull_at(110));
    ck_assert_int_eq(step.action, DEADLINE_REARM);
    ck_assert_int_eq(step.next_at.ns, 195);
    deadline_on_resumed(&d, lull_at(150)); /* not paused: nothing */
    ck_assert_int_eq(d.last_byte_at.ns, 10);
    ck_assert_int_eq(deadline_on_timer(&d, lull_at(195)).action, DEADLINE_READ_TIMEOUT);
}
END_TEST

START_TEST(opening_in_time_needs_no_arm_and_a_late_one_names_its_instant)
{
    struct deadline d;
    struct lull_instant first = deadline_init(&d, lull_at(0), lull_at(1000), 100);
    struct lull_instant wanted = deadline_on_window_opened(&d, lull_at(30));
    ck_assert(!lull_instant_before(wanted, first));
    ck_assert_int_eq(deadline_on_timer(&d, first).next_at.ns, 130);

    deadline_init(&d, lull_at(0), lull_at(1000), 100);
    ck_assert_int_eq(deadline_on_timer(&d, first).next_at.ns,
                     1000); /* queued: the entry goes on to the deadline */
    ck_assert_int_eq(deadline_on_window_opened(&d, lull_at(400)).ns, 500);
    ck_assert_int_eq(deadline_on_window_opened(&d, lull_at(950)).ns, 1000);
}
END_TEST

/* RULINGS 17 */
START_TEST(an_attempt_that_is_over_closes_the_window_and_keeps_the_entry)
{
    struct deadline d;
    deadline_init(&d, lull_at(0), lull_at(1000), 100);
    deadline_on_window_opened(&d, lull_at(0));
    deadline_on_attempt_over(&d);
    struct deadline_step step = deadline_on_timer(&d, lull_at(100));
    ck_assert_int_eq(step.action, DEADLINE_REARM);
    ck_assert_int_eq(step.next_at.ns, 1000);
    deadline_on_window_opened(&d, lull_at(200));
    ck_assert_int_eq(deadline_on_timer(&d, lull_at(300)).action, DEADLINE_READ_TIMEOUT);
}
END_TEST

/* One call of random facts, asked only when its entry fires, against every instant looked at in
 * turn. */
struct naive {
    int64_t deadline, window, quiet_from;
    bool open, paused;
};

static enum deadline_action look(const struct naive *n, int64_t now)
{
    if (now >= n->deadline) {
        return DEADLINE_REACHED;
    }
    bool past = n->window > 0 && n->open && !n->paused && now >= n->quiet_from + n->window;
    return past ? DEADLINE_READ_TIMEOUT : DEADLINE_NOTHING;
}

static void happen(uint32_t roll, struct naive *n, struct deadline *d, int64_t now,
                   int64_t *entry_at)
{
    if (roll < 2 && !n->open) {
        n->open = true;
        n->quiet_from = now;
        int64_t wanted = deadline_on_window_opened(d, lull_at(now)).ns;
        *entry_at = wanted < *entry_at ? wanted : *entry_at;
    } else if (roll < 5 && n->open) {
        n->quiet_from = now;
        deadline_on_byte(d, lull_at(now));
    } else if (roll == 5) {
        n->paused = true;
        deadline_on_paused(d);
    } else if (roll < 8 && n->paused) {
        n->paused = false;
        n->quiet_from = now;
        deadline_on_resumed(d, lull_at(now));
    } else if (roll == 8) {
        n->open = false;
        deadline_on_attempt_over(d);
    }
}

static enum deadline_action walk(uint32_t seed)
{
    uint32_t state = seed * 2654435761U;
    struct naive n = {0, 0, 0, false, false};
    n.deadline = seed % 5 == 0 ? NEVER : 100 + seed % 900;
    n.window = (int64_t)(seed % 7) * 20;
    struct deadline d;
    int64_t entry_at = deadline_init(&d, lull_at(0), lull_at(n.deadline), n.window).ns;
    for (int64_t now = 1; now < 1200; now++) {
        state = state * UINT32_C(1664525) + UINT32_C(1013904223);
        happen((state >> 16) % 120, &n, &d, now, &entry_at);
        enum deadline_action got = DEADLINE_NOTHING;
        if (entry_at <= now) {
            struct deadline_step step = deadline_on_timer(&d, lull_at(now));
            got = step.action == DEADLINE_REARM ? DEADLINE_NOTHING : step.action;
            MUST_MSG(step.next_at.ns > now, "seed %u at %lld", seed, (long long)now);
            entry_at = step.next_at.ns;
        }
        enum deadline_action want = look(&n, now);
        MUST_MSG(got == want, "seed %u at %lld: %d, not %d", seed, (long long)now, (int)got,
                 (int)want);
        if (got != DEADLINE_NOTHING) {
            return got;
        }
    }
    return DEADLINE_NOTHING;
}

START_TEST(random_walks_agree_with_looking_all_the_time)
{
    int ends[4] = {0};
    for (uint32_t seed = 1; seed <= 3000; seed++) {
        ends[walk(seed)]++;
    }
    ck_assert_int_gt(ends[DEADLINE_NOTHING], 50);
    ck_assert_int_gt(ends[DEADLINE_REACHED], 200);
    ck_assert_int_gt(ends[DEADLINE_READ_TIMEOUT], 200);
}
END_TEST

START_TEST(a_whole_window_later_is_told_from_the_rest_of_one)
{
    struct deadline d;
    (void)deadline_init(&d, lull_at(-50), lull_at(1000), 100);
    ck_assert(deadline_is_window_later(&d, lull_at(-50), lull_at(50)));
    ck_assert(!deadline_is_window_later(&d, lull_at(-50), lull_at(49)));
    ck_assert(!deadline_is_window_later(&d, lull_at(-49), lull_at(50)));
    /* Instants so far apart that their difference is no duration. */
    ck_assert(!deadline_is_window_later(&d, lull_at(INT64_MIN), lull_at(LULL_NEVER - 1)));
    ck_assert(!deadline_is_window_later(&d, lull_at(INT64_MIN + 100), lull_at(0)));
}
END_TEST

static Suite *deadline_suite(void)
{
    Suite *suite = suite_create("deadline");
    TCase *tc = tcase_create("deadline");
    tcase_add_test(tc, a_whole_window_later_is_told_from_the_rest_of_one);
    tcase_add_test(tc, timeout_is_written_rounded_up_in_the_smallest_unit_that_fits);
    tcase_add_test(tc, no_deadline_writes_no_timeout);
    tcase_add_test(tc, timeout_is_read);
    tcase_add_test(tc, malformed_timeout_is_refused);
    tcase_add_test(tc, what_is_written_reads_back_never_shorter_and_hardly_longer);
    tcase_add_test(tc, call_has_the_last_word_on_its_window);
    tcase_add_test(tc, window_that_cannot_matter_costs_no_early_entry);
    tcase_add_test(tc, what_is_left_is_read_and_never_negative);
    tcase_add_test(tc, firing_is_judged_in_the_ruled_order);
    tcase_add_test(tc, whatever_is_true_a_firing_rearms_once_and_within_its_caps);
    tcase_add_test(tc, bytes_before_the_opening_do_not_open_it_and_later_ones_reopen_it);
    tcase_add_test(tc, pause_held_through_ten_windows_is_reported_once);
    tcase_add_test(tc, resume_starts_a_whole_window_and_leaves_the_last_byte_alone);
    tcase_add_test(tc, opening_in_time_needs_no_arm_and_a_late_one_names_its_instant);
    tcase_add_test(tc, an_attempt_that_is_over_closes_the_window_and_keeps_the_entry);
    tcase_add_test(tc, random_walks_agree_with_looking_all_the_time);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("deadline", deadline_suite)
