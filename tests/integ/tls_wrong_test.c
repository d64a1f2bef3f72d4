/* SPDX-License-Identifier: MIT */
/*
 * Ways for TLS to be wrong, each refused with its reason (case C25). With LULL_TEST_TABLE set what
 * an operator reads of each is printed (tests/support/table.h); doc/BAD_INPUT.md has it.
 */
#include <stdio.h>
#include <string.h>

#include "tests/integ/tls_support.h"
#include "tests/support/check_main.h"
#include "tests/support/table.h"

#define DAY_S INT64_C(86400)

static struct tls_world world;
static char target[64], line[TLS_TEXT];

static void target_at(unsigned port)
{
    (void)snprintf(target, sizeof(target), "127.0.0.1:%u", port);
}

/* One call, which fails for TLS or for what is no TLS, in this phase, and whose line says this. */
static void expect_failure(const char *what, struct lull_channel *channel, enum lull_reason reason,
                           enum lull_phase phase, const char *says)
{
    char outcome[100];
    enum lull_code code = tls_call(&world, channel, 5, line);
    (void)snprintf(outcome, sizeof(outcome), "%s: %s, %s", lull_code_name((int)code),
                   lull_reason_name((int)world.failure.reason),
                   lull_phase_name((int)world.failure.phase));
    table_row(what, outcome, world.message);
    ck_assert_int_eq(code, LULL_CODE_UNAVAILABLE);
    ck_assert_msg(strstr(line, says) != NULL, "%s: %s", what, line);
    ck_assert_str_eq(lull_reason_name((int)world.failure.reason), lull_reason_name((int)reason));
    ck_assert_str_eq(lull_phase_name((int)world.failure.phase), lull_phase_name((int)phase));
    lull_channel_unref(channel);
}

static void expect_refused(const char *what, struct lull_channel *channel, const char *says)
{
    expect_failure(what, channel, LULL_REASON_TLS, LULL_PHASE_HANDSHAKE, says);
}

/* ---- what a server shows */

struct wrong {
    const char *what;
    const char *alt_names;
    const char *authority;
    int64_t from_s, until_s; /* from now */
    bool is_self_signed;
    bool is_unknown_ca;
    const char *says;
};

static const struct wrong wrongs[] = {
    {"expired", "DNS:svc.test", "svc.test", -2 * DAY_S, -DAY_S, false, false,
     "TLS handshake: certificate verify failed: certificate has expired (10); it was valid until "},
    {"not yet valid", "DNS:svc.test", "svc.test", DAY_S, 2 * DAY_S, false, false,
     "certificate is not yet valid (9); it is valid from "},
    {"wrong name", "DNS:other.test,IP:127.0.0.1", "svc.test", -DAY_S, DAY_S, false, false,
     "hostname mismatch (62); svc.test is wanted; it is for DNS:other.test, IP:127.0.0.1"},
    {"wrong address", "DNS:127.0.0.1,DNS:svc.test", NULL, -DAY_S, DAY_S, false, false,
     "IP address mismatch (64); 127.0.0.1 is wanted; it is for DNS:127.0.0.1, DNS:svc.test"},
    {"self-signed", "DNS:svc.test", "svc.test", -DAY_S, DAY_S, true, false,
     "self-signed certificate (18); the server's certificate was issued by /CN=leaf, which is not among the roots of "
     "ca_pem; it is for DNS:svc.test"},
    {"unknown authority", "DNS:svc.test", "svc.test", -DAY_S, DAY_S, false, true,
     "unable to get local issuer certificate (20); the server's certificate was issued by /CN=somebody else, which is not among "
     "the roots of ca_pem; it is for DNS:svc.test"},
};

START_TEST(a_certificate_that_is_wrong_is_refused_with_its_reason)
{
    const struct wrong *wrong = &wrongs[_i];
    tls_world_init(&world);
    struct cert *other = cert_ca("somebody else", tls_now_s());
    struct cert *leaf = cert_make(&(struct cert_spec){
        .name = "leaf",
        .alt_names = wrong->alt_names,
        .from_s = tls_now_s() + wrong->from_s,
        .until_s = tls_now_s() + wrong->until_s,
        .issuer = wrong->is_self_signed  ? NULL
                  : wrong->is_unknown_ca ? other
                                         : world.ca,
    });
    target_at(tls_serve(&world, tls_showing(leaf)));
    expect_refused(wrong->what,
                   tls_channel(&world, target, wrong->authority, tls_believing(world.ca)),
                   wrong->says);
    cert_free(leaf);
    cert_free(other);
    tls_world_fini(&world);
}
END_TEST

/* ---- what a server speaks */

