/* SPDX-License-Identifier: MIT */
/* endpoint_tcp, dial and sys on real sockets of this machine. */
#include "net/endpoint_tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exec/executor.h"
#include "net/sys.h"
#include "tests/integ/net_support.h"
#include "tests/support/check_main.h"

static struct net_world world;

START_TEST(a_listener_on_loopback_is_reached)
{
    struct net_peer peer;
    int far_fd;

    net_world_init(&world);
    net_dial_connected(&world, &peer, NULL, &far_fd);
    ck_assert_int_eq(strncmp(peer.endpoint->peer.text, "127.0.0.1:", 10), 0);
    net_exchange(&world, &peer, far_fd);
    net_close(&world, peer.endpoint);
    net_world_fini(&world);
}
END_TEST

START_TEST(ipv6_loopback_is_reached_where_there_is_one)
{
    struct addr any;
    struct net_peer peer;
    int far_fd, probe, err;

    net_world_init(&world);
    ck_assert(addr_from_ip(&any, "::1", 0));
    err = sys_socket(&world.own, AF_INET6, &probe);
    if (err == 0) {
        err = sys_bind(&world.own, probe, &any);
        close(probe);
    }
    /* A machine without IPv6 says so with one of these; nothing else is an excuse. */
    ck_assert(err == 0 || err == EAFNOSUPPORT || err == EADDRNOTAVAIL);
    if (err == 0) {
        net_dial_connected(&world, &peer, &any, &far_fd);
        ck_assert_int_eq(strncmp(peer.endpoint->peer.text, "[::1]:", 6), 0);
        net_exchange(&world, &peer, far_fd);
        net_close(&world, peer.endpoint);
    }
    net_world_fini(&world);
}
END_TEST

START_TEST(a_unix_socket_is_reached_by_path)
{
    struct addr at;
    struct net_peer peer;
    char path[64];
    int far_fd;

    net_world_init(&world);
    net_path_make(path, sizeof(path));
    ck_assert(addr_from_unix(&at, path));
    net_dial_connected(&world, &peer, &at, &far_fd);
    ck_assert_int_eq(endpoint_write_timeout(peer.endpoint, LULL_SECOND), 0);
    ck_assert_int_eq(endpoint_system_keepalive(peer.endpoint, false), 0);
    net_exchange(&world, &peer, far_fd);
    net_close(&world, peer.endpoint);
    net_path_drop(path);
    net_world_fini(&world);
}
END_TEST

START_TEST(a_unix_socket_is_reached_by_abstract_name)
{
    struct addr at;
    struct net_peer peer;
    char name[64];
    int far_fd;

    net_world_init(&world);
    snprintf(name, sizeof(name), "lull-net-tcp-test-%d", (int)getpid());
    ck_assert(addr_from_abstract(&at, name));
    net_dial_connected(&world, &peer, &at, &far_fd);
    net_exchange(&world, &peer, far_fd);
    net_close(&world, peer.endpoint);
    net_world_fini(&world);
}
END_TEST

START_TEST(a_refused_port_says_so_in_words)
{
    struct addr where;
    struct net_peer peer;
    char text[160], expected[160];
    int holder;

    net_world_init(&world);
    holder = net_refusing(&world, &where);
    net_peer_attach(&peer, net_dial(&world, &where));
    net_peer_wait(&world, &peer, LULL_WANT_WRITE);
    net_enter(&world);
    ck_assert_int_eq(endpoint_finish_connect(peer.endpoint), IO_FAIL);
    net_leave(&world);
    ck_assert_int_eq(peer.endpoint->sys_errno, ECONNREFUSED);
    endpoint_error_text(peer.endpoint, text, sizeof(text));
    snprintf(expected, sizeof(expected), "connect %.60s: connection refused", where.text);
    ck_assert_msg(strncmp(text, expected, strlen(expected)) == 0, "%s", text);
    net_close(&world, peer.endpoint);
    close(holder);
    net_world_fini(&world);
}
END_TEST

