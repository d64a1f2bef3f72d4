/* SPDX-License-Identifier: MIT */
/*
 * See certs.h. Programs without Check use it as well, so the assertions are those of must.h.
 */
#include "tests/support/certs.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/must.h"

#define DAY_S INT64_C(86400)

struct cert {
    X509 *x509;
    EVP_PKEY *key;
    char *pem;
    char *key_pem;
};

/* What a memory BIO has, with a NUL; the BIO is freed. */
static char *text_of(BIO *bio)
{
    char *data;
    long len = BIO_get_mem_data(bio, &data);
    char *text = malloc((size_t)len + 1);
    MUST(text != NULL);
    memcpy(text, data, (size_t)len);
    text[len] = '\0';
    BIO_free(bio);
    return text;
}

static void add_extension(X509 *x509, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, x509, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    MUST(extension != NULL);
    MUST(X509_add_ext(x509, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

static void set_serial(X509 *x509)
{
    unsigned char bytes[8];
    BIGNUM *number = BN_new();
    MUST(RAND_bytes(bytes, sizeof(bytes)) == 1);
    bytes[0] &= 0x7f;
    MUST(BN_bin2bn(bytes, sizeof(bytes), number) != NULL);
    MUST(BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x509)) != NULL);
    BN_free(number);
}

struct cert *cert_make(const struct cert_spec *spec)
{
    struct cert *cert = calloc(1, sizeof(*cert));
    MUST(cert != NULL);
    cert->key = EVP_EC_gen("P-256");
    cert->x509 = X509_new();
    MUST(cert->key != NULL && cert->x509 != NULL);
    X509 *x509 = cert->x509;
    X509 *issuer = spec->issuer != NULL ? spec->issuer->x509 : x509;
    MUST(X509_set_version(x509, 2) == 1);
    set_serial(x509);
    MUST(ASN1_TIME_set(X509_getm_notBefore(x509), (time_t)spec->from_s) != NULL);
    MUST(ASN1_TIME_set(X509_getm_notAfter(x509), (time_t)spec->until_s) != NULL);
    MUST(X509_set_pubkey(x509, cert->key) == 1);
    X509_NAME *subject = X509_get_subject_name(x509);
    MUST(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)spec->name,
                                    -1, -1, 0) == 1);
    MUST(X509_set_issuer_name(x509, X509_get_subject_name(issuer)) == 1);
    add_extension(x509, issuer, NID_basic_constraints,
                  spec->is_ca ? "critical,CA:TRUE" : "CA:FALSE");
    add_extension(x509, issuer, NID_subject_key_identifier, "hash");
    if (spec->alt_names != NULL) {
        add_extension(x509, issuer, NID_subject_alt_name, spec->alt_names);
    }
    MUST(X509_sign(x509, spec->issuer != NULL ? spec->issuer->key : cert->key, EVP_sha256()) > 0);
    BIO *bio = BIO_new(BIO_s_mem());
    MUST(PEM_write_bio_X509(bio, x509) == 1);
    cert->pem = text_of(bio);
    bio = BIO_new(BIO_s_mem());
    MUST(PEM_write_bio_PrivateKey(bio, cert->key, NULL, NULL, 0, NULL, NULL) == 1);
    cert->key_pem = text_of(bio);
    return cert;
}

void cert_free(struct cert *cert)
{
    if (cert != NULL) {
        X509_free(cert->x509);
        EVP_PKEY_free(cert->key);
        free(cert->pem);
        free(cert->key_pem);
        free(cert);
    }
}

const char *cert_pem(const struct cert *cert)
{
    return cert->pem;
}

const char *cert_key_pem(const struct cert *cert)
{
    return cert->key_pem;
}

struct cert *cert_usual(const char *name, const char *alt_names, const struct cert *issuer,
                        int64_t at_s)
{
    return cert_make(&(struct cert_spec){
        .name = name,
        .alt_names = alt_names,
        .from_s = at_s - DAY_S,
        .until_s = at_s + DAY_S,
        .issuer = issuer,
    });
}

struct cert *cert_ca(const char *name, int64_t at_s)
{
    return cert_make(&(struct cert_spec){
        .name = name,
        .from_s = at_s - 365 * DAY_S,
        .until_s = at_s + 365 * DAY_S,
        .is_ca = true,
    });
}

char *cert_file(const char *text)
{
    char directory[] = "/tmp/lull-cert-XXXXXX";
    char *path = malloc(sizeof(directory) + 8);
    MUST(path != NULL);
    MUST(mkdtemp(directory) != NULL);
    (void)sprintf(path, "%s/x.pem", directory);
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    MUST(fputs(text, file) >= 0);
    MUST(fclose(file) == 0);
    return path;
}

void cert_file_drop(char *path)
{
    (void)unlink(path);
    *strrchr(path, '/') = '\0';
    MUST(rmdir(path) == 0);
    free(path);
}
