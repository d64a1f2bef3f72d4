/* SPDX-License-Identifier: MIT */
/* endpoint_tls over a pipe on a fake clock, both sides ours. */
#include <stdlib.h>

#include "tests/support/check_main.h"
#include "tests/unit/net/tls_world.h"

START_TEST(bytes_go_both_ways_after_the_handshake)
{
    make_credentials("DNS:svc.test");
    begin_tls((struct pipe_options){0}, "svc.test:443");
    ck_assert_msg(shake_hands() == IO_OK, "%s", failure(client));
    ck_assert_uint_eq(write_all(client, "ping", 4), 4);
    expect_read(server, "ping");
    ck_assert_uint_eq(write_all(server, "pong!", 5), 5);
    expect_read(client, "pong!");
    ck_assert_str_eq(about(client), ", TLSv1.3, TLS_AES_256_GCM_SHA384, full handshake");
    ck_assert_uint_eq(stats(client_side).handshakes, 1);
    ck_assert_uint_eq(stats(server_side).handshakes, 1);
    end_tls();
    drop_credentials();
}
END_TEST

START_TEST(a_name_or_an_address_of_the_certificate_will_do)
{
    static const char *const good[] = {"svc.test:443", "svc.test", "127.0.0.1:1", "[::1]:443",
                                       "a.wild.test:443"};
    make_credentials("DNS:svc.test,DNS:*.wild.test,IP:127.0.0.1,IP:::1");
    begin_tls((struct pipe_options){0}, good[_i]);
    ck_assert_msg(shake_hands() == IO_OK, "%s", failure(client));
    end_tls();
    drop_credentials();
}
END_TEST

START_TEST(another_name_is_refused_and_both_are_told)
{
    static const struct {
        const char *authority;
        const char *says;
    } rows[] = {
        {"other.test:443",
         "hostname mismatch (62); other.test is wanted; it is for DNS:svc.test, IP:127.0.0.1"},
        {"svc.test.evil:443", "hostname mismatch (62); svc.test.evil is wanted"},
        {"127.0.0.2:443", "IP address mismatch (64); 127.0.0.2 is wanted"},
        {"[::1]:443", "IP address mismatch (64); ::1 is wanted"},
        {"leaf:443", "hostname mismatch (62); leaf is wanted"}, /* the subject's CN is no name */
    };
    make_credentials("DNS:svc.test,IP:127.0.0.1");
    begin_tls((struct pipe_options){0}, rows[_i].authority);
    ck_assert_int_eq(shake_hands(), IO_FAIL);
    ck_assert_msg(strstr(failure(client), rows[_i].says) != NULL, "%s", text);
    ck_assert_msg(strncmp(text, "TLS handshake 10.0.0.2:80: certificate verify failed: ", 54) == 0,
                  "%s", text);
    ck_assert_uint_eq(stats(client_side).handshakes_failed, 1);
    end_tls();
    drop_credentials();
}
END_TEST

/* HOUSE Time: the wall hand of the executor's clock is the one that counts. */
START_TEST(validity_goes_by_the_wall_hand_of_the_clock)
{
    static const struct {
        int64_t wall_s;
        const char *says; /* NULL: valid */
    } rows[] = {
        {WALL_S - DAY_S - 1, "certificate is not yet valid (9); it is valid from 2027-01-14 "
                             "08:00:00 UTC, our clock says "
                             "2027-01-14 07:59:59 UTC; it is for DNS:svc.test"},
        {WALL_S - DAY_S, NULL},
        {WALL_S + DAY_S - 1, NULL},
        {WALL_S + DAY_S,
         "certificate has expired (10); it was valid until 2027-01-16 08:00:00 UTC, our clock says "
         "2027-01-16 08:00:00 UTC; it is for DNS:svc.test"},
    };
    make_credentials("DNS:svc.test");
    begin(((struct pipe_options){0}));
    lull_fake_clock_set_wall(&clock_, rows[_i].wall_s * LULL_SECOND);
    ck_assert_int_eq(endpoint_tls_client(NULL, a, client_side, "svc.test", &client), 0);
    ck_assert_int_eq(endpoint_tls_server(NULL, b, server_side, &server), 0);
    client->owner = &heard_a;
    server->owner = &heard_b;
    client->on_ready = server->on_ready = hear_once;
    ck_assert_int_eq(shake_hands(), rows[_i].says == NULL ? IO_OK : IO_FAIL);
    if (rows[_i].says != NULL) {
        ck_assert_msg(strstr(failure(client), rows[_i].says) != NULL, "%s", text);
    }
    end_tls();
    drop_credentials();
}
END_TEST