START_TEST(a_path_that_is_missing_fails_at_once_and_makes_nothing)
{
    struct addr at;
    struct endpoint *endpoint = NULL;
    int fds;

    net_world_init(&world);
    fds = net_count_fds();
    ck_assert(addr_from_unix(&at, "/nonexistent/lull.sock"));
    net_enter(&world);
    ck_assert_int_eq(endpoint_tcp_dial(world.loop, world.executor, &at, NULL, &endpoint), ENOENT);
    net_leave(&world);
    ck_assert_ptr_null(endpoint);
    ck_assert_int_eq(net_count_fds(), fds);
    net_world_fini(&world);
}
END_TEST

START_TEST(a_dial_without_a_descriptor_left_says_emfile)
{
    struct addr where;
    struct rlimit limit, none;
    struct endpoint *endpoint = NULL;
    int holder, err;

    net_world_init(&world);
    holder = net_refusing(&world, &where);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0; /* the open ones stay */
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    net_enter(&world);
    err = endpoint_tcp_dial(world.loop, world.executor, &where, NULL, &endpoint);
    net_leave(&world);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_int_eq(err, EMFILE);
    ck_assert_ptr_null(endpoint);
    close(holder);
    net_world_fini(&world);
}
END_TEST

/* A full backlog: the SYN is dropped, and the last of these dials stays under way. Returns how many there are. */
static size_t fill_backlog(int *listener, struct endpoint *fill[8], struct net_peer *last)
{
    struct addr where;
    bool is_pending = false;
    size_t count = 0;

    *listener = net_listen(&world, NULL, 0, &where);
    while (count < 8 && !is_pending) {
        net_peer_attach(last, fill[count++] = net_dial(&world, &where));
        net_enter(&world);
        is_pending = endpoint_finish_connect(last->endpoint) == IO_AGAIN;
        net_leave(&world);
    }
    ck_assert(is_pending);
    return count;
}

START_TEST(a_connect_under_way_says_again_and_can_be_given_up)
{
    struct endpoint *fill[8];
    struct net_peer peer;
    int listener;

    net_world_init(&world);
    size_t count = fill_backlog(&listener, fill, &peer);
    net_enter(&world);
    ck_assert_int_eq(endpoint_want(peer.endpoint, LULL_WANT_WRITE), 0);
    net_leave(&world);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
    ck_assert_int_eq(peer.told, 0);
    while (count > 0) {
        net_close(&world, fill[--count]);
    }
    close(listener);
    net_world_fini(&world);
}
END_TEST

/* The peer's name says it; what went wrong is asked only of one that has none. */
START_TEST(that_a_connect_succeeded_later_is_one_system_call)
{
    struct endpoint *fill[8];
    struct net_peer peer;
    int listener;

    net_world_init(&world);
    size_t count = fill_backlog(&listener, fill, &peer);
    for (size_t i = 1; i < count; i++) {
        close(net_accept(&world, listener, NULL));
    }
    net_peer_wait(&world, &peer, LULL_WANT_WRITE); /* the system sends the SYN again, a second later */
    net_enter(&world);
    const uint64_t before = executor_counters(peer.endpoint->executor)->syscalls;
    ck_assert_int_eq(endpoint_finish_connect(peer.endpoint), IO_OK);
    ck_assert_uint_eq(executor_counters(peer.endpoint->executor)->syscalls, before + 1);
    ck_assert_int_eq(endpoint_finish_connect(peer.endpoint), IO_OK);
    ck_assert_uint_eq(executor_counters(peer.endpoint->executor)->syscalls, before + 1);
    net_leave(&world);
    while (count > 0) {
        net_close(&world, fill[--count]);
    }
    close(listener);
    net_world_fini(&world);
}
END_TEST

