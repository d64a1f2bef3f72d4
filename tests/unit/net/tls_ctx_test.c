/* SPDX-License-Identifier: MIT */
/* Credentials as an application makes them: what is read, and how a mistake is told. */
#include "net/tls_ctx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/endpoint_tls.h"
#include "tests/support/certs.h"
#include "tests/support/check_main.h"
#include "tests/support/rounds.h"
#include "tests/unit/net/scarce_openssl.h"

#define WALL_S INT64_C(1800000000)

static struct lull_credentials_options options;
static struct lull_credentials *made;
static struct lull_error error;
static struct cert *leaf;

static void begin(void)
{
    leaf = cert_usual("leaf", "DNS:svc.test", NULL, WALL_S);
    lull_credentials_options_init(&options);
    made = NULL;
}

static void end(void)
{
    lull_credentials_unref(made);
    cert_free(leaf);
}

static void expect(int rc, const char *says)
{
    ck_assert_int_eq(lull_credentials_new(&options, &made, &error), rc);
    ck_assert_int_eq((int)error.rc, rc);
    ck_assert_msg(strcmp(error.text, says) == 0, "%s", error.text);
    ck_assert(rc == LULL_OK || made == NULL);
}

/* ---- want of memory in OpenSSL */

/* First in the suite: these functions are taken before OpenSSL's first block only. One allocation and no other is refused, every third. */
START_TEST(want_of_memory_is_never_told_as_a_mistake)
{
    bool was_asked = true;
    long n = 0;
    scarce_openssl();
    begin();
    options.ca_pem = options.identity.chain_pem = cert_pem(leaf);
    options.identity.key_pem = cert_key_pem(leaf);
    expect(LULL_OK, "");
    for (; was_asked; n += (long)test_rounds(3, 23)) {
        lull_credentials_unref(made);
        made = NULL;
        allocations_left = n;
        const int rc = lull_credentials_new(&options, &made, &error);
        was_asked = allocations_left < 0;
        allocations_left = -1;
        /* One that weighs the key without memory finds it light, and OpenSSL keeps the reason to itself. */
        const bool is_weighed = strcmp(error.text, "the certificate cannot be used: ee key too small") == 0;
        ck_assert_msg(rc == LULL_OK || rc == LULL_RC_NOMEM || is_weighed, "without allocation %ld: %s", n, error.text);
    }
    ck_assert_int_gt(n, 100);
    end();
}
END_TEST

START_TEST(no_options_mean_the_systems_roots_and_verification)
{
    begin();
    ck_assert_int_eq(lull_credentials_new(NULL, &made, &error), LULL_OK);
    ck_assert(!tls_is_insecure(made));
    ck_assert_int_eq(SSL_CTX_get_min_proto_version(made->ctx), TLS1_2_VERSION);
    ck_assert(!tls_can_serve(made));
    lull_credentials_ref(made);
    lull_credentials_unref(made);
    lull_credentials_ref(NULL);
    lull_credentials_unref(NULL);
    ck_assert_int_eq(lull_credentials_new(NULL, NULL, &error), LULL_RC_INVALID);
    end();
}
END_TEST

START_TEST(options_that_cannot_be_meant_are_refused)
{
    begin();
    options.size--;
    ck_assert_int_eq(lull_credentials_new(&options, &made, &error), LULL_RC_INVALID);
    lull_credentials_options_init(&options);
    options.server_name = "";
    expect(LULL_RC_INVALID, "option server_name is empty");
    lull_credentials_options_init(&options);
    options.min_version = (enum lull_tls_version)7;
    expect(LULL_RC_INVALID, "option min_version is 7, which is none");
    lull_credentials_options_init(&options);
    options.client_certificate = (enum lull_client_certificate)9;
    expect(LULL_RC_INVALID, "option client_certificate is 9, which is none");
    options.client_certificate = LULL_CLIENT_CERTIFICATE_REQUIRED;
    expect(LULL_RC_INVALID,
           "client_certificate needs ca_file or ca_pem: whose clients are believed?");
    end();
}
END_TEST

static int nobody(void *ctx, struct lull_identity *out)
{
    (void)ctx;
    (void)out;
    return LULL_OK;
}

START_TEST(halves_and_doubles_of_an_identity_are_refused)
{
    begin();
    options.identity.chain_pem = cert_pem(leaf);
    expect(LULL_RC_INVALID, "a certificate chain without its key: key_file or key_pem is needed");
    options.identity.chain_pem = NULL;
    options.identity.key_pem = cert_key_pem(leaf);
    expect(LULL_RC_INVALID, "a key without its certificate: chain_file or chain_pem is needed");
    options.identity.chain_pem = cert_pem(leaf);
    options.identity.chain_file = "x.pem";
    expect(LULL_RC_INVALID, "chain_file and chain_pem are both given");
    options.identity.chain_file = NULL;
    options.identity_fn = nobody;
    expect(LULL_RC_INVALID, "identity and identity_fn are both given");
    options.identity_fn = NULL;
    expect(LULL_OK, "");
    ck_assert(tls_can_serve(made));
    end();
}
END_TEST

