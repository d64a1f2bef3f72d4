/* SPDX-License-Identifier: MIT */
/*
 * Programs that were compiled with another release, in each struct that begins with its size and that the library reads. What is taken of
 * one is tests/unit/base/sized_test.c's; here it is that each goes by it.
 */
#include <stdint.h>
#include <string.h>

#include <lull/lull.h>

#include "tests/support/check_main.h"

#define MORE 16

/* The struct, and what a later release has behind it. */
struct given {
    union {
        size_t size;
        struct lull_channel_options channel;
        struct lull_server_options server;
        struct lull_world world;
        struct lull_credentials_options credentials;
        struct lull_executor_options executor;
        struct lull_keepalive_options keepalive;
        struct lull_recycler_options recycler;
        struct lull_call_options call;
        struct lull_call_handler handler;
        struct lull_server_handler server_handler;
        unsigned char bytes[2048];
    } as;
};

static struct given given;
static struct lull_loop *loop;
static struct lull_channel *channel;
static struct lull_server *server;

static void set_up(void)
{
    struct lull_channel_options options;
    struct lull_server_options server_options;
    ck_assert_int_eq(lull_loop_new(NULL, &loop), LULL_OK);
    lull_channel_options_init(&options);
    options.loop = loop;
    ck_assert_int_eq(lull_channel_new("unix-abstract:nobody", &options, &channel, NULL), LULL_OK);
    lull_server_options_init(&server_options);
    server_options.loop = loop;
    ck_assert_int_eq(lull_server_new(&server_options, &server, NULL), LULL_OK);
    memset(&given, 0, sizeof(given));
}

static void tear_down(void)
{
    lull_channel_close(channel);
    lull_channel_unref(channel);
    lull_server_free(server);
    lull_loop_free(loop);
}

/* ---- one each: fills the struct in, and hands it over; what was made goes again */

static int make_channel(struct lull_error *error)
{
    struct lull_channel *made = NULL;
    const int rc = lull_channel_new("unix-abstract:nobody", &given.as.channel, &made, error);
    lull_channel_unref(made);
    return rc;
}

static int make_server(struct lull_error *error)
{
    struct lull_server *made = NULL;
    given.as.server.loop = loop;
    const int rc = lull_server_new(&given.as.server, &made, error);
    if (rc == LULL_OK) {
        lull_server_free(made);
    }
    return rc;
}

static int make_in_world(struct lull_error *error)
{
    struct lull_channel_options options;
    struct lull_channel *made = NULL;
    lull_channel_options_init(&options);
    options.world = &given.as.world;
    given.as.world.loop = loop;
    const int rc = lull_channel_new("unix-abstract:nobody", &options, &made, error);
    lull_channel_unref(made);
    return rc;
}

static int serve_in_world(struct lull_error *error)
{
    struct lull_server_options options;
    struct lull_server *made = NULL;
    lull_server_options_init(&options);
    options.world = &given.as.world;
    given.as.world.loop = loop;
    const int rc = lull_server_new(&options, &made, error);
    if (rc == LULL_OK) {
        lull_server_free(made);
    }
    return rc;
}

static int make_credentials(struct lull_error *error)
{
    struct lull_credentials *made = NULL;
    const int rc = lull_credentials_new(&given.as.credentials, &made, error);
    lull_credentials_unref(made);
    return rc;
}

static int make_executor(struct lull_error *error)
{
    struct lull_executor *made = NULL;
    (void)error;
    const int rc = lull_executor_new(&given.as.executor, &made);
    if (rc == LULL_OK) {
        lull_executor_free(made);
    }
    return rc;
}

static int make_loop(struct lull_error *error)
{
    struct lull_loop *made = NULL;
    (void)error;
    const int rc = lull_loop_new(&given.as.executor, &made);
    if (rc == LULL_OK) {
        lull_loop_free(made);
    }
    return rc;
}

static int make_keepalive(struct lull_error *error)
{
    struct lull_keepalive keepalive;
    (void)error;
    return lull_keepalive_init(&keepalive, &given.as.keepalive);
}

static int make_recycler(struct lull_error *error)
{
    struct lull_recycler *made = NULL;
    (void)error;
    const int rc = lull_recycler_new(&given.as.recycler, &made);
    if (rc == LULL_OK) {
        lull_recycler_free(made);
    }
    return rc;
}

static void on_end(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)result;
    (void)ctx;
}

static int make_call(struct lull_error *error)
{
    return lull_call_unary(channel, &given.as.call, lull_slice_static("", 0), on_end, NULL, NULL, error);
}

static void on_closed(struct lull_call *call, const struct lull_status *status, const struct lull_metadata *trailers, void *ctx)
{
    (void)call;
    (void)status;
    (void)trailers;
    (void)ctx;
}

static int make_stream(struct lull_error *error)
{
    struct lull_call_handler handler;
    lull_call_handler_init(&handler);
    handler.on_closed = on_closed;
    return lull_call_start(channel, &given.as.call, &handler, NULL, NULL, error);
}

static int call_back(struct lull_error *error)
{
    struct lull_call_options options;
    lull_call_options_init(&options, "/pkg.Service/Method");
    given.as.handler.on_closed = on_closed;
    return lull_call_start(channel, &options, &given.as.handler, NULL, NULL, error);
}

static int add_method(struct lull_error *error)
{
    static char name[] = "/pkg.Service/0";
    (void)error;
    name[sizeof(name) - 2]++; /* each once */
    return lull_server_add(server, name, &given.as.server_handler, NULL);
}

