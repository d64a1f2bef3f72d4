/* SPDX-License-Identifier: MIT */
/*
 * Where an attempt to connect over TLS is stuck, as the call's line tells it (C17).
 */
#include <errno.h>
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

static void begin_at(const char *target, int64_t connect_after_ns)
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
    ck_assert_int_eq(lull_channel_new(target, &life.options, &life.channel, NULL), LULL_OK);
}

static void begin(int64_t connect_after_ns)
{
    begin_at(LIFE_ADDRESS, connect_after_ns);
}

static void hang_up(void)
{
    if (held != NULL) {
        ck_assert_int_eq(lull_executor_enter(life.sim.peers), LULL_OK);
        endpoint_close(held);
        lull_executor_leave(life.sim.peers);
        held = NULL;
    }
}

static void end(void)
{
    hang_up();
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

/* Nobody is there, and it takes a while to say so. */
static void refuse_second(int64_t connect_after_ns)
{
    struct sim_host *second = sim_host_add(&life.sim, "10.0.0.2:80", accept_and_hang, NULL);
    ck_assert_ptr_nonnull(second);
    second->connect_after_ns = connect_after_ns;
    second->refuse_errno = ECONNREFUSED;
}

/* Two addresses: the handshake with the first, which connects after 10 ms, breaks; then the second is dialled. */
START_TEST(the_address_that_comes_after_a_broken_handshake_takes_no_time_from_it)
{
    struct life_call call, late;
    begin_at("ipv4:10.0.0.1:80,10.0.0.2:80", MS(10));
    refuse_second(MS(50));
    life_call(&life, &call, LULL_NEVER, false);
    life_call(&life, &late, MS(230), false);
    life_at(&life, MS(210));
    hang_up();
    life_at(&life, MS(230));
    life_expect_call(&late, LULL_CODE_DEADLINE_EXCEEDED, MS(230));
    expect_line(&late, "connecting to 10.0.0.2:80 (attempt 1 under way, 10.0.0.1:80: TLS handshake: ");
    expect_line(&late, "[connecting 30 ms, handshake 200 ms]");
    life_at(&life, MS(260));
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(260));
    ck_assert_int_eq(call.phase, LULL_PHASE_HANDSHAKE);
    ck_assert_str_eq(call.address, "10.0.0.1:80");
    expect_line(&call, "[connecting 60 ms, handshake 200 ms]");
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
    tcase_add_test(tcase, the_address_that_comes_after_a_broken_handshake_takes_no_time_from_it);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("sim/handshake", handshake_suite)
