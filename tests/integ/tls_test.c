/* SPDX-License-Identifier: MIT */
/* Channels and a server with TLS, over the loopback. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testkit/names.h"
#include "tests/integ/tls_support.h"
#include "tests/support/check_main.h"

static struct tls_world world;
static char target[64], line[TLS_TEXT];

static void target_at(unsigned port)
{
    (void)snprintf(target, sizeof(target), "127.0.0.1:%u", port);
}

START_TEST(a_call_passes_and_the_connection_says_what_it_speaks)
{
    tls_world_init(&world);
    target_at(tls_serve(&world, tls_showing(world.leaf)));
    struct lull_channel *channel = tls_channel(&world, target, "svc.test", tls_believing(world.ca));
    ck_assert_msg(tls_call(&world, channel, 5, line) == LULL_CODE_OK, "%s", line);
    ck_assert_msg(strstr(world.connected, ", TLSv1.3, TLS_AES_256_GCM_SHA384, full handshake"),
                  "%s", world.connected);
    lull_channel_unref(channel);
    tls_world_fini(&world);
}
END_TEST

/* C25 (e): a name and no option; it is resolved, said in the ClientHello, verified, and the calls' :authority */
START_TEST(the_targets_name_is_server_name_and_authority)
{
    struct names names;
    tls_world_init(&world);
    names_init(&names);
    (void)names_add(&names, "svc.test", "127.0.0.1");
    world.resolve = &names.base;
    struct raw_tls raw = {.leaf = world.leaf, .alpn = "h2"};
    raw_tls_start(&raw);
    (void)snprintf(target, sizeof(target), "svc.test:%u", raw.port);
    struct lull_channel *channel = tls_channel(&world, target, NULL, tls_believing(world.ca));
    (void)lull_channel_state(channel, true);
    while (world.connected[0] == '\0') {
        ck_assert_int_eq(lull_loop_run_once(world.loop, 100 * LULL_MS), LULL_OK);
    }
    lull_channel_unref(channel);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
    raw_tls_join(&raw);
    ck_assert(raw.had_name);
    ck_assert_str_eq(raw.name, "svc.test");
    (void)snprintf(target, sizeof(target), "svc.test:%u", tls_serve(&world, tls_showing(world.leaf)));
    channel = tls_channel(&world, target, NULL, tls_believing(world.ca));
    ck_assert_msg(tls_call(&world, channel, 5, line) == LULL_CODE_OK, "%s", line);
    ck_assert_str_eq(world.authority, target);
    lull_channel_unref(channel);
    ck_assert_uint_eq(names.questions, 2);
    ck_assert_uint_eq(names.open, 0);
    tls_world_fini(&world);
}
END_TEST

START_TEST(big_messages_pass)
{
    static const size_t lens[] = {0, 1, 16383, 16384, 65536, 1048576, 1048577, 4194304 - 5};
    tls_world_init(&world);
    target_at(tls_serve(&world, tls_showing(world.leaf)));
    struct lull_channel *channel = tls_channel(&world, target, NULL, tls_believing(world.ca));
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        ck_assert_msg(tls_call(&world, channel, lens[i], line) == LULL_CODE_OK, "%s", line);
    }
    lull_channel_unref(channel);
    tls_world_fini(&world);
}
END_TEST

/* ---- resumption */

START_TEST(a_channel_that_slept_resumes_its_session)
{
    tls_world_init(&world);
    struct lull_credentials *credentials = tls_believing(world.ca);
    target_at(tls_serve(&world, tls_showing(world.leaf)));
    lull_credentials_ref(credentials);
    struct lull_channel *channel = tls_channel(&world, target, "svc.test", credentials);
    for (int i = 0; i < 3; i++) {
        ck_assert_msg(tls_call(&world, channel, 5, line) == LULL_CODE_OK, "%s", line);
        if (getenv("LULL_TEST_TABLE") != NULL) {
            printf("CONNECTED %s\n", world.connected);
            (void)fflush(stdout);
        }
        ck_assert_ptr_nonnull(
            strstr(world.connected, i == 0 ? "full handshake" : "session resumed"));
        lull_channel_enter_idle(channel);
        ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
    }
    ck_assert_uint_eq(tls_stats(credentials).handshakes, 3);
    ck_assert_uint_eq(tls_stats(credentials).handshakes_resumed, 2);
    lull_channel_unref(channel);
    lull_credentials_unref(credentials);
    tls_world_fini(&world);
}
END_TEST

START_TEST(two_channels_share_credentials_and_their_sessions)
{
    tls_world_init(&world);
    struct lull_credentials *credentials = tls_believing(world.ca);
    target_at(tls_serve(&world, tls_showing(world.leaf)));
    lull_credentials_ref(credentials);
    struct lull_channel *one = tls_channel(&world, target, "svc.test", credentials);
    ck_assert_int_eq(tls_call(&world, one, 5, line), LULL_CODE_OK);
    /* The second has the last reference but the channels'. */
    struct lull_channel *two = tls_channel(&world, target, "svc.test", credentials);
    ck_assert_ptr_eq(lull_channel_effective_options(two)->credentials, credentials);
    ck_assert_int_eq(tls_call(&world, two, 5, line), LULL_CODE_OK);
    ck_assert_ptr_nonnull(strstr(world.connected, "session resumed"));
    lull_channel_unref(one);
    ck_assert_int_eq(tls_call(&world, two, 5, line), LULL_CODE_OK);
    lull_channel_unref(two);
    tls_world_fini(&world);
}
END_TEST

