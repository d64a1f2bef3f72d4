/* SPDX-License-Identifier: MIT */
/*
 * See tls_text.h.
 */
#include "net/tls_text.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "net/addr.h"

/* Names of a certificate that are told; a wildcard host can have hundreds. */
#define NAMES_MAX 4

#define QUOTED_BYTES 24

/* ---- certificates */

static void add_ip(struct strbuf *sb, const ASN1_OCTET_STRING *ip)
{
    const unsigned char *bytes = ASN1_STRING_get0_data(ip);
    int len = ASN1_STRING_length(ip);
    if (len == 4) {
        strbuf_printf(sb, "IP:%u.%u.%u.%u", bytes[0], bytes[1], bytes[2], bytes[3]);
        return;
    }
    strbuf_add(sb, "IP:");
    for (int i = 0; i + 1 < len; i += 2) {
        strbuf_printf(sb, "%s%x", i == 0 ? "" : ":", (unsigned)bytes[i] << 8 | bytes[i + 1]);
    }
}

static bool add_name(struct strbuf *sb, const GENERAL_NAME *name, const char *before)
{
    if (name->type == GEN_DNS) {
        strbuf_add(sb, before);
        strbuf_add(sb, "DNS:");
        strbuf_one_line(sb, ASN1_STRING_get0_data(name->d.dNSName),
                        (size_t)ASN1_STRING_length(name->d.dNSName));
        return true;
    }
    if (name->type == GEN_IPADD) {
        strbuf_add(sb, before);
        add_ip(sb, name->d.iPAddress);
        return true;
    }
    return false;
}

/* "DNS:a, IP:1.2.3.4", or that there is none: a name in the subject alone counts for nobody. */
static void add_names(struct strbuf *sb, X509 *x509)
{
    GENERAL_NAMES *names =
        (GENERAL_NAMES *)X509_get_ext_d2i(x509, NID_subject_alt_name, NULL, NULL);
    int told = 0;
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        if (told == NAMES_MAX) {
            strbuf_add(sb, ", ...");
            break;
        }
        told += add_name(sb, sk_GENERAL_NAME_value(names, i), told == 0 ? "" : ", ");
    }
    if (told == 0) {
        strbuf_add(sb, "no name (it has no subjectAltName)");
    }
    GENERAL_NAMES_free(names);
}