static int option_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof(value);

    ck_assert_int_eq(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

START_TEST(a_tcp_connection_starts_with_nodelay_and_keepalive)
{
    struct net_peer peer;
    int far_fd, fd;

    net_world_init(&world);
    net_dial_connected(&world, &peer, NULL, &far_fd);
    fd = peer.endpoint->watch.fd;
    ck_assert_int_ne(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 0);
    ck_assert_int_ne(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
    ck_assert_int_eq(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), 45);
    ck_assert_int_eq(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), 15);
    ck_assert_int_eq(option_of(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
    ck_assert_int_eq(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
    net_enter(&world);
    ck_assert_int_eq(endpoint_system_keepalive(peer.endpoint, false), 0);
    ck_assert_int_eq(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
    ck_assert_int_eq(endpoint_system_keepalive(peer.endpoint, true), 0);
    ck_assert_int_ne(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
    /* RULINGS 7: rounded up, never to 0, which would be the system's own limit */
    ck_assert_int_eq(endpoint_write_timeout(peer.endpoint, 20 * LULL_SECOND), 0);
    ck_assert_int_eq(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 20000);
    ck_assert_int_eq(endpoint_write_timeout(peer.endpoint, 1), 0);
    ck_assert_int_eq(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 1);
    ck_assert_int_eq(endpoint_write_timeout(peer.endpoint, LULL_NEVER - 1), 0);
    ck_assert_int_eq(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), INT32_MAX);
    ck_assert_int_eq(endpoint_write_timeout(peer.endpoint, LULL_NEVER), 0);
    ck_assert_int_eq(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
    net_leave(&world);
    close(far_fd);
    net_close(&world, peer.endpoint);
    net_world_fini(&world);
}
END_TEST

/* What is lost is sent again at least eight times in the write timeout, where the system can be told so (Linux 6.15). */
START_TEST(a_write_timeout_limits_the_wait_between_resends)
{
    static const struct {
        int64_t timeout_ns;
        int limit_ms;
    } rows[] = {{20 * LULL_SECOND, 2500}, {LULL_SECOND, 1000}, {LULL_HOUR, 120000}};
    const int name = 44; /* TCP_RTO_MAX_MS */
    struct net_peer peer;
    int far_fd, value = 0;
    socklen_t len = sizeof(value);

    net_world_init(&world);
    net_dial_connected(&world, &peer, NULL, &far_fd);
    const bool can = getsockopt(peer.endpoint->watch.fd, IPPROTO_TCP, name, &value, &len) == 0;
    net_enter(&world);
    ck_assert_int_eq(endpoint_write_timeout(peer.endpoint, rows[_i].timeout_ns), 0);
    if (can) {
        const int limit_ms = option_of(peer.endpoint->watch.fd, IPPROTO_TCP, name);
        /* the system counts in ticks of its own */
        ck_assert_int_ge(limit_ms, rows[_i].limit_ms);
        ck_assert_int_lt(limit_ms, rows[_i].limit_ms + 20);
    }
    /* Taken back and set again it stays: the steady way costs one system call, not two. */
    ck_assert_int_eq(endpoint_write_timeout(peer.endpoint, LULL_NEVER), 0);
    const uint64_t before = executor_counters(peer.endpoint->executor)->syscalls;
    ck_assert_int_eq(endpoint_write_timeout(peer.endpoint, rows[_i].timeout_ns), 0);
    ck_assert_uint_eq(executor_counters(peer.endpoint->executor)->syscalls, before + 1);
    net_leave(&world);
    close(far_fd);
    net_close(&world, peer.endpoint);
    net_world_fini(&world);
}
END_TEST

/* A peer that reads nothing: bytes wait for it, so the limit on them is not taken back. */
START_TEST(the_write_timeout_of_bytes_on_their_way_is_not_taken_back)
{
    static const char bytes[4096];
    const struct io_piece piece = {bytes, sizeof(bytes)};
    struct net_peer peer;
    size_t wrote;
    int far_fd, fd;

    net_world_init(&world);
    net_dial_connected(&world, &peer, NULL, &far_fd);
    fd = peer.endpoint->watch.fd;
    net_enter(&world);
    ck_assert_int_eq(endpoint_write_timeout(peer.endpoint, 20 * LULL_SECOND), 0);
    while (endpoint_writev(peer.endpoint, &piece, 1, &wrote) == IO_OK) {
        continue;
    }
    ck_assert_int_eq(endpoint_write_timeout(peer.endpoint, LULL_NEVER), EAGAIN);
    ck_assert_int_eq(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 20000);
    net_leave(&world);
    close(far_fd);
    net_close(&world, peer.endpoint);
    net_world_fini(&world);
}
END_TEST

#ifdef MSG_MORE
/* What is on its way on the loopback has arrived when the system call is over. */
static ssize_t arrived(int fd, char *into, size_t size)
{
    return recv(fd, into, size, MSG_DONTWAIT);
}

START_TEST(a_small_packet_waits_for_the_writes_behind_it_or_for_a_push)
{
    const struct io_piece piece = {"abc", 3};
    struct net_peer peer;
    char bytes[16];
    size_t wrote;
    int far_fd;

    net_world_init(&world);
    net_dial_connected(&world, &peer, NULL, &far_fd);
    net_enter(&world);
    ck_assert_int_eq(endpoint_writev_more(peer.endpoint, &piece, 1, &wrote), IO_OK);
    ck_assert_uint_eq(wrote, 3);
    ck_assert_int_eq(arrived(far_fd, bytes, sizeof(bytes)), -1);
    ck_assert_int_eq(endpoint_writev(peer.endpoint, &piece, 1, &wrote), IO_OK);
    ck_assert_int_eq(arrived(far_fd, bytes, sizeof(bytes)), 6);
    ck_assert_int_eq(endpoint_writev_more(peer.endpoint, &piece, 1, &wrote), IO_OK);
    ck_assert_int_eq(arrived(far_fd, bytes, sizeof(bytes)), -1);
    endpoint_push(peer.endpoint);
    ck_assert_int_eq(arrived(far_fd, bytes, sizeof(bytes)), 3);
    net_leave(&world);
    close(far_fd);
    net_close(&world, peer.endpoint);
    net_world_fini(&world);
}
END_TEST

START_TEST(a_small_packet_that_waits_goes_out_when_the_connection_is_closed)
{
    const struct io_piece piece = {"abc", 3};
    struct net_peer peer;
    char bytes[16];
    size_t wrote;
    int far_fd;

    net_world_init(&world);
    net_dial_connected(&world, &peer, NULL, &far_fd);
    net_enter(&world);
    ck_assert_int_eq(endpoint_writev_more(peer.endpoint, &piece, 1, &wrote), IO_OK);
    net_leave(&world);
    net_close(&world, peer.endpoint);
    ck_assert_int_eq(arrived(far_fd, bytes, sizeof(bytes)), 3);
    close(far_fd);
    net_world_fini(&world);
}
END_TEST
#endif

/* On the loopback the peer has answered when connect returns. */
START_TEST(a_dial_that_connects_at_once_is_told_without_the_loop)
{
    struct addr where;
    struct net_peer peer;
    net_world_init(&world);
    const int listener = net_listen(&world, NULL, 8, &where);
    net_peer_attach(&peer, net_dial(&world, &where));
    net_enter(&world);
    const uint64_t before = executor_counters(peer.endpoint->executor)->syscalls;
    ck_assert_int_eq(endpoint_want(peer.endpoint, LULL_WANT_WRITE), 0);
    ck_assert_int_eq(peer.told, 0); /* by the turn, and not on the stack of who asks */
    ck_assert_int_eq(endpoint_finish_connect(peer.endpoint), IO_OK);
    ck_assert_uint_eq(executor_counters(peer.endpoint->executor)->syscalls, before);
    net_leave(&world);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
    ck_assert_int_eq(peer.told, 1);
    ck_assert_uint_eq(peer.ready, LULL_WANT_WRITE);
    /* Once; who asks again asks the loop, which goes on telling. */
    net_peer_wait(&world, &peer, LULL_WANT_WRITE);
    net_peer_wait(&world, &peer, LULL_WANT_WRITE);
    ck_assert_int_eq(peer.told, 3);
    close(listener);
    net_close(&world, peer.endpoint);
    net_world_fini(&world);
}
END_TEST

START_TEST(a_dial_that_connected_at_once_may_be_closed_before_it_is_told)
{
    struct addr where;
    struct net_peer peer;
    net_world_init(&world);
    const int listener = net_listen(&world, NULL, 8, &where);
    net_peer_attach(&peer, net_dial(&world, &where));
    net_enter(&world);
    ck_assert_int_eq(endpoint_want(peer.endpoint, LULL_WANT_WRITE), 0);
    net_leave(&world);
    net_close(&world, peer.endpoint);
    ck_assert_int_eq(peer.told, 0);
    net_peer_attach(&peer, net_dial(&world, &where));
    net_enter(&world);
    ck_assert_int_eq(endpoint_want(peer.endpoint, LULL_WANT_WRITE), 0);
    ck_assert_int_eq(endpoint_want(peer.endpoint, LULL_WANT_NONE), 0);
    net_leave(&world);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
    ck_assert_int_eq(peer.told, 0);
    net_close(&world, peer.endpoint);
    close(listener);
    net_world_fini(&world);
}
END_TEST

START_TEST(a_write_after_a_reset_fails_and_raises_no_signal)
{
    const struct linger abort_close = {.l_onoff = 1, .l_linger = 0};
    struct net_peer peer;
    char byte;
    size_t n;
    int far_fd;

    net_world_init(&world);
    net_dial_connected(&world, &peer, NULL, &far_fd);
    ck_assert_int_eq(setsockopt(far_fd, SOL_SOCKET, SO_LINGER, &abort_close, sizeof(abort_close)),
                     0);
    close(far_fd);
    net_peer_wait(&world, &peer, LULL_WANT_READ);
    ck_assert_int_eq(net_read(&world, peer.endpoint, &byte, 1, &n), IO_FAIL);
    ck_assert_int_eq(peer.endpoint->sys_errno, ECONNRESET);
    ck_assert_str_eq(peer.endpoint->phase_text, "read");
    /* SIGPIPE has its default action here: it would end the test */
    ck_assert_int_eq(net_write(&world, peer.endpoint, "x", &n), IO_FAIL);
    ck_assert_int_eq(peer.endpoint->sys_errno, EPIPE);
    ck_assert_str_eq(peer.endpoint->phase_text, "write");
    ck_assert_uint_eq(n, 0);
    net_close(&world, peer.endpoint);
    net_world_fini(&world);
}
END_TEST

static int closes;

static void close_self(struct endpoint *endpoint, unsigned ready)
{
    ck_assert_uint_ne(ready & LULL_WANT_READ, 0);
    closes++;
    endpoint_close(endpoint);
    endpoint_close(endpoint); /* within the turn it is still there */
}

static bool has_closed(void *ctx)
{
    (void)ctx;
    return closes > 0;
}

START_TEST(closing_in_on_ready_is_legal)
{
    struct net_peer peer;
    int far_fd;
    char byte;

    closes = 0;
    net_world_init(&world);
    net_dial_connected(&world, &peer, NULL, &far_fd);
    peer.endpoint->on_ready = close_self;
    net_enter(&world);
    ck_assert_int_eq(endpoint_want(peer.endpoint, LULL_WANT_READ | LULL_WANT_WRITE), 0);
    net_leave(&world);
    ck_assert_int_eq(send(far_fd, "x", 1, MSG_NOSIGNAL), 1);
    /* writable comes at once; wait for both */
    net_enter(&world);
    ck_assert_int_eq(endpoint_want(peer.endpoint, LULL_WANT_READ), 0);
    net_leave(&world);
    net_run_until(&world, has_closed, NULL);
    ck_assert_int_eq(closes, 1);
    net_wait_fd(far_fd, POLLIN);
    ck_assert_int_le(recv(far_fd, &byte, 1, 0), 0);
    close(far_fd);
    net_world_fini(&world);
}
END_TEST

START_TEST(an_accepted_socket_knows_its_peer)
{
    struct addr where, from;
    struct endpoint *near_end, *far_end;
    char bytes[8];
    size_t n;
    struct net_peer peer;
    int listener, fd;

    net_world_init(&world);
    listener = net_listen(&world, NULL, 8, &where);
    ck_assert_int_eq(sys_accept(&world.own, listener, &fd, NULL), EAGAIN);
    near_end = net_dial(&world, &where);
    fd = net_accept(&world, listener, &from);
    ck_assert_int_eq(strncmp(from.text, "127.0.0.1:", 10), 0);
    net_enter(&world);
    ck_assert_int_eq(endpoint_tcp_adopt(world.loop, world.executor, fd, &from, &far_end), 0);
    ck_assert_int_eq(endpoint_finish_connect(far_end), IO_OK);
    net_leave(&world);
    ck_assert_int_ne(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 0);
    ck_assert_int_eq(net_write(&world, far_end, "hi", &n), IO_OK);
    net_peer_attach(&peer, near_end);
    net_peer_wait(&world, &peer, LULL_WANT_READ);
    ck_assert_int_eq(net_read(&world, near_end, bytes, sizeof(bytes), &n), IO_OK);
    ck_assert_mem_eq(bytes, "hi", 2);
    net_close(&world, near_end);
    net_close(&world, far_end);
    close(listener);
    net_world_fini(&world);
}
END_TEST

static Suite *net_tcp_suite(void)
{
    Suite *suite = suite_create("net_tcp");
    TCase *cases = tcase_create("net_tcp");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, a_listener_on_loopback_is_reached);
    tcase_add_test(cases, ipv6_loopback_is_reached_where_there_is_one);
    tcase_add_test(cases, a_unix_socket_is_reached_by_path);
    tcase_add_test(cases, a_unix_socket_is_reached_by_abstract_name);
    tcase_add_test(cases, a_refused_port_says_so_in_words);
    tcase_add_test(cases, a_path_that_is_missing_fails_at_once_and_makes_nothing);
    tcase_add_test(cases, a_dial_without_a_descriptor_left_says_emfile);
    tcase_add_test(cases, that_a_connect_succeeded_later_is_one_system_call);
    tcase_add_test(cases, a_connect_under_way_says_again_and_can_be_given_up);
    tcase_add_test(cases, a_tcp_connection_starts_with_nodelay_and_keepalive);
    tcase_add_test(cases, the_write_timeout_of_bytes_on_their_way_is_not_taken_back);
    tcase_add_loop_test(cases, a_write_timeout_limits_the_wait_between_resends, 0, 3);
#ifdef MSG_MORE
    tcase_add_test(cases, a_small_packet_waits_for_the_writes_behind_it_or_for_a_push);
    tcase_add_test(cases, a_small_packet_that_waits_goes_out_when_the_connection_is_closed);
#endif
    tcase_add_test(cases, a_dial_that_connects_at_once_is_told_without_the_loop);
    tcase_add_test(cases, a_dial_that_connected_at_once_may_be_closed_before_it_is_told);
    tcase_add_test(cases, a_write_after_a_reset_fails_and_raises_no_signal);
    tcase_add_test(cases, closing_in_on_ready_is_legal);
    tcase_add_test(cases, an_accepted_socket_knows_its_peer);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("net_tcp", net_tcp_suite)
