/* SPDX-License-Identifier: MIT */
/* endpoint_tls over real sockets: buffers that are too small, and a fork. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/endpoint_tcp.h"
#include "net/endpoint_tls.h"
#include "net/sys.h"
#include "tests/integ/net_support.h"
#include "tests/integ/tls_support.h"
#include "tests/support/check_main.h"

static struct net_world world;
static struct cert *ca, *leaf;
static struct endpoint *client, *server;
static struct net_peer client_told, server_told;

/* The smallest that the kernel gives. */
static void shrink(int fd)
{
    const int least = 1;
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof(least)), 0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)), 0);
}

static void wrap(struct endpoint *near, struct endpoint *far)
{
    struct lull_credentials *believing = tls_believing(ca);
    struct lull_credentials *showing = tls_showing(leaf);
    ck_assert_int_eq(endpoint_tls_client(world.loop, near, believing, "svc.test", &client), 0);
    ck_assert_int_eq(endpoint_tls_server(world.loop, far, showing, &server), 0);
    lull_credentials_unref(believing);
    lull_credentials_unref(showing);
}

static void begin(void)
{
    struct endpoint *near, *far;
    struct addr at;
    int fds[2];
    net_world_init(&world);
    ca = cert_ca("lull test CA", tls_now_s());
    leaf = cert_usual("leaf", "DNS:svc.test", ca, tls_now_s());
    /* TCP would wait for its own timers where buffers are so small. */
    ck_assert_int_eq(sys_socketpair(&world.own, fds), 0);
    shrink(fds[0]);
    shrink(fds[1]);
    ck_assert(addr_from_unix(&at, "pair"));
    net_enter(&world);
    ck_assert_int_eq(endpoint_tcp_adopt(world.loop, world.executor, fds[0], &at, &near), 0);
    ck_assert_int_eq(endpoint_tcp_adopt(world.loop, world.executor, fds[1], &at, &far), 0);
    wrap(near, far);
    net_leave(&world);
    net_peer_attach(&client_told, client);
    net_peer_attach(&server_told, server);
    net_enter(&world);
    ck_assert_int_eq(endpoint_want(server, LULL_WANT_READ), 0);
    net_leave(&world);
    /* Told that the handshake has begun, then that it is over. */
    for (int i = 0; i < 2; i++) {
        net_peer_wait(&world, &client_told, LULL_WANT_WRITE);
    }
    net_enter(&world);
    ck_assert_int_eq(endpoint_finish_connect(client), IO_OK);
}

static void end(void)
{
    endpoint_close(client);
    endpoint_close(server);
    net_leave(&world);
    net_world_fini(&world);
    cert_free(leaf);
    cert_free(ca);
}

/* `len` bytes one way, a write and a read at a time. */
static void carry(struct endpoint *from, struct endpoint *to, size_t len)
{
    uint8_t *sent = malloc(len), *got = malloc(len + 1);
    size_t at = 0, read = 0;
    unsigned refusals = 0;
    ck_assert(sent != NULL && got != NULL);
    for (size_t i = 0; i < len; i++) {
        sent[i] = (uint8_t)(i * 13 + i / 257);
    }
    while (read < len) {
        size_t some = 0, wrote = 0;
        struct io_piece piece = {sent + at, len - at < 70000 ? len - at : 70000};
        enum io io = at < len ? endpoint_writev(from, &piece, 1, &wrote) : IO_OK;
        ck_assert(io == IO_OK || io == IO_AGAIN);
        refusals += io == IO_AGAIN;
        at += wrote;
        io = endpoint_read(to, got + read, len + 1 - read, &some);
        ck_assert(io == IO_OK || io == IO_AGAIN);
        read += some;
    }
    ck_assert_uint_eq(read, len);
    ck_assert(memcmp(sent, got, len) == 0);
    ck_assert(len < 100000 || refusals > 0); /* the buffers were too small indeed */
    free(sent);
    free(got);
}

START_TEST(a_megabyte_passes_tiny_socket_buffers_both_ways)
{
    static const size_t lens[] = {1, 16385, 1048576, 1048579};
    begin();
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        carry(client, server, lens[i]);
        carry(server, client, lens[i]);
    }
    end();
}
END_TEST

#define GROWN_BYTES ((size_t)65536)

/* One offer of all from `at` to `end`, from a place of its own that is overwritten behind it. What was taken. */
static size_t offer(const uint8_t *all, size_t at, size_t end, unsigned *refusals)
{
    const size_t len = end - at;
    uint8_t *moved = malloc(len);
    size_t wrote = 0;
    ck_assert_ptr_nonnull(moved);
    memcpy(moved, all + at, len);
    const struct io_piece pieces[2] = {{moved, len / 3}, {moved + len / 3, len - len / 3}};
    const enum io io = endpoint_writev(client, pieces, 2, &wrote);
    ck_assert(io == IO_OK || (io == IO_AGAIN && wrote == 0));
    *refusals += io == IO_AGAIN;
    memset(moved, 0xee, len);
    free(moved);
    return wrote;
}

/* C32, RULINGS 24: what was enciphered and not written is offered again from elsewhere, each time with a byte more behind it. */
START_TEST(output_that_grows_and_moves_after_want_write_arrives_once)
{
    uint8_t *sent = malloc(GROWN_BYTES), *got = malloc(GROWN_BYTES + 1);
    size_t at = 0, read = 0, end_at = 20000;
    unsigned refusals = 0;
    ck_assert(sent != NULL && got != NULL);
    for (size_t i = 0; i < GROWN_BYTES; i++) {
        sent[i] = (uint8_t)(i * 11 + i / 253);
    }
    begin();
    while (read < GROWN_BYTES) {
        size_t some = 0;
        if (at < GROWN_BYTES) {
            at += offer(sent, at, end_at, &refusals);
            end_at += end_at < GROWN_BYTES ? 1 : 0;
            end_at = at < end_at ? end_at : GROWN_BYTES;
        }
        const enum io io = endpoint_read(server, got + read, GROWN_BYTES + 1 - read, &some);
        ck_assert(io == IO_OK || io == IO_AGAIN);
        read += some;
    }
    ck_assert_uint_gt(refusals, 2);
    ck_assert_uint_eq(read, GROWN_BYTES);
    ck_assert(memcmp(sent, got, GROWN_BYTES) == 0);
    end();
    free(sent);
    free(got);
}
END_TEST

/* RULINGS 27: the connection is the parent's; not even close_notify from a child. */
START_TEST(a_forked_child_that_closes_says_nothing)
{
    char few[16];
    size_t got;
    int status;
    begin();
    while (endpoint_read(client, few, sizeof(few), &got) == IO_OK) {
    }
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct io_piece piece = {"boo", 3};
        size_t wrote;
        bool is_refused = endpoint_writev(client, &piece, 1, &wrote) == IO_FAIL;
        endpoint_close(client);
        endpoint_close(server);
        _exit(is_refused ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(endpoint_read(client, few, sizeof(few), &got), IO_AGAIN);
    ck_assert_int_eq(endpoint_read(server, few, sizeof(few), &got), IO_AGAIN);
    carry(client, server, 5); /* the parent's records go on where they were */
    carry(server, client, 5);
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("integ/net_tls");
    TCase *t = tcase_create("sockets");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_megabyte_passes_tiny_socket_buffers_both_ways);
    tcase_add_test(t, output_that_grows_and_moves_after_want_write_arrives_once);
    tcase_add_test(t, a_forked_child_that_closes_says_nothing);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("integ/net_tls", suite)