static void add_date(struct strbuf *sb, const ASN1_TIME *at)
{
    struct tm tm;
    if (ASN1_TIME_to_tm(at, &tm) != 1) {
        strbuf_add(sb, "an unreadable date");
        return;
    }
    strbuf_printf(sb, "%04d-%02d-%02d %02d:%02d:%02d UTC", tm.tm_year + 1900, tm.tm_mon + 1,
                  tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static void add_wall(struct strbuf *sb, int64_t wall_s)
{
    ASN1_TIME *at = ASN1_TIME_set(NULL, (time_t)wall_s);
    if (at != NULL) {
        add_date(sb, at);
    }
    ASN1_TIME_free(at);
}

static void add_dn(struct strbuf *sb, const X509_NAME *name)
{
    char text[80];
    (void)X509_NAME_oneline(name, text, sizeof(text));
    strbuf_one_line(sb, text, strlen(text));
}

static bool is_about_time(int error)
{
    return error == X509_V_ERR_CERT_HAS_EXPIRED || error == X509_V_ERR_CERT_NOT_YET_VALID;
}

static bool is_about_name(int error)
{
    return error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH;
}

/* The chain ends at nobody who is believed. */
static bool is_about_roots(int error)
{
    switch (error) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        return true;
    default:
        return false;
    }
}

static void add_issuer(struct strbuf *sb, const struct tls_text_facts *facts, X509 *x509, int depth)
{
    const char *peer = facts->is_server ? "client" : "server";
    strbuf_printf(sb, depth == 0 ? "; the %s's certificate was issued by " : "; the top of the %s's chain was issued by ", peer);
    add_dn(sb, X509_get_issuer_name(x509));
    strbuf_add(sb, ", which is not among ");
    if (facts->ca_file != NULL) {
        strbuf_add(sb, "the roots of ");
        strbuf_one_line(sb, facts->ca_file, strlen(facts->ca_file));
    } else {
        strbuf_add(sb, facts->has_ca_pem ? "the roots of ca_pem" : "the system's roots");
    }
}

void tls_text_verify(struct strbuf *sb, X509_STORE_CTX *store, const struct tls_text_facts *facts)
{
    int error = X509_STORE_CTX_get_error(store);
    int depth = X509_STORE_CTX_get_error_depth(store);
    X509 *x509 = X509_STORE_CTX_get_current_cert(store);
    strbuf_printf(sb, "certificate verify failed: %s (%d)", X509_verify_cert_error_string(error),
                  error);
    if (x509 == NULL) {
        return;
    }
    if (is_about_time(error)) {
        strbuf_add(sb, error == X509_V_ERR_CERT_HAS_EXPIRED ? "; it was valid until "
                                                            : "; it is valid from ");
        add_date(sb, error == X509_V_ERR_CERT_HAS_EXPIRED ? X509_get0_notAfter(x509)
                                                          : X509_get0_notBefore(x509));
        strbuf_add(sb, ", our clock says ");
        add_wall(sb, facts->wall_s);
    } else if (is_about_name(error) && facts->name != NULL) {
        strbuf_printf(sb, "; %s is wanted", facts->name);
    } else if (is_about_roots(error)) {
        add_issuer(sb, facts, x509, depth);
    } else {
        strbuf_add(sb, "; its issuer is ");
        add_dn(sb, X509_get_issuer_name(x509));
    }
    if (depth == 0) {
        strbuf_add(sb, "; it is for ");
        add_names(sb, x509);
    } else {
        strbuf_printf(sb, "; of the chain's certificate %d, ", depth);
        add_dn(sb, X509_get_subject_name(x509));
    }
}

/* ---- handshakes */

/* TLS records begin with a content type from 20 to 23 and version 3 (RFC 8446 section 5.1). */
static bool is_tls(const uint8_t *first, size_t len)
{
    return len < 2 || (first[0] >= 20 && first[0] <= 23 && first[1] == 3);
}

/* A whole SETTINGS frame's header, on stream 0 (RFC 9113 section 6.5): what an HTTP/2 server in clear says first. */
static bool is_settings(const uint8_t *first, size_t len)
{
    static const uint8_t no_stream[4] = {0};
    return len >= 9 && first[0] == 0 && first[3] == 4 && first[4] == 0 && memcmp(first + 5, no_stream, 4) == 0;
}

/* What an alert means for who got it; "" for most. */
static const char *meaning_of(int alert, bool is_server)
{
    switch (alert) {
    case SSL_AD_NO_APPLICATION_PROTOCOL:
        return ": it speaks none of ALPN's offer, which was h2";
    case SSL_AD_CERTIFICATE_REQUIRED:
        return ": the server wants a client certificate";
    case SSL_AD_UNKNOWN_CA:
        return is_server ? ": the client does not know the issuer of our certificate"
                         : ": the server does not know the issuer of our certificate";
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
        return is_server ? ": the client does not accept our certificate" : ": the server does not accept our certificate";
    default:
        return "";
    }
}

static void add_alert(struct strbuf *sb, int alert, bool is_server, const char *text)
{
    const char *name = SSL_alert_desc_string_long(alert);
    strbuf_printf(sb, "the peer sent alert %d (%s)", alert,
                  strcmp(name, "unknown") != 0 || text == NULL ? name : text);
    strbuf_add(sb, meaning_of(alert, is_server));
}

void tls_text_error(struct strbuf *sb, bool is_server, const uint8_t *first, size_t first_len)
{
    unsigned long error = ERR_get_error();
    int reason = ERR_GET_REASON(error);
    const char *text = ERR_reason_error_string(error);
    bool is_ssl = ERR_GET_LIB(error) == ERR_LIB_SSL;
    ERR_clear_error();
    if (is_settings(first, first_len)) {
        strbuf_add(sb, "the peer does not speak TLS but HTTP/2 in clear, it began with SETTINGS");
    } else if (!is_tls(first, first_len)) {
        strbuf_add(sb, "the peer does not speak TLS, it began with ");
        strbuf_quoted(sb, first, first_len, QUOTED_BYTES);
    } else if (is_ssl && reason >= SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256) {
        add_alert(sb, reason - SSL_AD_REASON_OFFSET, is_server, text);
    } else {
        strbuf_add(sb, text != NULL ? text : "OpenSSL does not say why");
    }
}

const char *tls_text_reason(void)
{
    const char *first = NULL;
    bool is_nomem = false;
    unsigned long code;
    while ((code = ERR_get_error()) != 0) {
        /* What OpenSSL starts in the middle of a call fails for want of memory as well. */
        is_nomem = is_nomem || ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE || ERR_GET_REASON(code) == ERR_R_INIT_FAIL;
        first = first != NULL ? first : ERR_reason_error_string(code);
    }
    return is_nomem ? NULL : first;
}

void tls_text_alpn(struct strbuf *sb, bool is_server, const uint8_t *chosen, size_t len)
{
    const char *peer = is_server ? "client" : "server";
    if (len == 0) {
        strbuf_printf(sb, "no ALPN: the %s %s, h2 is needed", peer,
                      is_server ? "offered nothing" : "chose nothing");
        return;
    }
    strbuf_printf(sb, "ALPN: the %s chose ", peer);
    strbuf_quoted(sb, chosen, len, QUOTED_BYTES);
    strbuf_add(sb, ", h2 was offered");
}