START_TEST(a_text_that_is_wrong_is_told_by_its_line)
{
    static const struct {
        const char *text;
        const char *says;
    } rows[] = {
        {"", "ca_pem: no certificate in it (PEM is expected)"},
        {"-----BEGIN", "ca_pem: no certificate in it (PEM is expected)"},
        {"-----BEGIN CERTIFICATE", "ca_pem: no certificate in it (PEM is expected)"},
        {"a\nb\n-----BEGIN CERTIFICATE-----\nAAAA\n",
         "ca_pem line 3: BEGIN CERTIFICATE without its END"},
        {"-----BEGIN CERTIFICATE-----\nAAAA\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END "
         "CERTIFICATE-----\n",
         "ca_pem line 1: BEGIN CERTIFICATE without its END"},
        {"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
         "ca_pem line 1: bad base64 decode"},
        {"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
         "ca_pem: no certificate in it (PEM is expected)"},
    };
    begin();
    options.ca_pem = rows[_i].text;
    expect(LULL_RC_INVALID, rows[_i].says);
    end();
}
END_TEST

START_TEST(a_key_that_wants_a_passphrase_is_refused_without_asking)
{
    begin();
    options.identity.chain_pem = cert_pem(leaf);
    options.identity.key_pem =
        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: "
        "AES-128-CBC,0123456789ABCDEF0123456789ABCDEF\n\nAAAAAAAAAAAAAAAAAAAAAA==\n-----END EC "
        "PRIVATE KEY-----\n";
    expect(LULL_RC_INVALID,
           "key_pem line 1: the key is encrypted, and passphrases are not asked for");
    options.identity.key_pem = cert_pem(leaf);
    expect(LULL_RC_INVALID, "key_pem: no private key in it (PEM is expected)");
    end();
}
END_TEST

START_TEST(files_that_cannot_be_read_are_named)
{
    begin();
    options.ca_file = "/nonexistent/ca.pem";
    expect(LULL_RC_SYSTEM, "ca_file /nonexistent/ca.pem: no such file or directory (errno 2)");
    options.ca_file = "/";
    expect(LULL_RC_SYSTEM, "ca_file /: is a directory (errno 21)");
    options.ca_file = NULL;
    options.key_log_file = "/nonexistent/keys";
    expect(LULL_RC_SYSTEM, "key_log_file /nonexistent/keys: no such file or directory (errno 2)");
    end();
}
END_TEST

START_TEST(a_chain_and_a_key_may_lie_in_one_file)
{
    char both[8192];
    begin();
    (void)snprintf(both, sizeof(both), "a comment\n%s%s", cert_key_pem(leaf), cert_pem(leaf));
    char *path = cert_file(both);
    options.identity.chain_file = path;
    options.identity.key_file = path;
    expect(LULL_OK, "");
    cert_file_drop(path);
    end();
}
END_TEST

/* The environment may not break a program, and a set-uid one does not look (secure_getenv). */
START_TEST(secrets_are_logged_where_the_environment_says)
{
    begin();
    char *path = cert_file("");
    ck_assert_int_eq(setenv("SSLKEYLOGFILE", path, 1), 0);
    expect(LULL_OK, "");
    ck_assert_int_ge(made->key_log_fd, 0);
    lull_credentials_unref(made);
    made = NULL;
    ck_assert_int_eq(setenv("SSLKEYLOGFILE", "/nonexistent/keys", 1), 0);
    expect(LULL_OK, "");
    ck_assert_int_lt(made->key_log_fd, 0);
    ck_assert_int_eq(unsetenv("SSLKEYLOGFILE"), 0);
    cert_file_drop(path);
    end();
}
END_TEST

START_TEST(stats_fill_what_there_is_room_for)
{
    struct lull_credentials_stats out;
    begin();
    expect(LULL_OK, "");
    memset(&out, 0xff, sizeof(out));
    out.size = offsetof(struct lull_credentials_stats, handshakes_resumed);
    lull_credentials_stats(made, &out);
    ck_assert_uint_eq(out.size, offsetof(struct lull_credentials_stats, handshakes_resumed));
    ck_assert_uint_eq(out.handshakes, 0);
    ck_assert_uint_eq(out.handshakes_resumed, UINT64_MAX);
    end();
}
END_TEST

static Suite *tls_ctx_suite(void)
{
    Suite *suite = suite_create("tls_ctx");
    TCase *tcase = tcase_create("credentials");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, want_of_memory_is_never_told_as_a_mistake);
    tcase_add_test(tcase, no_options_mean_the_systems_roots_and_verification);
    tcase_add_test(tcase, options_that_cannot_be_meant_are_refused);
    tcase_add_test(tcase, halves_and_doubles_of_an_identity_are_refused);
    tcase_add_loop_test(tcase, a_text_that_is_wrong_is_told_by_its_line, 0, 7);
    tcase_add_test(tcase, a_key_that_wants_a_passphrase_is_refused_without_asking);
    tcase_add_test(tcase, files_that_cannot_be_read_are_named);
    tcase_add_test(tcase, a_chain_and_a_key_may_lie_in_one_file);
    tcase_add_test(tcase, secrets_are_logged_where_the_environment_says);
    tcase_add_test(tcase, stats_fill_what_there_is_room_for);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("tls_ctx", tls_ctx_suite)
