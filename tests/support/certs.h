/* SPDX-License-Identifier: MIT */
/*
 * Certificates for tests, made while the test runs: nothing that expires is kept in the tree.
 *
 * Decides: keys are P-256. Called by the tests of TLS. Must not know connections.
 */
#ifndef LULL_TESTS_SUPPORT_CERTS_H
#define LULL_TESTS_SUPPORT_CERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cert;

struct cert_spec {
    const char *name;      /* the subject's CN */
    const char *alt_names; /* [nullable] "DNS:a.test,IP:127.0.0.1", as openssl.cnf has it */
    int64_t from_s;        /* since 1970 */
    int64_t until_s;
    const struct cert *issuer; /* NULL: self-signed */
    bool is_ca;
};

/* Never NULL: the test fails. */
struct cert *cert_make(const struct cert_spec *spec);
void cert_free(struct cert *cert);

/* PEM, valid as long as the certificate is. */
const char *cert_pem(const struct cert *cert);
const char *cert_key_pem(const struct cert *cert);

/* A usual one: valid at `at_s` and for a day around it. */
struct cert *cert_usual(const char *name, const char *alt_names, const struct cert *issuer,
                        int64_t at_s);
struct cert *cert_ca(const char *name, int64_t at_s);

/* Writes text to a new file in a new directory and returns its path; cert_file_drop removes both. */
char *cert_file(const char *text);
void cert_file_drop(char *path);

#endif
