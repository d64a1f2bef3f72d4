/* SPDX-License-Identifier: MIT */
/* Channels whose target is a name: c-ares, the built-in loop, the system's clock. The name servers are on the same loop. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <lull/lull.h>

#include "base/container.h"
#include "loop/loop.h"
#include "net/resolver_ares.h"
#include "tests/integ/net_support.h"
#include "tests/support/check_main.h"
#include "tests/support/name_server.h"

#define METHOD "/pkg.Service/Echo"

/* A name server on the loop; of the descriptors only that of UDP. */
struct served {
    struct name_server names;
    struct lull_watch watch;
};

static struct net_world world;
static struct served served[2];
static struct lull_server *server;
static struct resolver_ares resolver;
static char resolv_conf[32];
static uint16_t port; /* of `server`, on 127.0.0.1 and 127.0.0.2 */

static void on_question(struct lull_task *task, struct lull_executor *executor)
{
    struct served *one = container_of(task, struct served, watch.on_ready);

    (void)executor;
    one->watch.ready = 0;
    name_server_serve(&one->names);
}

static void watch_names(struct served *one, unsigned want)
{
    net_enter(&world);
    ck_assert_int_eq(loop_watch(world.loop, &one->watch, want), 0);
    (void)lull_executor_unpost(world.executor, &one->watch.on_ready);
    net_leave(&world);
}

static void open_names(void)
{
    int tries = 100;

    ck_assert(name_server_init(&served[0].names, 1, "one.", 0));
    while (!name_server_init(&served[1].names, 2, "two.", served[0].names.port)) {
        ck_assert_int_gt(--tries, 0);
        name_server_fini(&served[0].names);
        ck_assert(name_server_init(&served[0].names, 1, "one.", 0));
    }
    for (size_t i = 0; i < 2; i++) {
        memset(&served[i].watch, 0, sizeof(served[i].watch));
        served[i].watch.fd = served[i].names.udp;
        lull_task_init(&served[i].watch.on_ready, on_question);
        watch_names(&served[i], LULL_WANT_READ);
    }
}

static void echo(struct lull_server_call *call, struct lull_slice message, void *ctx)
{
    (void)ctx;
    (void)lull_server_call_send(call, message);
    (void)lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL);
}

/* The same port on both addresses. */
static void open_server(void)
{
    struct lull_server_options options;
    struct lull_server_handler handler;
    struct lull_error error;
    char second[32];
    int rc = LULL_RC_SYSTEM;

    lull_server_handler_init(&handler);
    handler.on_message = echo;
    for (int tries = 0; tries < 100 && rc != LULL_OK; tries++) {
        lull_server_options_init(&options);
        options.loop = world.loop;
        ck_assert_int_eq(lull_server_new(&options, &server, &error), LULL_OK);
        ck_assert_int_eq(lull_server_add(server, METHOD, &handler, NULL), LULL_OK);
        ck_assert_int_eq(lull_server_listen(server, "127.0.0.1:0", &error), LULL_OK);
        port = (uint16_t)atoi(strrchr(lull_server_address(server, 0), ':') + 1);
        snprintf(second, sizeof(second), "127.0.0.2:%u", (unsigned)port);
        rc = lull_server_listen(server, second, &error);
        if (rc != LULL_OK) {
            lull_server_free(server);
        }
    }
    ck_assert_int_eq(rc, LULL_OK);
}