START_TEST(the_credentials_name_goes_before_the_authority)
{
    struct lull_credentials_options options;
    make_credentials("DNS:svc.test");
    lull_credentials_unref(client_side);
    lull_credentials_options_init(&options);
    options.ca_pem = cert_pem(ca);
    options.server_name = "svc.test";
    client_side = credentials(&options);
    begin_tls((struct pipe_options){0}, "10.0.0.2:443");
    ck_assert_msg(shake_hands() == IO_OK, "%s", failure(client));
    end_tls();
    drop_credentials();
}
END_TEST

/* ---- data */

/* Writes `len` bytes one way, in pieces that move and keep their prefix as RULINGS 24 has it, and reads them. */
static void carry(struct endpoint *from, struct endpoint *to, size_t len)
{
    uint8_t *sent = malloc(len), *got = malloc(len + 1);
    size_t at = 0, read = 0;
    ck_assert(sent != NULL && got != NULL);
    for (size_t i = 0; i < len; i++) {
        sent[i] = (uint8_t)(i * 7 + i / 251);
    }
    while (read < len) {
        size_t some = 0, wrote = 0;
        if (at < len) {
            /* Each offer lies somewhere else, in three pieces. */
            size_t left = len - at < 100000 ? len - at : 100000;
            uint8_t *moved = malloc(left);
            ck_assert_ptr_nonnull(moved);
            memcpy(moved, sent + at, left);
            struct io_piece pieces[3] = {
                {moved, left / 5}, {moved + left / 5, 0}, {moved + left / 5, left - left / 5}};
            enum io io = endpoint_writev(from, pieces, 3, &wrote);
            ck_assert(io == IO_OK || (io == IO_AGAIN && wrote == 0));
            at += wrote;
            free(moved);
        }
        enum io io = endpoint_read(to, got + read, len + 1 - read, &some);
        ck_assert(io == IO_OK || io == IO_AGAIN);
        read += some;
    }
    ck_assert_uint_eq(read, len);
    ck_assert_uint_eq(at, len);
    ck_assert(memcmp(sent, got, len) == 0);
    free(sent);
    free(got);
}

START_TEST(big_messages_pass_a_small_pipe_whole_and_in_order)
{
    static const size_t capacities[] = {97, 4096, 16384, 65536};
    static const size_t lens[] = {1, 16383, 16384, 16385, 70001, 1048576, 1048577};
    size_t count = sizeof(lens) / sizeof(lens[0]);
    if (getenv("LULL_TEST_FEWER") != NULL) {
        count = 4;
    } else if (capacities[_i] < 4096) {
        count -= 2; /* the large ones take a small pipe very many turns */
    }
    make_credentials("DNS:svc.test");
    begin_tls((struct pipe_options){.capacity_bytes = capacities[_i]}, "svc.test");
    for (int i = 0; i < 200 && shake_hands() == IO_AGAIN; i++) {
    }
    ck_assert_int_eq(endpoint_finish_connect(client), IO_OK);
    for (size_t i = 0; i < count; i++) {
        carry(client, server, lens[i]);
        carry(server, client, lens[i]);
    }
    end_tls();
    drop_credentials();
}
END_TEST

START_TEST(what_the_pipe_has_not_taken_is_not_told_as_written)
{
    char bytes[20000];
    struct io_piece piece = {bytes, sizeof(bytes)};
    size_t wrote, got;
    memset(bytes, 'x', sizeof(bytes));
    make_credentials("DNS:svc.test");
    begin_tls((struct pipe_options){.capacity_bytes = 16384}, "svc.test");
    ck_assert_int_eq(shake_hands(), IO_OK);
    ck_assert_int_eq(endpoint_writev(client, &piece, 1, &wrote), IO_AGAIN);
    ck_assert_uint_eq(wrote, 0);
    ck_assert_int_eq(endpoint_want(client, LULL_WANT_WRITE), 0);
    heard_a.told = 0;
    run();
    ck_assert_int_eq(heard_a.told, 0); /* there is no room yet */
    char into[20000];
    while (endpoint_read(server, into, sizeof(into), &got) == IO_OK) {
    }
    run();
    ck_assert_int_eq(heard_a.told, 1);
    ck_assert_int_eq(endpoint_writev(client, &piece, 1, &wrote), IO_OK);
    ck_assert_uint_eq(wrote, sizeof(bytes));
    end_tls();
    drop_credentials();
}
END_TEST

