/* SPDX-License-Identifier: MIT */
/*
 * What a peer, the kernel or a host's loop may do to a connection: the call that waited for it ends with the phase, the address and the
 * reason, and the good connection beside it on the same loop goes on. The rows are those of doc/BAD_INPUT.md.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/dial.h"
#include "tests/integ/bad_input.h"
#include "tests/support/check_main.h"

static struct bad bad;
static char target[64];

/* A call on a channel of its own. */
static void call_on(struct lull_channel *channel, struct bad_call *call)
{
    struct lull_call_options options;
    lull_call_options_init(&options, METHOD_ECHO);
    bad_unary(&bad, channel, &options, 5, call);
    lull_channel_close(channel);
    lull_channel_unref(channel);
}

/* ---- peers */

/* What a raw peer does with the first connection. */
static const char *words;
static size_t words_len;
static bool resets, closes;
static int peer_fd;
static bool is_done;

static void poke(struct bad *which)
{
    static const struct linger hard = {.l_onoff = 1, .l_linger = 0};
    char preface[4096];
    if (is_done) {
        return;
    }
    if (peer_fd < 0) {
        peer_fd = bad_accept(which);
    }
    /* Once the client has connected and said so. */
    if (peer_fd < 0 || recv(peer_fd, preface, sizeof(preface), MSG_DONTWAIT) <= 0) {
        return;
    }
    is_done = true;
    ck_assert_int_eq(write(peer_fd, words, words_len), (ssize_t)words_len);
    if (resets) {
        ck_assert_int_eq(setsockopt(peer_fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
    }
    if (resets || closes) {
        close(peer_fd);
        peer_fd = -1;
    }
}

static void meet(const char *input, const char *said, size_t len, const char *says)
{
    struct bad_call call;
    bad_begin(&bad, NULL);
    bad_listen(&bad, target);
    words = said;
    words_len = len;
    peer_fd = -1;
    is_done = false;
    bad.poke = poke;
    call_on(bad_channel(&bad, target), &call);
    bad.poke = NULL;
    if (peer_fd >= 0) {
        close(peer_fd);
    }
    ck_assert_ptr_nonnull(strstr(call.message, target)); /* which address */
    bad_ended(&bad, input, &call, LULL_CODE_UNAVAILABLE, LULL_REASON_CONNECT, LULL_PHASE_SETTINGS, says);
    bad_end(&bad);
}

static void set_up(void)
{
    resets = closes = false;
}

START_TEST(a_peer_that_speaks_http_1)
{
    static const char said[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
    meet("a peer that speaks HTTP/1.1", said, sizeof(said) - 1, "HTTP/1.1");
}
END_TEST

START_TEST(a_peer_that_speaks_tls_where_plaintext_is_expected)
{
    static const char alert[] = {0x15, 3, 3, 0, 2, 2, 0x46}; /* fatal, protocol_version */
    meet("a peer that speaks TLS, plaintext expected", alert, sizeof(alert), "TLS");
}
END_TEST

START_TEST(a_peer_that_sends_garbage_instead_of_settings)
{
    static const char said[] = "\x00\x01 some garbage that is no frame\x1b[2J\n";
    meet("a peer that sends garbage instead of SETTINGS", said, sizeof(said) - 1, "\\x1b[2J");
}
END_TEST

START_TEST(a_peer_whose_first_frame_is_no_settings)
{
    static const char ping[] = "\0\0\10\6\0\0\0\0\0" "12345678";
    meet("a peer whose first frame is a PING", ping, sizeof(ping) - 1, "");
}
END_TEST

START_TEST(a_peer_that_accepts_and_resets)
{
    resets = true;
    meet("a peer that accepts and resets", "", 0, "connection reset by peer");
}
END_TEST

START_TEST(a_peer_that_accepts_and_closes)
{
    closes = true;
    meet("a peer that accepts and closes", "", 0, "the peer closed the connection");
}
END_TEST

START_TEST(nobody_listens)
{
    struct bad_call call;
    bad_begin(&bad, NULL);
    bad_listen(&bad, target);
    close(bad.listener);
    bad.listener = -1;
    call_on(bad_channel(&bad, target), &call);
    ck_assert_int_eq(call.sys_errno, ECONNREFUSED);
    bad_ended(&bad, "nobody listens", &call, LULL_CODE_UNAVAILABLE, LULL_REASON_CONNECT, LULL_PHASE_CONNECTING, "connection refused");
    bad_end(&bad);
}
END_TEST

START_TEST(a_socket_that_is_not_there)
{
    struct bad_call call;
    bad_begin(&bad, NULL);
    call_on(bad_channel(&bad, "unix:/nonexistent/socket"), &call);
    ck_assert_int_eq(call.sys_errno, ENOENT);
    bad_ended(&bad, "unix:/nonexistent/socket", &call, LULL_CODE_UNAVAILABLE, LULL_REASON_CONNECT, LULL_PHASE_CONNECTING, "no such file");
    bad_end(&bad);
}
END_TEST

/* ---- the kernel */

START_TEST(no_descriptor_is_left)
{
    struct rlimit before, few;
    struct bad_call call;
    int taken[64];
    size_t count = 0;
    bad_begin(&bad, NULL);
    struct lull_channel *channel = bad_channel(&bad, bad.target);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 64;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (count < 64 && (taken[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
        count++;
    }
    call_on(channel, &call);
    bad_expect_good(&bad); /* without a descriptor to spare */
    while (count > 0) {
        close(taken[--count]);
    }
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(call.sys_errno, EMFILE);
    bad_ended(&bad, "EMFILE at the socket", &call, LULL_CODE_UNAVAILABLE, LULL_REASON_CONNECT, LULL_PHASE_CONNECTING, "too many open files");
    bad_end(&bad);
}
END_TEST

static int dial_nothing(struct lull_dialer *dialer, struct lull_loop *loop, struct lull_executor *executor,
                        const struct addr *to, struct endpoint **out)
{
    (void)dialer;
    (void)loop;
    (void)executor;
    (void)to;
    (void)out;
    return ENOMEM;
}

START_TEST(no_memory_to_connect)
{
    static const struct dialer_ops ops = {.dial = dial_nothing};
    struct lull_dialer dialer = {.ops = &ops};
    struct lull_channel_options options;
    struct lull_channel *channel;
    struct lull_world world;
    struct bad_call call;
    bad_begin(&bad, NULL);
    bad_channel_options(&bad, &options);
    lull_world_init(&world);
    world.dial = &dialer;
    options.world = &world;
    ck_assert_int_eq(lull_channel_new(bad.target, &options, &channel, NULL), LULL_OK);
    call_on(channel, &call);
    ck_assert_int_eq(call.sys_errno, ENOMEM);
    bad_ended(&bad, "ENOMEM at connect", &call, LULL_CODE_UNAVAILABLE, LULL_REASON_CONNECT, LULL_PHASE_CONNECTING, "cannot allocate memory");
    bad_end(&bad);
}
END_TEST

static int refuse_socket(void *ctx, int fd)
{
    (void)ctx;
    (void)fd;
    return EPERM;
}

START_TEST(the_programs_own_socket_hook_says_no)
{
    struct lull_channel_options options;
    struct lull_channel *channel;
    struct bad_call call;
    bad_begin(&bad, NULL);
    bad_channel_options(&bad, &options);
    options.on_socket = refuse_socket;
    ck_assert_int_eq(lull_channel_new(bad.target, &options, &channel, NULL), LULL_OK);
    call_on(channel, &call);
    ck_assert_int_eq(call.sys_errno, EPERM);
    bad_ended(&bad, "on_socket that returns EPERM", &call, LULL_CODE_UNAVAILABLE, LULL_REASON_CONNECT, LULL_PHASE_CONNECTING,
              "socket hook: operation not permitted");
    bad_end(&bad);
}
END_TEST

/* ---- a host's loop */

static struct poll_host host;
static struct lull_loop_ops host_ops;
static int (*watch_well)(struct lull_loop *loop, struct lull_watch *w, unsigned want);
static bool refuses_watches;

static int watch_or_not(struct lull_loop *loop, struct lull_watch *w, unsigned want)
{
    return refuses_watches && want != LULL_WANT_NONE ? ENOSPC : watch_well(loop, w, want);
}

START_TEST(a_host_loop_that_watches_no_more)
{
    struct bad_call call;
    poll_host_init(&host, 0, 0, 1);
    host_ops = *host.loop.ops;
    watch_well = host_ops.watch;
    host_ops.watch = watch_or_not;
    host.loop.ops = &host_ops;
    refuses_watches = false;
    bad_begin(&bad, &host);
    bad_listen(&bad, target);
    refuses_watches = true;
    call_on(bad_channel(&bad, target), &call);
    refuses_watches = false;
    ck_assert_int_eq(call.sys_errno, ENOSPC);
    bad_ended(&bad, "a host loop whose watch returns ENOSPC", &call, LULL_CODE_UNAVAILABLE, LULL_REASON_CONNECT, LULL_PHASE_CONNECTING,
              "the loop does not watch the socket: no space left on device");
    bad_end(&bad);
}
END_TEST

/* RULINGS 18: the calls that counted on the alarm fail; the good ones have no deadline and live. */
START_TEST(a_host_loop_that_refuses_the_alarm)
{
    struct lull_call_options options;
    struct bad_call call;
    poll_host_init(&host, HOSTILE_REFUSES, 1, 1);
    bad_begin(&bad, &host);
    bad_listen(&bad, target);
    lull_call_options_init(&options, METHOD_ECHO);
    options.timeout_ns = 3600 * LULL_SECOND;
    struct lull_channel *channel = bad_channel(&bad, target);
    bad_unary(&bad, channel, &options, 5, &call);
    lull_channel_close(channel);
    lull_channel_unref(channel);
    bad_ended(&bad, "a host loop that refuses the alarm", &call, LULL_CODE_INTERNAL, LULL_REASON_INTERNAL, LULL_PHASE_SETTINGS,
              "host loop refused the alarm");
    bad_end(&bad);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("integ/bad_input_peers");
    TCase *t = tcase_create("peers");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, NULL);
    tcase_add_test(t, a_peer_that_speaks_http_1);
    tcase_add_test(t, a_peer_that_speaks_tls_where_plaintext_is_expected);
    tcase_add_test(t, a_peer_that_sends_garbage_instead_of_settings);
    tcase_add_test(t, a_peer_whose_first_frame_is_no_settings);
    tcase_add_test(t, a_peer_that_accepts_and_resets);
    tcase_add_test(t, a_peer_that_accepts_and_closes);
    tcase_add_test(t, nobody_listens);
    tcase_add_test(t, a_socket_that_is_not_there);
    tcase_add_test(t, no_descriptor_is_left);
    tcase_add_test(t, no_memory_to_connect);
    tcase_add_test(t, the_programs_own_socket_hook_says_no);
    tcase_add_test(t, a_host_loop_that_watches_no_more);
    tcase_add_test(t, a_host_loop_that_refuses_the_alarm);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("integ/bad_input_peers", suite)