static void write_resolv_conf(const char *text)
{
    FILE *file = fopen(resolv_conf, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void begin(void)
{
    (void)unsetenv("LOCALDOMAIN");
    (void)unsetenv("RES_OPTIONS");
    net_world_init(&world);
    open_names();
    open_server();
    snprintf(resolv_conf, sizeof(resolv_conf), "/tmp/lull-dns-XXXXXX");
    const int fd = mkstemp(resolv_conf);
    ck_assert_int_ge(fd, 0);
    close(fd);
    resolver_ares_init(&resolver);
    resolver.resolv_conf = resolv_conf;
    resolver.port = served[0].names.port;
}

static void end(void)
{
    lull_server_free(server);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
    for (size_t i = 0; i < 2; i++) {
        watch_names(&served[i], LULL_WANT_NONE);
        name_server_fini(&served[i].names);
    }
    ck_assert_uint_eq(net_counted(&world).timers_armed, 0);
    net_world_fini(&world);
    (void)unlink(resolv_conf);
}

static struct lull_channel *open_channel(const char *name)
{
    struct lull_channel_options options;
    struct lull_world with_names;
    struct lull_channel *channel;
    char target[64];

    lull_world_init(&with_names);
    with_names.resolve = &resolver.base;
    lull_channel_options_init(&options);
    options.world = &with_names;
    options.loop = world.loop;
    options.allow_short_timers = true;
    options.backoff_initial_ns = LULL_MS; /* and so a name may be asked for again after as much */
    snprintf(target, sizeof(target), "%s:%u", name, (unsigned)port);
    ck_assert_int_eq(lull_channel_new(target, &options, &channel, NULL), LULL_OK);
    return channel;
}

struct called {
    struct lull_channel *channel;
    int done;
    enum lull_code code;
    char peer[64];
    char message[300];
    void (*then)(struct called *called); /* [nullable] inside the callback */
    void *ctx;
};

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct called *called = ctx;

    called->done++;
    called->code = result->status.code;
    snprintf(called->peer, sizeof(called->peer), "%s",
             result->status.code == LULL_CODE_OK ? lull_call_peer(call) : "");
    snprintf(called->message, sizeof(called->message), "%.*s", (int)result->status.message_len,
             result->status.message);
    if (called->then != NULL) {
        called->then(called);
    }
}

static void call(struct called *called, struct lull_channel *channel, int64_t timeout_ns)
{
    struct lull_call_options options;

    memset(called, 0, sizeof(*called));
    called->channel = channel;
    lull_call_options_init(&options, METHOD);
    options.timeout_ns = timeout_ns;
    ck_assert_int_eq(
        lull_call_unary(channel, &options, lull_slice_static("hi", 2), on_done, called, NULL, NULL),
        LULL_OK);
}

static bool is_done(void *ctx)
{
    return ((struct called *)ctx)->done > 0;
}

static void expect_peer(struct called *called, const char *host)
{
    char peer[64];

    net_run_until(&world, is_done, called);
    snprintf(peer, sizeof(peer), "%s:%u", host, (unsigned)port);
    ck_assert_int_eq(called->code, LULL_CODE_OK);
    ck_assert_str_eq(called->peer, peer);
}

/* The machine has moved to another network: another name server, which knows another server. */
START_TEST(a_channel_that_wakes_up_asks_the_name_server_of_today)
{
    struct called called;

    begin();
    write_resolv_conf("nameserver 127.0.0.1\n");
    struct lull_channel *channel = open_channel("here.x");
    call(&called, channel, LULL_NEVER);
    expect_peer(&called, "127.0.0.1");

    write_resolv_conf("nameserver 127.0.0.2\n");
    lull_channel_enter_idle(channel);
    const struct lull_instant asleep_at = lull_clock_now(lull_clock_system());
    while (lull_instant_diff(lull_clock_now(lull_clock_system()), asleep_at) < 5 * LULL_MS) {
        ck_assert_int_eq(lull_loop_run_once(world.loop, 5 * LULL_MS), LULL_OK);
    }
    call(&called, channel, LULL_NEVER);
    expect_peer(&called, "127.0.0.2");
    lull_channel_unref(channel);
    end();
}
END_TEST

/* c-ares' own clock and ours agree on when a try is over. */
START_TEST(a_lost_question_is_asked_again_after_two_seconds)
{
    struct called called;

    begin();
    write_resolv_conf("nameserver 127.0.0.1\n");
    struct lull_channel *channel = open_channel("once.x");
    const struct lull_instant began_at = lull_clock_now(lull_clock_system());
    call(&called, channel, LULL_NEVER);
    while (served[0].names.asked < 4) {
        ck_assert_int_eq(lull_loop_run_once(world.loop, 100 * LULL_MS), LULL_OK);
        ck_assert_int_lt(lull_instant_diff(lull_clock_now(lull_clock_system()), began_at),
                         10 * LULL_SECOND);
    }
    ck_assert_int_ge(lull_instant_diff(lull_clock_now(lull_clock_system()), began_at),
                     1900 * LULL_MS);
    lull_channel_close(channel);
    net_run_until(&world, is_done, &called);
    lull_channel_unref(channel);
    end();
}
END_TEST

/* Its own, which has just failed, and another one whose question is under way. */
static void close_both(struct called *called)
{
    struct called *other = called->ctx;

    lull_channel_close(other->channel);
    lull_channel_unref(other->channel);
    lull_channel_close(called->channel);
    lull_channel_unref(called->channel);
}

START_TEST(channels_are_destroyed_inside_what_an_answer_causes)
{
    struct called mute, none;

    begin();
    write_resolv_conf("nameserver 127.0.0.1\n");
    call(&mute, open_channel("mute.x"), LULL_NEVER);
    call(&none, open_channel("none.x"), LULL_NEVER);
    none.then = close_both;
    none.ctx = &mute;
    net_run_until(&world, is_done, &none);
    net_run_until(&world, is_done, &mute);
    ck_assert_int_eq(none.code, LULL_CODE_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(none.message, "resolving none.x: NXDOMAIN"));
    ck_assert_int_eq(mute.code, LULL_CODE_UNAVAILABLE);
    end();
}
END_TEST

START_TEST(a_deadline_ends_a_question_that_nobody_answers)
{
    struct called called;

    begin();
    write_resolv_conf("nameserver 127.0.0.1\n");
    struct lull_channel *channel = open_channel("mute.x");
    call(&called, channel, 50 * LULL_MS);
    net_run_until(&world, is_done, &called);
    ck_assert_int_eq(called.code, LULL_CODE_DEADLINE_EXCEEDED);
    lull_channel_unref(channel);
    end();
}
END_TEST

static Suite *dns_suite(void)
{
    Suite *suite = suite_create("dns");
    TCase *cases = tcase_create("dns");

    tcase_set_timeout(cases, 30);
    tcase_add_test(cases, a_channel_that_wakes_up_asks_the_name_server_of_today);
    tcase_add_test(cases, a_lost_question_is_asked_again_after_two_seconds);
    tcase_add_test(cases, channels_are_destroyed_inside_what_an_answer_causes);
    tcase_add_test(cases, a_deadline_ends_a_question_that_nobody_answers);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("dns", dns_suite)