START_TEST(a_flush_is_one_write_below)
{
    struct lull_counters before, after;
    char bytes[65536];
    struct io_piece pieces[IO_PIECES_MAX];
    size_t wrote;
    make_credentials("DNS:svc.test");
    begin_tls((struct pipe_options){.capacity_bytes = 1 << 20}, "svc.test");
    ck_assert_int_eq(shake_hands(), IO_OK);
    memset(bytes, 'y', sizeof(bytes));
    for (size_t i = 0; i < IO_PIECES_MAX; i++) {
        pieces[i] = (struct io_piece){bytes + i * 1024, 1024};
    }
    before.size = after.size = sizeof(before);
    lull_executor_counters(x, &before);
    uint64_t below = endpoint_pipe_bytes_written(a);
    ck_assert_int_eq(endpoint_writev(client, pieces, IO_PIECES_MAX, &wrote), IO_OK);
    lull_executor_counters(x, &after);
    ck_assert_uint_eq(wrote, sizeof(bytes)); /* all of it in one go */
    /* Four records of 16 KiB, not 64 small ones. */
    ck_assert_uint_eq(endpoint_pipe_bytes_written(a) - below, 4 * (16384 + 22));
    ck_assert_uint_eq(after.allocations, before.allocations);
    end_tls();
    drop_credentials();
}
END_TEST

/* What a read leaves is told again when it is wanted again, though the pipe has nothing more. */
START_TEST(plaintext_that_no_read_took_is_ready)
{
    char few[3];
    size_t got;
    make_credentials("DNS:svc.test");
    begin_tls((struct pipe_options){0}, "svc.test");
    ck_assert_int_eq(shake_hands(), IO_OK);
    ck_assert_uint_eq(write_all(client, "abcdef", 6), 6);
    ck_assert_int_eq(endpoint_read(server, few, 3, &got), IO_OK);
    ck_assert_uint_eq(got, 3);
    ck_assert_int_eq(endpoint_want(server, LULL_WANT_NONE), 0);
    heard_b.told = 0;
    run();
    ck_assert_int_eq(heard_b.told, 0);
    ck_assert_int_eq(endpoint_want(server, LULL_WANT_READ), 0);
    run();
    ck_assert_int_eq(heard_b.told, 1);
    expect_read(server, "def");
    end_tls();
    drop_credentials();
}
END_TEST

/* ---- ends */

START_TEST(an_orderly_close_is_an_end)
{
    char few[3];
    size_t got;
    make_credentials("DNS:svc.test");
    begin_tls((struct pipe_options){0}, "svc.test");
    ck_assert_int_eq(shake_hands(), IO_OK);
    ck_assert_uint_eq(write_all(client, "bye", 3), 3);
    endpoint_close(client);
    expect_read(server, "bye");
    ck_assert_int_eq(endpoint_read(server, few, 3, &got), IO_EOF);
    ck_assert_int_eq(endpoint_read(server, few, 3, &got), IO_EOF);
    end_tls();
    drop_credentials();
}
END_TEST

START_TEST(a_close_without_close_notify_says_so)
{
    char few[3];
    size_t got;
    make_credentials("DNS:svc.test");
    begin_tls((struct pipe_options){0}, "svc.test");
    ck_assert_int_eq(shake_hands(), IO_OK);
    while (endpoint_read(client, few, 3, &got) == IO_OK) {
    }
    endpoint_pipe_break(b, 104); /* the server notices, and has nobody to say goodbye to */
    ck_assert_int_eq(endpoint_read(server, few, 3, &got), IO_FAIL);
    endpoint_close(server);
    ck_assert_int_eq(endpoint_read(client, few, 3, &got), IO_FAIL);
    ck_assert_str_eq(failure(client), "read 10.0.0.2:80: the peer closed the connection without a "
                                      "close_notify");
    end_tls();
    drop_credentials();
}
END_TEST