static void init_channel(void) { lull_channel_options_init(&given.as.channel); }
static void init_server(void) { lull_server_options_init(&given.as.server); }
static void init_world(void) { lull_world_init(&given.as.world); }
static void init_credentials(void) { lull_credentials_options_init(&given.as.credentials); }
static void init_executor(void) { lull_executor_options_init(&given.as.executor); }
static void init_keepalive(void) { lull_keepalive_options_init(&given.as.keepalive); }
static void init_recycler(void) { lull_recycler_options_init(&given.as.recycler, "sizes", 8); }
static void init_call(void) { lull_call_options_init(&given.as.call, "/pkg.Service/Method"); }
static void init_handler(void) { lull_call_handler_init(&given.as.handler); }
static void init_server_handler(void) { lull_server_handler_init(&given.as.server_handler); }

static const struct {
    const char *what;
    void (*init)(void);
    int (*make)(struct lull_error *error);
    size_t first; /* what 0.3 has, or an older one that is still taken */
    bool has_error;
} kinds[] = {
    {"channel options", init_channel, make_channel, sizeof(struct lull_channel_options), true},
    {"server options", init_server, make_server, sizeof(struct lull_server_options), true},
    {"a channel's world", init_world, make_in_world, sizeof(struct lull_world), true},
    {"a server's world", init_world, serve_in_world, sizeof(struct lull_world), true},
    {"credentials options", init_credentials, make_credentials, sizeof(struct lull_credentials_options), true},
    {"executor options", init_executor, make_executor, sizeof(struct lull_executor_options), false},
    {"a loop's options", init_executor, make_loop, sizeof(struct lull_executor_options), false},
    {"keepalive options", init_keepalive, make_keepalive, sizeof(struct lull_keepalive_options), false},
    {"recycler options", init_recycler, make_recycler, offsetof(struct lull_recycler_options, is_owner), false},
    {"options of a unary call", init_call, make_call, sizeof(struct lull_call_options), true},
    {"options of a stream", init_call, make_stream, sizeof(struct lull_call_options), true},
    {"a call's handler", init_handler, call_back, sizeof(struct lull_call_handler), true},
    {"a server's handler", init_server_handler, add_method, sizeof(struct lull_server_handler), false},
};

#define KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

/* Hands it over with this size; a byte that is not zero at `at`. */
static int offer(int i, size_t size, size_t at, struct lull_error *error)
{
    memset(&given, 0, sizeof(given));
    memset(error, 0, sizeof(*error));
    kinds[i].init();
    given.as.size = size;
    if (at != 0) {
        given.as.bytes[at] = 1;
    }
    return kinds[i].make(error);
}

static bool is_unsupported(int i)
{
    struct lull_error error;
    kinds[i].init();
    return offer(i, given.as.size, 0, &error) == LULL_RC_UNSUPPORTED; /* no TLS in this build */
}

START_TEST(a_size_of_this_release_or_of_a_later_one_that_asks_for_nothing_is_taken)
{
    struct lull_error error;
    kinds[_i].init();
    const size_t own = given.as.size;
    if (is_unsupported(_i)) {
        return;
    }
    ck_assert_msg(offer(_i, own, 0, &error) == LULL_OK, "%s: %s", kinds[_i].what, error.text);
    ck_assert_msg(offer(_i, own, own, &error) == LULL_OK, "%s: %s", kinds[_i].what, error.text);
    ck_assert_msg(offer(_i, own + MORE, 0, &error) == LULL_OK, "%s: %s", kinds[_i].what, error.text);
    ck_assert_msg(offer(_i, own + MORE, own + MORE, &error) == LULL_OK, "%s: %s", kinds[_i].what, error.text);
    ck_assert_msg(offer(_i, kinds[_i].first, 0, &error) == LULL_OK, "%s: %s", kinds[_i].what, error.text);
}
END_TEST

START_TEST(a_later_release_that_asks_for_more_is_refused)
{
    struct lull_error error;
    kinds[_i].init();
    const size_t own = given.as.size;
    if (is_unsupported(_i)) {
        return;
    }
    ck_assert_msg(offer(_i, own + MORE, own, &error) == LULL_RC_INVALID, "%s", kinds[_i].what);
    ck_assert_msg(!kinds[_i].has_error || strstr(error.text, "a newer lull") != NULL, "%s", error.text);
    ck_assert_msg(offer(_i, own + MORE, own + MORE - 1, &error) == LULL_RC_INVALID, "%s", kinds[_i].what);
}
END_TEST

START_TEST(a_size_of_no_release_is_refused)
{
    struct lull_error error;
    if (is_unsupported(_i)) {
        return;
    }
    const size_t sizes[] = {kinds[_i].first - 1, sizeof(size_t), 0, SIZE_MAX, SIZE_MAX / 2};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        ck_assert_msg(offer(_i, sizes[i], 0, &error) == LULL_RC_INVALID, "%s, %zu", kinds[_i].what, sizes[i]);
        ck_assert_msg(!kinds[_i].has_error || strstr(error.text, "this library's is") != NULL, "%s", error.text);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("integ/release_sizes");
    TCase *t = tcase_create("release_sizes");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, a_size_of_this_release_or_of_a_later_one_that_asks_for_nothing_is_taken, 0, KINDS);
    tcase_add_loop_test(t, a_later_release_that_asks_for_more_is_refused, 0, KINDS);
    tcase_add_loop_test(t, a_size_of_no_release_is_refused, 0, KINDS);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("integ/release_sizes", suite)