START_TEST(tls_1_2_is_spoken_where_a_server_has_no_other)
{
    tls_world_init(&world);
    struct lull_credentials *credentials = tls_believing(world.ca);
    for (int i = 0; i < 2; i++) {
        struct raw_tls raw = {.leaf = world.leaf, .alpn = "h2", .max_version = 0x0303};
        raw_tls_start(&raw);
        target_at(raw.port);
        lull_credentials_ref(credentials);
        struct lull_channel *channel = tls_channel(&world, target, "svc.test:1", credentials);
        world.connected[0] = '\0';
        (void)lull_channel_state(channel, true);
        while (world.connected[0] == '\0') {
            ck_assert_int_eq(lull_loop_run_once(world.loop, 100 * LULL_MS), LULL_OK);
        }
        ck_assert_msg(strstr(world.connected, "TLSv1.2, ECDHE-ECDSA-AES256-GCM-SHA384, full "
                                              "handshake") != NULL,
                      "%s", world.connected);
        lull_channel_unref(channel);
        ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
        raw_tls_join(&raw); /* each has tickets of its own, which the next does not know */
    }
    ck_assert_uint_eq(tls_stats(credentials).handshakes_failed, 0);
    lull_credentials_unref(credentials);
    tls_world_fini(&world);
}
END_TEST

START_TEST(a_server_below_the_least_version_is_refused)
{
    struct lull_credentials_options options;
    tls_world_init(&world);
    lull_credentials_options_init(&options);
    options.ca_pem = cert_pem(world.ca);
    options.min_version = LULL_TLS_1_3;
    struct raw_tls raw = {.leaf = world.leaf, .alpn = "h2", .max_version = 0x0303};
    raw_tls_start(&raw);
    target_at(raw.port);
    struct lull_channel *channel =
        tls_channel(&world, target, "svc.test", tls_credentials(&options));
    ck_assert_int_eq(tls_call(&world, channel, 5, line), LULL_CODE_UNAVAILABLE);
    ck_assert_msg(strstr(line, "TLS handshake: the peer sent alert 70 (protocol version)") != NULL,
                  "%s", line);
    lull_channel_unref(channel);
    raw_tls_join(&raw);
    tls_world_fini(&world);
}
END_TEST

/* ---- identities */

static struct lull_credentials *mutual(const struct cert *own, lull_identity_fn ask, void *ctx)
{
    struct lull_credentials_options options;
    lull_credentials_options_init(&options);
    options.ca_pem = cert_pem(world.ca);
    if (own != NULL) {
        options.identity.chain_pem = cert_pem(own);
        options.identity.key_pem = cert_key_pem(own);
    }
    options.identity_fn = ask;
    options.identity_ctx = ctx;
    options.client_certificate = LULL_CLIENT_CERTIFICATE_REQUIRED;
    return tls_credentials(&options);
}

START_TEST(both_sides_prove_who_they_are)
{
    tls_world_init(&world);
    struct cert *own = cert_usual("client", NULL, world.ca, tls_now_s());
    target_at(tls_serve(&world, mutual(world.leaf, NULL, NULL)));
    struct lull_channel *channel = tls_channel(&world, target, "svc.test", mutual(own, NULL, NULL));
    ck_assert_msg(tls_call(&world, channel, 5, line) == LULL_CODE_OK, "%s", line);
    lull_channel_unref(channel);
    cert_free(own);
    tls_world_fini(&world);
}
END_TEST

struct rotation {
    const struct cert *now;
    int asked;
    int says;
};

static int ask(void *ctx, struct lull_identity *out)
{
    struct rotation *rotation = ctx;
    rotation->asked++;
    if (rotation->now != NULL) {
        out->chain_pem = cert_pem(rotation->now);
        out->key_pem = cert_key_pem(rotation->now);
    }
    return rotation->says;
}