START_TEST(a_reset_below_is_told_with_its_errno)
{
    char few[3];
    size_t got;
    make_credentials("DNS:svc.test");
    begin_tls((struct pipe_options){0}, "svc.test");
    ck_assert_int_eq(shake_hands(), IO_OK);
    endpoint_pipe_break(a, 104);
    ck_assert_int_eq(endpoint_read(client, few, 3, &got), IO_FAIL);
    ck_assert_int_eq(client->sys_errno, 104);
    ck_assert_str_eq(failure(client), "read 10.0.0.2:80: connection reset by peer (errno 104)");
    end_tls();
    drop_credentials();
}
END_TEST

START_TEST(closing_while_the_pipe_is_full_does_not_wait)
{
    char bytes[4096];
    struct io_piece piece = {bytes, sizeof(bytes)};
    size_t wrote;
    memset(bytes, 'z', sizeof(bytes));
    make_credentials("DNS:svc.test");
    begin_tls((struct pipe_options){.capacity_bytes = 2048}, "svc.test");
    for (int i = 0; i < 20 && shake_hands() == IO_AGAIN; i++) {
    }
    ck_assert_int_eq(endpoint_writev(client, &piece, 1, &wrote), IO_AGAIN);
    endpoint_close(client);
    end_tls();
    drop_credentials();
}
END_TEST

/* ---- sessions */

START_TEST(a_second_connection_resumes_the_session_and_the_third_too)
{
    make_credentials("DNS:svc.test");
    for (int i = 0; i < 3; i++) {
        char none[1];
        size_t got;
        begin_tls((struct pipe_options){0}, "svc.test:443");
        ck_assert_msg(shake_hands() == IO_OK, "%s", failure(client));
        ck_assert_str_eq(about(client), i == 0
                                            ? ", TLSv1.3, TLS_AES_256_GCM_SHA384, full handshake"
                                            : ", TLSv1.3, TLS_AES_256_GCM_SHA384, session resumed");
        ck_assert_int_eq(endpoint_read(client, none, 1, &got), IO_AGAIN); /* the tickets come */
        end_tls();
    }
    ck_assert_uint_eq(stats(client_side).handshakes, 3);
    ck_assert_uint_eq(stats(client_side).handshakes_resumed, 2);
    ck_assert_uint_eq(stats(server_side).handshakes_resumed, 2);
    drop_credentials();
}
END_TEST

START_TEST(a_session_is_not_offered_to_another_name_or_once_its_certificate_has_expired)
{
    char none[1];
    size_t got;
    make_credentials("DNS:svc.test,DNS:two.test");
    begin_tls((struct pipe_options){0}, "svc.test:443");
    ck_assert_int_eq(shake_hands(), IO_OK);
    ck_assert_int_eq(endpoint_read(client, none, 1, &got), IO_AGAIN);
    end_tls();
    ck_assert_uint_eq(stats(client_side).sessions, 2);
    begin_tls((struct pipe_options){0}, "two.test:443");
    ck_assert_int_eq(shake_hands(), IO_OK);
    ck_assert_uint_eq(stats(client_side).handshakes_resumed, 0);
    end_tls();
    /* A resumed handshake would show no certificate, and nobody would notice. */
    begin(((struct pipe_options){0}));
    lull_fake_clock_set_wall(&clock_, (WALL_S + 2 * DAY_S) * LULL_SECOND);
    ck_assert_int_eq(endpoint_tls_client(NULL, a, client_side, "svc.test:443", &client), 0);
    ck_assert_int_eq(endpoint_tls_server(NULL, b, server_side, &server), 0);
    client->owner = &heard_a;
    server->owner = &heard_b;
    client->on_ready = server->on_ready = hear_once;
    ck_assert_int_eq(shake_hands(), IO_FAIL);
    ck_assert_ptr_nonnull(strstr(failure(client), "certificate has expired (10)"));
    end_tls();
    drop_credentials();
}
END_TEST

/* ---- what OpenSSL does between messages */

