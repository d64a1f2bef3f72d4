/* SPDX-License-Identifier: MIT */
/* endpoint_tls and a peer that means harm, or a name that means more than it says. */
#include <stdlib.h>

#include "tests/support/check_main.h"
#include "tests/support/rounds.h"
#include "tests/unit/net/scarce_openssl.h"
#include "tests/unit/net/tls_world.h"

#define ROUND_UPDATES 1000

static struct endpoint_tls *tls_of(struct endpoint *end)
{
    return container_of(end, struct endpoint_tls, base);
}

/* A row of KeyUpdates (RFC 8446 section 4.6.3) of the server's, whatever becomes of them; false: the pipe is full. */
static bool send_key_updates(int count, int kind)
{
    struct endpoint_tls *s = tls_of(server);
    for (int i = 0; i < count && !tls_wire_is_holding(&s->wire); i++) {
        ck_assert_int_eq(SSL_key_update(s->ssl, kind), 1);
        tls_wire_begin(&s->wire);
        ck_assert_int_eq(SSL_do_handshake(s->ssl), 1);
        (void)tls_wire_end(&s->wire);
    }
    return !tls_wire_is_holding(&s->wire);
}

static size_t read_some(struct endpoint *from, enum io *io)
{
    static char bytes[65536];
    size_t got;
    *io = endpoint_read(from, bytes, sizeof(bytes), &got);
    run();
    return got;
}

/* Each is answered, and the answers lie here since the server takes none. */
START_TEST(a_peer_that_takes_no_answers_is_waited_for_and_not_asked_in_a_circle)
{
    enum io io = IO_OK;
    size_t sent = 0, came = 0;
    make_credentials("DNS:svc.test");
    begin_tls((struct pipe_options){0}, "svc.test");
    ck_assert_int_eq(shake_hands(), IO_OK);
    for (int i = 0; i < 100 && !tls_of(client)->is_jammed; i++) {
        ck_assert(send_key_updates(ROUND_UPDATES, SSL_KEY_UPDATE_REQUESTED));
        ck_assert_uint_eq(write_all(server, "x", 1), 1);
        sent++;
        run();
        do {
            came += read_some(client, &io);
        } while (tls_of(client)->has_more);
        ck_assert_int_ne(io, IO_FAIL);
    }
    ck_assert(tls_of(client)->is_jammed);
    ck_assert(send_key_updates(1, SSL_KEY_UPDATE_REQUESTED));
    ck_assert_uint_eq(write_all(server, "x", 1), 1);
    sent++;
    /* There is something to read, and nobody is told. */
    client->on_ready = hear;
    heard_a.told = 0;
    ck_assert_int_eq(endpoint_want(client, LULL_WANT_READ), 0);
    run();
    ck_assert_int_eq(heard_a.told, 0);
    /* The server takes the answers: all that it had sent is read. */
    client->on_ready = hear_once;
    for (int i = 0; i < 10000 && came < sent; i++) {
        (void)read_some(server, &io);
        if (heard_a.told > 0) {
            heard_a.told = 0;
            came += read_some(client, &io);
            ck_assert_int_eq(endpoint_want(client, LULL_WANT_READ), 0);
        }
    }
    ck_assert_uint_eq(came, sent);
    end_tls();
    drop_credentials();
}
END_TEST

/* OpenSSL reads on by itself, as long as something comes, before it says that there is no data. */
START_TEST(messages_of_tls_without_data_end_a_read_and_then_the_connection)
{
    enum io io = IO_AGAIN;
    int reads = 0;
    make_credentials("DNS:svc.test");
    begin_tls((struct pipe_options){.capacity_bytes = 1024 * 1024}, "svc.test");
    ck_assert_int_eq(shake_hands(), IO_OK);
    (void)read_some(client, &io);
    ck_assert(send_key_updates(10 * ROUND_UPDATES, SSL_KEY_UPDATE_NOT_REQUESTED));
    run();
    while (io == IO_AGAIN && reads < 10) {
        (void)read_some(client, &io);
        ck_assert_uint_le(tls_of(client)->wire.came, TLS_WIRE_GO_BYTES + 32 * 1024);
        reads++;
    }
    ck_assert_int_eq(io, IO_FAIL);
    ck_assert_str_eq(failure(client), "read 10.0.0.2:80: TLS: the peer sends messages of TLS and no data");
    end_tls();
    drop_credentials();
}
END_TEST

