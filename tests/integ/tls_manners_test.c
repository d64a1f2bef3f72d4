/* SPDX-License-Identifier: MIT */
/* A library's manners over TLS: a forked child says nothing to the parent's peer (C30, RULINGS 27), a peer that is gone is no signal. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integ/tls_support.h"
#include "tests/support/check_main.h"

static struct tls_world world;
static struct lull_channel *channel;
static char line[TLS_TEXT];

static void set_up(void)
{
    char target[64];

    tls_world_init(&world);
    (void)snprintf(target, sizeof(target), "127.0.0.1:%u", tls_serve(&world, tls_showing(world.leaf)));
    channel = tls_channel(&world, target, NULL, tls_believing(world.ca));
    ck_assert_msg(tls_call(&world, channel, 5, line) == LULL_CODE_OK, "%s", line);
}

static void tear_down(void)
{
    lull_channel_unref(channel);
    tls_world_fini(&world);
}

static uint64_t connections_made(void)
{
    struct lull_channel_stats stats = {.size = sizeof(stats)};

    lull_channel_stats(channel, &stats);
    return stats.connections_made;
}

/* A close_notify of the child's would be a record out of order for the parent's peer. */
START_TEST(a_forked_child_ends_its_copy_without_a_goodbye)
{
    int status;
    pid_t child;

    set_up();
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        lull_channel_close(channel);
        lull_channel_unref(channel);
        lull_server_free(world.server);
        lull_loop_free(world.loop);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(lull_loop_run_once(world.loop, 5 * LULL_MS), LULL_OK);
    }
    ck_assert_str_eq(world.lost, "");
    ck_assert_msg(tls_call(&world, channel, 70000, line) == LULL_CODE_OK, "%s", line);
    ck_assert_uint_eq(connections_made(), 1);
    tear_down();
}
END_TEST

static unsigned over;

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)ctx;
    ck_assert_int_eq(result->status.code, LULL_CODE_UNAVAILABLE);
    over++;
}

/* SIGPIPE has its default action here: it would end the test. The first write brings the reset, the next ones meet it. */
START_TEST(a_write_to_a_peer_that_is_gone_is_no_signal_over_tls)
{
    struct lull_call_options options;

    set_up();
    lull_server_free(world.server);
    world.server = NULL;
    over = 0;
    lull_call_options_init(&options, "/pkg.Service/Method");
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(lull_call_unary(channel, &options, lull_slice_static("x", 1), on_done, NULL, NULL, NULL), LULL_OK);
        ck_assert_int_eq(lull_loop_flush(world.loop), LULL_OK);
    }
    for (int i = 0; i < 2000 && over < 5; i++) {
        ck_assert_int_eq(lull_loop_run_once(world.loop, 10 * LULL_MS), LULL_OK);
    }
    ck_assert_uint_eq(over, 5);
    tear_down();
}
END_TEST

static Suite *tls_manners_suite(void)
{
    Suite *suite = suite_create("tls_manners");
    TCase *cases = tcase_create("tls_manners");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, a_forked_child_ends_its_copy_without_a_goodbye);
    tcase_add_test(cases, a_write_to_a_peer_that_is_gone_is_no_signal_over_tls);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("tls_manners", tls_manners_suite)