/* RFC 8446 section 4.6.3: one side asks for new keys, and the other answers before its next bytes. */
START_TEST(keys_are_updated_under_way)
{
    make_credentials("DNS:svc.test");
    begin_tls((struct pipe_options){0}, "svc.test");
    ck_assert_int_eq(shake_hands(), IO_OK);
    for (int i = 0; i < 3; i++) {
        struct endpoint_tls *asking =
            container_of(i % 2 == 0 ? server : client, struct endpoint_tls, base);
        ck_assert_int_eq(SSL_key_update(asking->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        ck_assert_uint_eq(write_all(server, "to the client", 13), 13);
        expect_read(client, "to the client");
        ck_assert_uint_eq(write_all(client, "to the server", 13), 13);
        expect_read(server, "to the server");
    }
    end_tls();
    drop_credentials();
}
END_TEST

static long openssl_blocks; /* that it has */

static void *counted_malloc(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    openssl_blocks++;
    return malloc(size);
}

static void *counted_realloc(void *memory, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    openssl_blocks += memory == NULL;
    return realloc(memory, size);
}

static void counted_free(void *memory, const char *file, int line)
{
    (void)file;
    (void)line;
    openssl_blocks -= memory != NULL;
    free(memory);
}

/*
 * OpenSSL takes and gives back two small blocks a record; it must not keep any. First in the suite: these functions are taken before its
 * first block only.
 */
START_TEST(a_steady_exchange_keeps_nothing_in_openssl)
{
    char big[40000];
    char into[65536];
    size_t got;
    ck_assert_int_eq(CRYPTO_set_mem_functions(counted_malloc, counted_realloc, counted_free), 1);
    memset(big, 'b', sizeof(big));
    make_credentials("DNS:svc.test");
    begin_tls((struct pipe_options){0}, "svc.test");
    ck_assert_int_eq(shake_hands(), IO_OK);
    long before = 0;
    for (int i = 0; i < 60; i++) {
        if (i == 10) {
            before = openssl_blocks;
        }
        ck_assert_uint_eq(write_all(client, "ping", 4), 4);
        expect_read(server, "ping");
        ck_assert_uint_eq(write_all(server, big, sizeof(big)), sizeof(big));
        ck_assert_int_eq(endpoint_read(client, into, sizeof(into), &got), IO_OK);
        ck_assert_uint_eq(got, sizeof(big));
    }
    ck_assert_int_gt(before, 0);
    ck_assert_int_eq(openssl_blocks, before);
    end_tls();
    drop_credentials();
}
END_TEST

static Suite *endpoint_tls_suite(void)
{
    Suite *suite = suite_create("endpoint_tls");
    TCase *tcase = tcase_create("pipe");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, a_steady_exchange_keeps_nothing_in_openssl);
    tcase_add_test(tcase, bytes_go_both_ways_after_the_handshake);
    tcase_add_test(tcase, keys_are_updated_under_way);
    tcase_add_loop_test(tcase, a_name_or_an_address_of_the_certificate_will_do, 0, 5);
    tcase_add_loop_test(tcase, another_name_is_refused_and_both_are_told, 0, 5);
    tcase_add_loop_test(tcase, validity_goes_by_the_wall_hand_of_the_clock, 0, 4);
    tcase_add_test(tcase, the_credentials_name_goes_before_the_authority);
    tcase_add_loop_test(tcase, big_messages_pass_a_small_pipe_whole_and_in_order, 0, 4);
    tcase_add_test(tcase, what_the_pipe_has_not_taken_is_not_told_as_written);
    tcase_add_test(tcase, a_flush_is_one_write_below);
    tcase_add_test(tcase, plaintext_that_no_read_took_is_ready);
    tcase_add_test(tcase, an_orderly_close_is_an_end);
    tcase_add_test(tcase, a_close_without_close_notify_says_so);
    tcase_add_test(tcase, a_reset_below_is_told_with_its_errno);
    tcase_add_test(tcase, closing_while_the_pipe_is_full_does_not_wait);
    tcase_add_test(tcase, a_second_connection_resumes_the_session_and_the_third_too);
    tcase_add_test(tcase,
                   a_session_is_not_offered_to_another_name_or_once_its_certificate_has_expired);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("endpoint_tls", endpoint_tls_suite)
