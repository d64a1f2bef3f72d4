/* SPDX-License-Identifier: MIT */
/*
 * src/policy/ping_police.c against lull's own client, src/policy/keepalive.c: who pings how often,
 * and who is thrown out when. The server sends nothing in any of these.
 */
#include "policy/ping_police.h"

#include "lull/keepalive.h"

#include "tests/support/check_main.h"
#include "tests/support/must.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define MS(x)       ((x)*LULL_MS)
#define MINUTE      (60 * LULL_SECOND)
#define HOUR        (60 * MINUTE)

static struct ping_police_options options_of(int64_t permit_ns, int max_strikes, bool without_calls)
{
    struct ping_police_options options;
    ping_police_options_init(&options);
    options.permit_ns = permit_ns;
    options.max_strikes = max_strikes;
    options.permit_without_calls = without_calls;
    return options;
}

/* lull's own client on a wire that acks at once: how many pings it sends in `for_ns`, and when the
 * police ended it (-1: not). */
struct client {
    int64_t time_ns;
    int64_t timeout_ns;
    bool without_calls;
    bool has_stream;
};

static int duel(struct client client, struct ping_police_options server, int64_t for_ns,
                int64_t *ended_ns)
{
    struct lull_keepalive_options options;
    struct lull_keepalive keepalive;
    struct ping_police police;
    lull_keepalive_options_init(&options);
    options.time_ns = client.time_ns;
    options.timeout_ns = client.timeout_ns;
    options.without_calls = client.without_calls;
    options.allow_short_timers = true;
    ck_assert_int_eq(lull_keepalive_init(&keepalive, &options), LULL_OK);
    ping_police_init(&police, &server);
    lull_keepalive_on_transport_opened(&keepalive, lull_at(0));
    if (client.has_stream) {
        lull_keepalive_on_stream_opened(&keepalive, lull_at(0));
        ping_police_on_stream_opened(&police);
    }
    int pings = 0;
    *ended_ns = -1;
    for (;;) {
        struct lull_instant now = lull_keepalive_next_at(&keepalive);
        if (now.ns > for_ns) {
            return pings;
        }
        MUST_MSG(lull_keepalive_on_timer(&keepalive, now).action == LULL_KEEPALIVE_SEND_PING,
                 "at %lld: no ping", (long long)now.ns);
        pings++;
        if (ping_police_on_ping(&police, now) == PING_POLICE_CLOSE) {
            *ended_ns = now.ns;
            return pings;
        }
        lull_keepalive_on_ping_acked(&keepalive, now);
    }
}

struct duel_row {
    const char *scenario;
    struct client client;
    int64_t permit_ns;
    bool permit_without_calls;
    int pings;
    int64_t ended_ms; /* -1: alive after 500 ms */
};

/* scenarios 120, 122, 124, 125, 126, 128. */
START_TEST(own_client_against_own_police)
{
    const struct duel_row rows[] = {
        {"120", {MS(10), MS(10), false, false}, 5 * MINUTE, false, 0, -1},
        {"122, calls", {MS(55), MS(1000), true, true}, MS(50), true, 9, -1},
        {"122, no calls", {MS(55), MS(1000), true, false}, MS(50), true, 9, -1},
        {"124", {MS(20), MS(100), true, false}, MS(1000), false, 4, 80},
        {"125", {MS(50), MS(100), false, true}, MS(1000), false, 4, 200},
        {"126", {MS(50), MS(1000), true, false}, MS(40), true, 10, -1},
        {"126, to the nanosecond", {MS(50), MS(1000), true, false}, MS(50), true, 10, -1},
        {"128", {MS(10), MS(10), false, false}, MS(100), false, 0, -1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t ended_ns = 0;
        int pings =
            duel(rows[i].client, options_of(rows[i].permit_ns, 2, rows[i].permit_without_calls),
                 MS(500), &ended_ns);
        int64_t want_ns = rows[i].ended_ms < 0 ? -1 : MS(rows[i].ended_ms);
        ck_assert_msg(pings == rows[i].pings, "%s: %d pings", rows[i].scenario, pings);
        ck_assert_msg(ended_ns == want_ns, "%s: ended at %lld", rows[i].scenario,
                      (long long)ended_ns);
    }
}
END_TEST

/* scenario 136, without its calls of 15 s: a server of 5 s and 1 strike teaches 1 s to become 8 s.
 * At 4 s it takes until 16 s, as every other ping is valid. */
START_TEST(client_that_doubles_comes_to_rest)
{
    const int64_t ended_s[] = {3, 6, 16, -1};
    struct lull_keepalive_interval interval;
    lull_keepalive_interval_init(&interval, LULL_SECOND, true);
    for (size_t i = 0; i < COUNT(ended_s); i++) {
        int64_t time_ns = lull_keepalive_interval_ns(&interval, lull_at(0));
        struct client client = {time_ns, LULL_SECOND, false, true};
        int64_t ended_ns = 0;
        duel(client, options_of(5 * LULL_SECOND, 1, false), HOUR, &ended_ns);
        ck_assert_int_eq(time_ns, LULL_SECOND << i);
        ck_assert_int_eq(ended_ns, ended_s[i] < 0 ? -1 : ended_s[i] * LULL_SECOND);
        if (ended_ns >= 0) {
            lull_keepalive_interval_on_too_many_pings(&interval, time_ns, lull_at(0));
        }
    }
}
END_TEST

static Suite *ping_police_duel_suite(void)
{
    Suite *suite = suite_create("ping_police_duel");
    TCase *tc = tcase_create("ping_police_duel");
    tcase_add_test(tc, own_client_against_own_police);
    tcase_add_test(tc, client_that_doubles_comes_to_rest);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("ping_police_duel", ping_police_duel_suite)
