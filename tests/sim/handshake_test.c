/* SPDX-License-Identifier: MIT */
/*
 * Where an attempt to connect over TLS is stuck, as the call's line tells it (C17).
 */
#include <string.h>

#include "lull/credentials.h"
#include "tests/sim/life.h"
#include "tests/support/certs.h"
#include "tests/support/check_main.h"

static struct life life;
static struct lull_credentials *credentials;

static void hear_nothing(struct endpoint *endpoint, unsigned ready)
{
    (void)ready;
    ck_assert_int_eq(endpoint_want(endpoint, LULL_WANT_NONE), 0);
}

/* Accepts, and never says a word. */
static void accept_and_hang(struct sim *sim, struct endpoint *far_end, void *ctx)
{
    struct endpoint **held = ctx;
    (void)sim;
    *held = far_end;
    far_end->on_ready = hear_nothing;
    far_end->owner = NULL;
    ck_assert_int_eq(endpoint_want(far_end, LULL_WANT_NONE), 0);
}

static struct endpoint *held;

static void begin(int64_t connect_after_ns)
{
    struct lull_credentials_options options;
    struct cert *ca = cert_ca("lull test", 1800000000);
    life_begin(&life, 7);
    held = NULL;
    life.host->accept = accept_and_hang;
    life.host->ctx = &held;
    life.host->connect_after_ns = connect_after_ns;
    lull_credentials_options_init(&options);
    options.ca_pem = cert_pem(ca);
    ck_assert_int_eq(lull_credentials_new(&options, &credentials, NULL), LULL_OK);
    cert_free(ca);
    life.options.credentials = credentials;
    life_open(&life);
}

static void end(void)
{
    if (held != NULL) {
        ck_assert_int_eq(lull_executor_enter(life.sim.peers), LULL_OK);
        endpoint_close(held);
        lull_executor_leave(life.sim.peers);
    }
    life_end(&life);
    lull_credentials_unref(credentials);
}

static void expect_line(const struct life_call *call, const char *part)
{
    ck_assert_msg(strstr(call->line, part) != NULL, "no \"%s\" in \"%s\"", part, call->line);
}

/* C17: connected at 700 ms, no byte of a ServerHello by the deadline */
START_TEST(stuck_in_the_handshake_says_so_and_how_long)
{
    struct life_call call;
    begin(MS(700));
    life_call(&life, &call, MS(1000), false);
    life_at(&life, MS(1000) - 1);
    ck_assert_uint_eq(call.done, 0);
    sim_advance(&life.sim, 1);
    life_expect_call(&call, LULL_CODE_DEADLINE_EXCEEDED, MS(1000));
    expect_line(&call, "in the TLS handshake with 10.0.0.1:80 (attempt 1 under way)");
    expect_line(&call, "[connecting 700 ms, handshake 300 ms]");
    end();
}
END_TEST

/* One that comes while the handshake is under way waits for the handshake from the start. */
START_TEST(a_call_that_comes_within_the_handshake_says_the_same)
{
    struct life_call first;
    struct life_call second;
    begin(MS(700));
    life_call(&life, &first, LULL_NEVER, false);
    life_at(&life, MS(800));
    life_call(&life, &second, MS(100), false);
    life_at(&life, MS(900));
    life_expect_call(&second, LULL_CODE_DEADLINE_EXCEEDED, MS(900));
    expect_line(&second, "in the TLS handshake with 10.0.0.1:80 (attempt 1 under way)");
    lull_call_cancel(first.handle);
    sim_settle(&life.sim);
    expect_line(&first, "cancelled by the application while in the TLS handshake with 10.0.0.1:80");
    end();
}
END_TEST

/* C17, the variant with TLS: nobody answered the connect yet */
START_TEST(stuck_before_the_handshake_is_stuck_in_the_connect)
{
    struct life_call call;
    begin(LULL_NEVER);
    life_call(&life, &call, MS(1000), false);
    life_at(&life, MS(1000));
    life_expect_call(&call, LULL_CODE_DEADLINE_EXCEEDED, MS(1000));
    expect_line(&call, "connecting to 10.0.0.1:80 (attempt 1 under way)");
    end();
}
END_TEST

/* Without a deadline the attempt's own limit ends it, and the failure says what was not over. */
START_TEST(the_attempts_limit_names_the_handshake_too)
{
    struct life_call call;
    begin(MS(700));
    life_call(&life, &call, LULL_NEVER, false);
    life_at(&life, MS(20000));
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(20000));
    expect_line(&call, "the TLS handshake was not over within 20 s");
    end();
}
END_TEST

static Suite *handshake_suite(void)
{
    Suite *suite = suite_create("sim/handshake");
    TCase *tcase = tcase_create("handshake");
    tcase_add_test(tcase, stuck_in_the_handshake_says_so_and_how_long);
    tcase_add_test(tcase, a_call_that_comes_within_the_handshake_says_the_same);
    tcase_add_test(tcase, stuck_before_the_handshake_is_stuck_in_the_connect);
    tcase_add_test(tcase, the_attempts_limit_names_the_handshake_too);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("sim/handshake", handshake_suite)
