/* SPDX-License-Identifier: MIT */
/* include/lull/adapters/glib.h on GLib: the scenarios of adapter_support.h, and what is GLib's own. */
#include <lull/adapters/glib.h>

#include "tests/integ/adapter_support.h"
#include "tests/support/check_main.h"

static GMainContext *context;
static void (*own_fn)(void);

static void open_host(void)
{
    context = g_main_context_new();
}

/* A context that lull has left polls its own eventfd and nothing else, and waits for no time. */
static void close_host(void)
{
    GPollFD fds[8];
    gint timeout = 0;

    ck_assert(g_main_context_acquire(context));
    ck_assert(!g_main_context_prepare(context, NULL));
    ck_assert_int_eq(g_main_context_query(context, G_MAXINT, &timeout, fds, 8), 1);
    ck_assert_int_eq(timeout, -1);
    g_main_context_release(context);
    g_main_context_unref(context);
}

static int make(const struct lull_executor_options *options, struct lull_loop **out)
{
    return lull_glib_new(context, options, out);
}

static gboolean on_limit(gpointer data)
{
    (void)data;
    return G_SOURCE_REMOVE;
}

static GSource *attach(guint after_ms, GSourceFunc function)
{
    GSource *source = g_timeout_source_new(after_ms);

    g_source_set_callback(source, function, NULL, NULL);
    g_source_attach(source, context);
    return source;
}

static void detach(GSource *source)
{
    g_source_destroy(source);
    g_source_unref(source);
}

static void run_round(int64_t timeout_ns)
{
    GSource *limit;

    if (timeout_ns <= 0) {
        g_main_context_iteration(context, FALSE);
        return;
    }
    limit = attach((guint)(timeout_ns / LULL_MS), on_limit);
    g_main_context_iteration(context, TRUE);
    detach(limit);
}

static gboolean on_own(gpointer data)
{
    (void)data;
    own_fn();
    return G_SOURCE_REMOVE;
}

static void call_back(void (*fn)(void))
{
    own_fn = fn;
    g_source_unref(attach(0, on_own));
}

static void nest(bool (*holds)(void))
{
    run_until(holds);
}

static const struct adapter glib = {
    .name = "adapter_glib",
    .open = open_host,
    .close = close_host,
    .make = make,
    .drop = lull_glib_free,
    .round = run_round,
    .call_back = call_back,
    .nest = nest,
    .rounds_before_turn = 1, /* sources are dispatched in the round after the one in which they became ready */
};

/* ---- GLib's own */

static GMainLoop *main_loop;

static void quit(void)
{
    g_main_loop_quit(main_loop);
}

static void run_default_context(void)
{
    start_call(ECHO_METHOD, LULL_MINUTE);
    outcome.in_closed = quit;
    main_loop = g_main_loop_new(NULL, FALSE);
    g_main_loop_run(main_loop);
    g_main_loop_unref(main_loop);
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
}

/* NULL is the default context, as everywhere in GLib. */
START_TEST(a_main_loop_runs_it_on_the_default_context)
{
    on_wait = NULL;
    ck_assert_int_eq(lull_glib_new(NULL, NULL, &loop), LULL_OK);
    server = make_server(loop);
    channel = make_channel(loop, lull_server_address(server, 0), NULL);
    run_default_context();
    forget_call();
    lull_channel_unref(channel);
    lull_server_free(server);
    lull_glib_free(loop);
    ck_assert(!g_main_context_pending(NULL));
}
END_TEST

static void run_once_inside(void)
{
    start_call(ECHO_METHOD, LULL_MINUTE);
    while (!is_closed()) {
        ck_assert_int_eq(lull_loop_run_once(loop, LULL_SECOND), LULL_OK);
    }
}

START_TEST(lulls_verbs_run_it_in_a_callback_of_the_host)
{
    set_up(NULL);
    outcome.closed = 0;
    call_back(run_once_inside);
    run_until(is_closed);
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    tear_down();
}
END_TEST

static Suite *adapter_glib_suite(void)
{
    Suite *suite = adapter_suite(&glib);
    TCase *cases = tcase_create("glib");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, a_main_loop_runs_it_on_the_default_context);
    tcase_add_test(cases, lulls_verbs_run_it_in_a_callback_of_the_host);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("adapter_glib", adapter_glib_suite)
