/* SPDX-License-Identifier: MIT */
/*
 * One credentials object on several threads: channels with loops of their own that make handshakes at once and share its sessions, a server
 * on its loop's thread, and identities that a further thread changes meanwhile. What is wrong with that is seen by the runs under TSan.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <lull/sync.h>

#include "tests/integ/tls_support.h"
#include "tests/support/check_main.h"
#include "tests/support/rounds.h"

#define THREADS 4

static struct tls_world world;
static char target[64];

/* An identity that changes while it is asked for. */
struct rotation {
    const struct cert *certs[2];
    _Atomic(unsigned) turns, asked;
};

static int ask(void *ctx, struct lull_identity *out)
{
    struct rotation *rotation = ctx;
    const struct cert *now = rotation->certs[atomic_load(&rotation->turns) % 2];
    atomic_fetch_add(&rotation->asked, 1);
    out->chain_pem = cert_pem(now);
    out->key_pem = cert_key_pem(now);
    return LULL_OK;
}

static struct lull_credentials *mutual(struct rotation *rotation)
{
    struct lull_credentials_options options;
    lull_credentials_options_init(&options);
    options.ca_pem = cert_pem(world.ca);
    options.identity_fn = ask;
    options.identity_ctx = rotation;
    options.client_certificate = LULL_CLIENT_CERTIFICATE_REQUIRED;
    return tls_credentials(&options);
}

struct client {
    pthread_t thread;
    struct lull_credentials *credentials;
    unsigned rounds;
};

static void call(struct lull_channel *channel)
{
    struct lull_call_options options;
    struct lull_sync_result result;
    struct lull_error error;
    lull_call_options_init(&options, "/pkg.Service/Echo");
    lull_sync_result_init(&result);
    ck_assert_msg(lull_sync_unary(channel, &options, lull_slice_static("ping", 4), &result, &error) == LULL_OK, "%s",
                  error.text);
    ck_assert_msg(result.status.code == LULL_CODE_OK, "%s",
                  result.status.failure != NULL ? result.status.failure->line : "");
    lull_sync_result_fini(&result);
}

/* Each round is a handshake: the channel falls idle, and wakes by a call. Half of the time a channel is new. */
static void *shake_hands(void *arg)
{
    struct client *client = arg;
    struct lull_channel_options options;
    struct lull_channel *channel = NULL;
    lull_channel_options_init(&options);
    options.authority = "svc.test";
    options.credentials = client->credentials;
    for (unsigned i = 0; i < client->rounds; i++) {
        if (channel == NULL) {
            ck_assert_int_eq(lull_channel_new(target, &options, &channel, NULL), LULL_OK);
        }
        call(channel);
        call(channel);
        if (i % 2 == 0) {
            lull_channel_enter_idle(channel);
        } else {
            lull_channel_unref(channel);
            channel = NULL;
        }
    }
    lull_channel_unref(channel);
    return NULL;
}

START_TEST(threads_share_credentials_while_identities_change)
{
    struct client clients[THREADS];
    const unsigned rounds = test_rounds(40, 10);
    tls_world_init(&world);
    struct cert *first = cert_usual("client 1", NULL, world.ca, tls_now_s());
    struct cert *second = cert_usual("client 2", NULL, world.ca, tls_now_s());
    struct cert *leaf = cert_usual("leaf 2", "DNS:svc.test", world.ca, tls_now_s());
    struct rotation servers = {.certs = {world.leaf, leaf}}, shown = {.certs = {first, second}};
    (void)snprintf(target, sizeof(target), "127.0.0.1:%u", tls_serve(&world, mutual(&servers)));
    ck_assert_int_eq(lull_loop_start(world.loop), LULL_OK);
    struct lull_credentials *credentials = mutual(&shown);
    for (unsigned i = 0; i < THREADS; i++) {
        clients[i].credentials = credentials;
        clients[i].rounds = rounds;
        ck_assert_int_eq(pthread_create(&clients[i].thread, NULL, shake_hands, &clients[i]), 0);
    }
    /* A change for every handshake or so. */
    while (atomic_load(&shown.asked) < THREADS * rounds) {
        atomic_fetch_add(&servers.turns, 1);
        atomic_fetch_add(&shown.turns, 1);
        ck_assert_uint_le(tls_stats(credentials).handshakes, THREADS * rounds);
        (void)sched_yield();
    }
    for (unsigned i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(clients[i].thread, NULL), 0);
    }
    ck_assert_uint_eq(tls_stats(credentials).handshakes, THREADS * rounds);
    ck_assert_uint_eq(shown.asked, THREADS * rounds);
    ck_assert_uint_eq(servers.asked, THREADS * rounds);
    lull_credentials_unref(credentials);
    ck_assert_int_eq(lull_loop_join(world.loop), LULL_OK);
    tls_world_fini(&world);
    cert_free(first);
    cert_free(second);
    cert_free(leaf);
}
END_TEST

static Suite *tls_threads_suite(void)
{
    Suite *suite = suite_create("tls_threads");
    TCase *cases = tcase_create("tls_threads");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, threads_share_credentials_while_identities_change);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("tls_threads", tls_threads_suite)