START_TEST(data_between_them_keeps_the_connection)
{
    enum io io;
    size_t got = 0;
    make_credentials("DNS:svc.test");
    begin_tls((struct pipe_options){.capacity_bytes = 1024 * 1024}, "svc.test");
    ck_assert_int_eq(shake_hands(), IO_OK);
    for (int i = 0; i < 10; i++) {
        ck_assert(send_key_updates(ROUND_UPDATES, SSL_KEY_UPDATE_NOT_REQUESTED));
        ck_assert_uint_eq(write_all(server, "x", 1), 1);
        run();
        got += read_some(client, &io);
        ck_assert_int_eq(io, IO_OK);
    }
    ck_assert_uint_eq(got, 10);
    end_tls();
    drop_credentials();
}
END_TEST

/* ---- names */

/* To OpenSSL it is a wish for any name below svc.test. */
START_TEST(a_name_that_begins_with_a_dot_is_no_name)
{
    make_credentials("DNS:a.svc.test");
    begin_tls((struct pipe_options){0}, ".svc.test:443");
    ck_assert_int_eq(shake_hands(), IO_FAIL);
    ck_assert_str_eq(failure(client), "TLS handshake 10.0.0.2:80: \".svc.test\" is no name that TLS could ask for");
    end_tls();
    drop_credentials();
}
END_TEST

START_TEST(the_dot_of_the_root_is_neither_asked_for_nor_compared)
{
    static const char *const authorities[] = {"svc.test.:443", "svc.test."};
    make_credentials("DNS:svc.test");
    begin_tls((struct pipe_options){0}, authorities[_i]);
    ck_assert_msg(shake_hands() == IO_OK, "%s", failure(client));
    ck_assert_str_eq(SSL_get_servername(tls_of(server)->ssl, TLSEXT_NAMETYPE_host_name), "svc.test");
    end_tls();
    drop_credentials();
}
END_TEST

/* ---- ends */

/* The system tells an error once: it was told to a write of which nobody heard, and the read says that this is the end. */
START_TEST(a_write_that_failed_is_the_reason_and_not_the_end_that_follows)
{
    char few[3];
    size_t got;
    make_credentials("DNS:svc.test");
    begin_tls((struct pipe_options){0}, "svc.test");
    ck_assert_int_eq(shake_hands(), IO_OK);
    while (endpoint_read(client, few, 3, &got) == IO_OK) {
    }
    tls_of(client)->wire.write_errno = 110;
    endpoint_pipe_break(b, 104);
    endpoint_close(server);
    ck_assert_int_eq(endpoint_read(client, few, 3, &got), IO_FAIL);
    ck_assert_str_eq(failure(client), "write 10.0.0.2:80: connection timed out (errno 110)");
    end_tls();
    drop_credentials();
}
END_TEST

/* ---- tickets */

static struct cert *make_cert(const char *name, const char *alt_names, const struct cert *issuer, int64_t days)
{
    return cert_make(&(struct cert_spec){.name = name,
                                         .alt_names = alt_names,
                                         .from_s = WALL_S - DAY_S,
                                         .until_s = WALL_S + days * DAY_S,
                                         .issuer = issuer,
                                         .is_ca = issuer == NULL});
}

static struct lull_credentials *who_believes(const struct cert *shown, bool is_server)
{
    struct lull_credentials_options options;
    lull_credentials_options_init(&options);
    options.ca_pem = cert_pem(ca);
    options.identity.chain_pem = cert_pem(shown);
    options.identity.key_pem = cert_key_pem(shown);
    options.client_certificate = is_server ? LULL_CLIENT_CERTIFICATE_REQUIRED : LULL_CLIENT_CERTIFICATE_IGNORED;
    return credentials(&options);
}

/* One connection so many days later; the client has read what the server said behind the handshake. */
static void connect_after(int64_t days)
{
    enum io io;
    begin_tls((struct pipe_options){0}, "svc.test");
    tls_of(server)->wall_s = tls_of(client)->wall_s = WALL_S + days * DAY_S;
    X509_VERIFY_PARAM_set_time(SSL_get0_param(tls_of(server)->ssl), (time_t)(WALL_S + days * DAY_S));
    ck_assert_int_eq(shake_hands(), IO_OK);
    (void)read_some(client, &io);
}

