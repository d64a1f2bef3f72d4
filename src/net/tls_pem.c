/* SPDX-License-Identifier: MIT */
/*
 * See tls_pem.h. OpenSSL does not say where in a text it stumbled, so the blocks are found here and
 * handed to it one by one.
 */
#include "net/tls_pem.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rc.h"
#include "net/tls_text.h"

/* Far above all roots of the world in one file. */
#define TEXT_MAX_BYTES ((size_t)8 * 1024 * 1024)

#define LABEL_BYTES 64

/* "-----BEGIN LABEL-----" to the end of its END line. */
struct block {
    const char *start;
    size_t len;
    unsigned line;
    char label[LABEL_BYTES];
    bool is_open; /* its END is missing */
};

int tls_pem_fail(const struct tls_pem *pem, unsigned line, struct lull_error *error,
                 const char *what)
{
    char where[24] = "";
    if (line != 0) {
        (void)snprintf(where, sizeof(where), " line %u", line);
    }
    return rc_fail(error, LULL_RC_INVALID, "%s%s%.140s%s: %s", pem->option,
                   pem->file != NULL ? " " : "", pem->file != NULL ? pem->file : "", where, what);
}

/* ---- loading */

static int read_all(FILE *from, char **out, size_t *out_len)
{
    size_t len = 0, size = 0;
    char *text = NULL;
    for (;;) {
        if (size - len < 2) {
            size_t more = size == 0 ? 16384 : size * 2;
            char *grown = more > TEXT_MAX_BYTES ? NULL : (char *)mem_resize(NULL, text, more);
            if (grown == NULL) {
                mem_release(NULL, text);
                return more > TEXT_MAX_BYTES ? EFBIG : ENOMEM;
            }
            text = grown;
            size = more;
        }
        errno = 0;
        size_t got = fread(text + len, 1, size - len - 1, from);
        len += got;
        if (got == 0) {
            break;
        }
    }
    if (ferror(from)) {
        int err = errno != 0 ? errno : EIO;
        mem_release(NULL, text);
        return err;
    }
    text[len] = '\0';
    *out = text;
    *out_len = len;
    return 0;
}

static int load_file(struct tls_pem *pem, struct lull_error *error)
{
    size_t len;
    FILE *from = fopen(pem->file, "re");
    if (from == NULL) {
        return rc_fail_system(error, errno, "%s %.140s", pem->option, pem->file);
    }
    int err = read_all(from, &pem->text, &len);
    (void)fclose(from);
    if (err == ENOMEM) {
        return rc_fail(error, LULL_RC_NOMEM, "no memory for %s %.140s", pem->option, pem->file);
    }
    if (err != 0) {
        return rc_fail_system(error, err, "%s %.140s", pem->option, pem->file);
    }
    if (strlen(pem->text) != len) {
        int rc = tls_pem_fail(pem, 0, error, "not PEM: it has NUL bytes (DER is not read)");
        tls_pem_unload(pem);
        return rc;
    }
    return LULL_OK;
}

int tls_pem_load(const char *const options[2], const char *file, const char *text,
                 struct tls_pem *out, struct lull_error *error)
{
    *out = (struct tls_pem){.option = options[file != NULL ? 0 : 1], .file = file};
    if (file != NULL && text != NULL) {
        return rc_fail(error, LULL_RC_INVALID, "%s and %s are both given", options[0], options[1]);
    }
    if (file != NULL) {
        return load_file(out, error);
    }
    size_t len = strlen(text);
    out->text = (char *)mem_alloc(NULL, len + 1);
    if (out->text == NULL) {
        return rc_fail(error, LULL_RC_NOMEM, "no memory for %s", out->option);
    }
    memcpy(out->text, text, len + 1);
    return LULL_OK;
}

void tls_pem_unload(struct tls_pem *pem)
{
    if (pem->text != NULL) {
        /* It may be a key. */
        OPENSSL_cleanse(pem->text, strlen(pem->text));
    }
    mem_release(NULL, pem->text);
    pem->text = NULL;
}

/* ---- blocks */

static unsigned lines_between(const char *from, const char *to)
{
    unsigned lines = 0;
    for (; from < to; from++) {
        lines += *from == '\n';
    }
    return lines;
}