START_TEST(a_server_without_h2_gets_no_byte_of_it)
{
    static const struct {
        const char *what;
        const char *alpn;
        const char *says;
    } rows[] = {
        {"no ALPN", NULL, "TLS handshake: no ALPN: the server chose nothing, h2 is needed"},
        {"ALPN http/1.1", "http/1.1",
         "TLS handshake: ALPN: the server chose \"http/1.1\", h2 was offered"},
    };
    tls_world_init(&world);
    world.backoff_ns = 60 * LULL_SECOND;
    struct raw_tls raw = {.leaf = world.leaf, .alpn = rows[_i].alpn};
    raw_tls_start(&raw);
    target_at(raw.port);
    expect_refused(rows[_i].what, tls_channel(&world, target, "svc.test", tls_believing(world.ca)),
                   rows[_i].says);
    /* A failed attempt like any other: the next one after the wait. */
    ck_assert_int_gt(world.failure.next_attempt_after_ns, 40 * LULL_SECOND);
    ck_assert_int_le(world.failure.next_attempt_after_ns, 72 * LULL_SECOND);
    raw_tls_join(&raw);
    ck_assert_int_eq(raw.bytes, 0);
    ck_assert(raw.had_name);
    ck_assert_str_eq(raw.name, "svc.test"); /* C25 (e) */
    tls_world_fini(&world);
}
END_TEST

/* RFC 6066 section 3: an address is no server_name. C25 (c). */
START_TEST(an_address_is_verified_and_not_named)
{
    tls_world_init(&world);
    struct raw_tls raw = {.leaf = world.leaf, .alpn = "h2"};
    raw_tls_start(&raw);
    target_at(raw.port);
    struct lull_channel *channel = tls_channel(&world, target, NULL, tls_believing(world.ca));
    (void)lull_channel_state(channel, true);
    while (world.connected[0] == '\0') {
        ck_assert_int_eq(lull_loop_run_once(world.loop, 100 * LULL_MS), LULL_OK);
    }
    lull_channel_unref(channel);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
    raw_tls_join(&raw);
    ck_assert_int_gt(raw.bytes, 24); /* the preface */
    ck_assert(!raw.had_name);
    tls_world_fini(&world);
}
END_TEST

START_TEST(plaintext_where_tls_is_expected_is_told_by_its_first_bytes)
{
    tls_world_init(&world);
    struct raw_tls raw = {.plain = "HTTP/1.1 400 Bad Request\r\n\r\n"};
    raw_tls_start(&raw);
    target_at(raw.port);
    expect_refused("plaintext HTTP/1.1", tls_channel(&world, target, NULL, tls_believing(world.ca)),
                   "TLS handshake: the peer does not speak TLS, it began with \"HTTP/1.1 400 Bad");
    raw_tls_join(&raw);
    /* A server that speaks first, as gRPC's do: SETTINGS, MAX_FRAME_SIZE 16384. */
    raw = (struct raw_tls){.plain = "\0\0\6\4\0\0\0\0\0\0\5\0\0\x40\0", .plain_len = 15};
    raw_tls_start(&raw);
    target_at(raw.port);
    expect_refused("HTTP/2 in clear", tls_channel(&world, target, NULL, tls_believing(world.ca)),
                   "TLS handshake: the peer does not speak TLS but HTTP/2 in clear, it began with SETTINGS");
    raw_tls_join(&raw);
    target_at(tls_serve(&world, NULL));
    expect_refused("plaintext HTTP/2", tls_channel(&world, target, NULL, tls_believing(world.ca)),
                   "TLS handshake: ");
    tls_world_fini(&world);
}
END_TEST

START_TEST(tls_where_plaintext_is_expected_is_told_on_both_sides)
{
    tls_world_init(&world);
    target_at(tls_serve(&world, tls_showing(world.leaf)));
    struct lull_channel *good = tls_channel(&world, target, "svc.test", tls_believing(world.ca));
    ck_assert_int_eq(tls_call(&world, good, 5, line), LULL_CODE_OK);
    struct lull_channel *channel = tls_channel(&world, target, NULL, NULL);
    expect_failure("TLS, plaintext expected", channel, LULL_REASON_CONNECT, LULL_PHASE_SETTINGS,
                   "the peer closed the connection before");
    table_row("  and at the server", "lost", world.lost);
    ck_assert_msg(strstr(world.lost, "TLS handshake failed: the peer does not speak TLS, it began "
                                     "with \"PRI * HTTP/2.0") != NULL,
                  "%s", world.lost);
    /* Who knows what is spoken here is served as before. */
    ck_assert_int_eq(tls_call(&world, good, 5, line), LULL_CODE_OK);
    lull_channel_unref(good);
    tls_world_fini(&world);
}
END_TEST