START_TEST(a_clients_ticket_is_worth_no_more_than_its_certificate)
{
    struct cert *shown;
    ca = make_cert("CA", NULL, NULL, 20);
    leaf = make_cert("leaf", "DNS:svc.test", ca, 20);
    shown = make_cert("client", NULL, ca, 5);
    server_side = who_believes(leaf, true);
    client_side = who_believes(shown, false);
    connect_after(0);
    end_tls();
    connect_after(4);
    ck_assert_uint_eq(stats(server_side).handshakes_resumed, 1);
    end_tls();
    connect_after(6);
    ck_assert_uint_eq(stats(server_side).handshakes_resumed, 1);
    ck_assert_int_eq(tls_of(server)->over, IO_FAIL);
    ck_assert_ptr_nonnull(strstr(failure(server), "certificate has expired (10)"));
    end_tls();
    cert_free(shown);
    drop_credentials();
}
END_TEST

/* ---- want of memory in OpenSSL */

/* One handshake with the n-th allocation and no other refused; false: there were not so many. */
static bool shake_hands_without(long n, const char *authority, bool *is_up)
{
    begin(((struct pipe_options){0}));
    lull_fake_clock_set_wall(&clock_, WALL_S * LULL_SECOND);
    allocations_left = n;
    const bool has_client = endpoint_tls_client(NULL, a, client_side, authority, &client) == 0;
    const bool has_server = endpoint_tls_server(NULL, b, server_side, &server) == 0;
    *is_up = false;
    if (has_client && has_server) {
        client->owner = &heard_a;
        server->owner = &heard_b;
        client->on_ready = server->on_ready = hear_once;
        const enum io io = shake_hands();
        *is_up = io == IO_OK;
        /* Whoever still waits waits for one that has given up. */
        ck_assert(io != IO_AGAIN || endpoint_finish_connect(server) == IO_FAIL);
    }
    const bool was_asked = allocations_left < 0;
    allocations_left = -1;
    endpoint_close(has_client ? client : a);
    endpoint_close(has_server ? server : b);
    run();
    lull_executor_leave(x);
    lull_executor_free(x);
    return was_asked;
}

/* First in the suite: these functions are taken before OpenSSL's first block only. */
START_TEST(want_of_memory_at_any_place_fails_a_handshake_and_lets_no_stranger_in)
{
    static const char *const authorities[] = {"svc.test", "other.test"};
    bool is_up = false;
    long n = 0;
    scarce_openssl();
    make_credentials("DNS:svc.test");
    for (; shake_hands_without(n, authorities[_i], &is_up); n += (long)test_rounds(1, 23)) {
        ck_assert_msg(_i == 0 || !is_up, "believed without allocation %ld", n);
    }
    ck_assert(is_up == (_i == 0));
    ck_assert_int_gt(n, 100);
    drop_credentials();
}
END_TEST

static Suite *endpoint_tls_hostile_suite(void)
{
    Suite *suite = suite_create("endpoint_tls_hostile");
    TCase *tcase = tcase_create("pipe");
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, want_of_memory_at_any_place_fails_a_handshake_and_lets_no_stranger_in, 0, 2);
    tcase_add_test(tcase, a_peer_that_takes_no_answers_is_waited_for_and_not_asked_in_a_circle);
    tcase_add_test(tcase, messages_of_tls_without_data_end_a_read_and_then_the_connection);
    tcase_add_test(tcase, data_between_them_keeps_the_connection);
    tcase_add_test(tcase, a_name_that_begins_with_a_dot_is_no_name);
    tcase_add_loop_test(tcase, the_dot_of_the_root_is_neither_asked_for_nor_compared, 0, 2);
    tcase_add_test(tcase, a_write_that_failed_is_the_reason_and_not_the_end_that_follows);
    tcase_add_test(tcase, a_clients_ticket_is_worth_no_more_than_its_certificate);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("endpoint_tls_hostile", endpoint_tls_hostile_suite)