/* The next block at or after *at; *at and *line move behind its BEGIN line. */
static bool next_block(const char **at, unsigned *line, struct block *block)
{
    static const char begin[] = "-----BEGIN ";
    char end[LABEL_BYTES + 16];
    const char *start = *at;
    for (;;) {
        start = strstr(start, begin);
        if (start == NULL) {
            return false;
        }
        const char *label = start + sizeof(begin) - 1;
        const char *dashes = strstr(label, "-----");
        size_t len = dashes == NULL ? LABEL_BYTES : (size_t)(dashes - label);
        if (len < LABEL_BYTES && memchr(label, '\n', len) == NULL) {
            *line += lines_between(*at, start);
            *at = dashes + 5;
            memcpy(block->label, label, len);
            block->label[len] = '\0';
            break;
        }
        start = label;
    }
    (void)snprintf(end, sizeof(end), "-----END %s-----", block->label);
    const char *stop = strstr(*at, end);
    const char *other = strstr(*at, begin);
    block->is_open = stop == NULL || (other != NULL && other < stop);
    block->start = start;
    block->len = block->is_open ? 0 : (size_t)(stop - start) + strlen(end);
    block->line = *line;
    return true;
}

static BIO *block_bio(const struct block *block)
{
    return BIO_new_mem_buf(block->start, (int)block->len);
}

static int fail_nomem(const struct tls_pem *pem, struct lull_error *error)
{
    return rc_fail(error, LULL_RC_NOMEM, "no memory for %s", pem->option);
}

/* OpenSSL did not read the block. */
static int fail_unread(const struct tls_pem *pem, const struct block *block, struct lull_error *error)
{
    const char *reason = tls_text_reason();
    return reason == NULL ? fail_nomem(pem, error) : tls_pem_fail(pem, block->line, error, reason);
}

static int fail_open(const struct tls_pem *pem, const struct block *block, struct lull_error *error)
{
    char what[LABEL_BYTES + 48];
    (void)snprintf(what, sizeof(what), "BEGIN %s without its END", block->label);
    return tls_pem_fail(pem, block->line, error, what);
}

/* ---- certificates */

static bool is_certificate(const struct block *block)
{
    return strcmp(block->label, "CERTIFICATE") == 0 ||
           strcmp(block->label, "X509 CERTIFICATE") == 0 ||
           strcmp(block->label, "TRUSTED CERTIFICATE") == 0;
}

static int add_certificate(const struct tls_pem *pem, const struct block *block,
                           STACK_OF(X509) * into, struct lull_error *error)
{
    if (block->is_open) {
        return fail_open(pem, block, error);
    }
    ERR_clear_error();
    BIO *bio = block_bio(block);
    X509 *x509 = bio == NULL ? NULL : PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL);
    BIO_free(bio);
    if (x509 == NULL) {
        return fail_unread(pem, block, error);
    }
    if (sk_X509_push(into, x509) == 0) {
        X509_free(x509);
        return fail_nomem(pem, error);
    }
    return LULL_OK;
}

int tls_pem_certificates(const struct tls_pem *pem, STACK_OF(X509) * *out, struct lull_error *error)
{
    STACK_OF(X509) *all = sk_X509_new_null();
    const char *at = pem->text;
    unsigned line = 1;
    struct block block;
    int rc = LULL_OK;
    if (all == NULL) {
        return fail_nomem(pem, error);
    }
    while (rc == LULL_OK && next_block(&at, &line, &block)) {
        if (is_certificate(&block)) {
            rc = add_certificate(pem, &block, all, error);
        }
    }
    if (rc == LULL_OK && sk_X509_num(all) == 0) {
        rc = tls_pem_fail(pem, 0, error, "no certificate in it (PEM is expected)");
    }
    if (rc != LULL_OK) {
        sk_X509_pop_free(all, X509_free);
        return rc;
    }
    *out = all;
    return LULL_OK;
}

/* ---- keys */

static bool is_key(const struct block *block)
{
    static const char end[] = "PRIVATE KEY";
    size_t len = strlen(block->label);
    return len >= sizeof(end) - 1 && strcmp(block->label + len - (sizeof(end) - 1), end) == 0;
}

/* OpenSSL asks for a passphrase; the terminal must not be asked. */
static int no_passphrase(char *into, int size, int is_for_writing, void *was_asked)
{
    (void)into;
    (void)size;
    (void)is_for_writing;
    *(bool *)was_asked = true;
    return -1;
}

int tls_pem_key(const struct tls_pem *pem, EVP_PKEY **out, struct lull_error *error)
{
    const char *at = pem->text;
    unsigned line = 1;
    struct block block;
    bool was_asked = false;
    do {
        if (!next_block(&at, &line, &block)) {
            return tls_pem_fail(pem, 0, error, "no private key in it (PEM is expected)");
        }
    } while (!is_key(&block));
    if (block.is_open) {
        return fail_open(pem, &block, error);
    }
    ERR_clear_error();
    BIO *bio = block_bio(&block);
    *out = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, &was_asked);
    BIO_free(bio);
    if (*out != NULL) {
        return LULL_OK;
    }
    if (was_asked) {
        ERR_clear_error();
        return tls_pem_fail(pem, block.line, error,
                            "the key is encrypted, and passphrases are not asked for");
    }
    return fail_unread(pem, &block, error);
}