/* ---- what a client lacks */

START_TEST(a_client_without_a_certificate_is_refused_where_one_is_needed)
{
    struct lull_credentials_options options;
    tls_world_init(&world);
    lull_credentials_options_init(&options);
    options.ca_pem = cert_pem(world.ca);
    options.identity.chain_pem = cert_pem(world.leaf);
    options.identity.key_pem = cert_key_pem(world.leaf);
    options.client_certificate = LULL_CLIENT_CERTIFICATE_REQUIRED;
    target_at(tls_serve(&world, tls_credentials(&options)));
    expect_failure("no client certificate",
                   tls_channel(&world, target, NULL, tls_believing(world.ca)), LULL_REASON_TLS,
                   LULL_PHASE_SETTINGS,
                   "read failed: TLS: the peer sent alert 116 (tlsv13 alert certificate required): the server wants a client certificate");
    table_row("  and at the server", "lost", world.lost);
    ck_assert_msg(strstr(world.lost, "peer did not return a certificate") != NULL, "%s",
                  world.lost);
    tls_world_fini(&world);
}
END_TEST

/* ---- what is in the files */

static void expect_unmade(const char *what, const struct lull_credentials_options *options,
                          const char *says)
{
    struct lull_credentials *made = NULL;
    struct lull_error error;
    ck_assert_int_ne(lull_credentials_new(options, &made, &error), LULL_OK);
    ck_assert_ptr_null(made);
    table_row(what, lull_rc_name((int)error.rc), error.text);
    ck_assert_msg(strstr(error.text, says) != NULL, "%s: %s", what, error.text);
}

START_TEST(a_file_that_is_wrong_is_named_with_its_line)
{
    struct lull_credentials_options options;
    char broken[8192], says[400];
    tls_world_init(&world);
    struct cert *other = cert_usual("other", "DNS:other.test", world.ca, tls_now_s());
    /* A good certificate, and one with a line that is not base64. */
    (void)snprintf(broken, sizeof(broken), "%s%s", cert_pem(world.leaf), cert_pem(world.ca));
    char *second = strstr(broken + 10, "-----BEGIN");
    unsigned at = 1;
    for (const char *c = broken; c < second; c++) {
        at += *c == '\n';
    }
    memcpy(strchr(second, '\n') + 5, "!!!!", 4);
    char *chain = cert_file(broken);
    char *key = cert_file(cert_key_pem(world.leaf));
    char *other_key = cert_file(cert_key_pem(other));
    lull_credentials_options_init(&options);
    options.ca_file = "/nonexistent/ca.pem";
    expect_unmade("ca_file that is not there", &options,
                  "ca_file /nonexistent/ca.pem: no such file or directory (errno 2)");
    char *words = cert_file("these are words\n");
    options.ca_file = words;
    (void)snprintf(says, sizeof(says), "ca_file %s", words);
    expect_unmade("ca_file without a certificate", &options, says);
    cert_file_drop(words);
    options.ca_file = chain;
    expect_unmade("ca_file with a bad line", &options, "bad base64 decode");
    options.ca_file = NULL;
    options.identity.chain_file = chain;
    options.identity.key_file = key;
    (void)snprintf(says, sizeof(says), "chain_file %s line %u: bad base64 decode", chain, at);
    expect_unmade("bad chain file", &options, says);
    options.identity.chain_file = NULL;
    options.identity.chain_pem = cert_pem(world.leaf);
    options.identity.key_file = other_key;
    (void)snprintf(says, sizeof(says),
                   "key_file %s does not match the certificate /CN=leaf of "
                   "chain_pem",
                   other_key);
    expect_unmade("key of another certificate", &options, says);
    cert_file_drop(chain);
    cert_file_drop(key);
    cert_file_drop(other_key);
    cert_free(other);
    tls_world_fini(&world);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("integ/tls_wrong");
    TCase *t = tcase_create("wrong");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_server_without_h2_gets_no_byte_of_it, 0, 2);
    tcase_add_loop_test(t, a_certificate_that_is_wrong_is_refused_with_its_reason, 0,
                        sizeof(wrongs) / sizeof(wrongs[0]));
    tcase_add_test(t, a_file_that_is_wrong_is_named_with_its_line);
    tcase_add_test(t, plaintext_where_tls_is_expected_is_told_by_its_first_bytes);
    tcase_add_test(t, tls_where_plaintext_is_expected_is_told_on_both_sides);
    tcase_add_test(t, a_client_without_a_certificate_is_refused_where_one_is_needed);
    tcase_add_test(t, an_address_is_verified_and_not_named);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("integ/tls_wrong", suite)