START_TEST(an_identity_is_asked_for_before_each_handshake_and_may_change)
{
    tls_world_init(&world);
    struct cert *foreign_ca = cert_ca("somebody else", tls_now_s());
    struct cert *foreign = cert_usual("client", NULL, foreign_ca, tls_now_s());
    struct cert *good = cert_usual("client", NULL, world.ca, tls_now_s());
    struct rotation servers = {.now = world.leaf}, clients = {.now = foreign};
    target_at(tls_serve(&world, mutual(NULL, ask, &servers)));
    struct lull_channel *channel =
        tls_channel(&world, target, "svc.test", mutual(NULL, ask, &clients));
    ck_assert_int_eq(tls_call(&world, channel, 5, line), LULL_CODE_UNAVAILABLE);
    ck_assert_msg(strstr(line, "the peer sent alert 48 (unknown CA): the server does not know the issuer of our "
                               "certificate") != NULL, "%s", line);
    clients.now = good;
    lull_channel_reset_backoff(channel);
    for (int i = 0; i < 50 && tls_call(&world, channel, 5, line) != LULL_CODE_OK; i++) {
        ck_assert_int_eq(lull_loop_run_once(world.loop, 10 * LULL_MS), LULL_OK);
    }
    ck_assert_int_eq(tls_call(&world, channel, 5, line), LULL_CODE_OK);
    ck_assert_int_ge(clients.asked, 2);
    ck_assert_int_eq(servers.asked, clients.asked);
    lull_channel_unref(channel);
    cert_free(foreign_ca);
    cert_free(foreign);
    cert_free(good);
    tls_world_fini(&world);
}
END_TEST

START_TEST(a_callback_that_fails_is_told)
{
    static struct cert *other;
    tls_world_init(&world);
    other = cert_usual("client", NULL, world.ca, tls_now_s());
    struct rotation clients = {.now = other, .says = LULL_RC_STATE};
    target_at(tls_serve(&world, mutual(world.leaf, NULL, NULL)));
    struct lull_channel *channel =
        tls_channel(&world, target, "svc.test", mutual(NULL, ask, &clients));
    ck_assert_int_eq(tls_call(&world, channel, 5, line), LULL_CODE_UNAVAILABLE);
    ck_assert_msg(strstr(line, "TLS handshake: identity_fn said LULL_RC_STATE") != NULL, "%s",
                  line);
    lull_channel_unref(channel);
    cert_free(other);
    tls_world_fini(&world);
}
END_TEST

START_TEST(to_believe_anybody_works_and_says_so)
{
    struct lull_credentials_options options;
    tls_world_init(&world);
    lull_credentials_options_init(&options);
    options.insecure_skip_verify = true;
    struct cert *self = cert_usual("self", "DNS:nobody.test", NULL, tls_now_s());
    target_at(tls_serve(&world, tls_showing(self)));
    struct lull_channel *channel =
        tls_channel(&world, target, "svc.test", tls_credentials(&options));
    ck_assert_str_eq(world.warning,
                     "insecure_skip_verify: any server will be believed to be svc.test");
    ck_assert_msg(tls_call(&world, channel, 5, line) == LULL_CODE_OK, "%s", line);
    lull_channel_unref(channel);
    cert_free(self);
    tls_world_fini(&world);
}
END_TEST

/* ---- what a call costs */

START_TEST(a_steady_call_is_one_write_and_one_read_each_way_as_in_plaintext)
{
    struct lull_counters before = {.size = sizeof(before)}, after = before;
    uint64_t writes[2], allocations[2];
    for (int is_tls = 0; is_tls < 2; is_tls++) {
        tls_world_init(&world);
        target_at(tls_serve(&world, is_tls != 0 ? tls_showing(world.leaf) : NULL));
        struct lull_channel *channel =
            tls_channel(&world, target, "svc.test", is_tls != 0 ? tls_believing(world.ca) : NULL);
        for (int i = 0; i < 20; i++) {
            ck_assert_int_eq(tls_call(&world, channel, 100, line), LULL_CODE_OK);
        }
        lull_executor_counters(lull_loop_executor(world.loop), &before);
        for (int i = 0; i < 50; i++) {
            ck_assert_int_eq(tls_call(&world, channel, 100, line), LULL_CODE_OK);
        }
        lull_executor_counters(lull_loop_executor(world.loop), &after);
        writes[is_tls] = after.writes - before.writes;
        allocations[is_tls] = after.allocations - before.allocations;
        lull_channel_unref(channel);
        tls_world_fini(&world);
    }
    ck_assert_uint_eq(writes[1], writes[0]);
    ck_assert_uint_eq(allocations[1], allocations[0]);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("integ/tls");
    TCase *t = tcase_create("tls");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_call_passes_and_the_connection_says_what_it_speaks);
    tcase_add_test(t, the_targets_name_is_server_name_and_authority);
    tcase_add_test(t, big_messages_pass);
    tcase_add_test(t, a_channel_that_slept_resumes_its_session);
    tcase_add_test(t, two_channels_share_credentials_and_their_sessions);
    tcase_add_test(t, tls_1_2_is_spoken_where_a_server_has_no_other);
    tcase_add_test(t, a_server_below_the_least_version_is_refused);
    tcase_add_test(t, both_sides_prove_who_they_are);
    tcase_add_test(t, an_identity_is_asked_for_before_each_handshake_and_may_change);
    tcase_add_test(t, a_callback_that_fails_is_told);
    tcase_add_test(t, to_believe_anybody_works_and_says_so);
    tcase_add_test(t, a_steady_call_is_one_write_and_one_read_each_way_as_in_plaintext);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("integ/tls", suite)
