/* SPDX-License-Identifier: MIT */
/*
 * The handshake of endpoint_tls, what comes of it, and how it fails. See endpoint_tls_parts.h.
 */
#include "net/endpoint_tls_parts.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "base/strbuf.h"
#include "exec/executor.h"

const char tls_handshake_phase[] = "TLS handshake";

/* ---- failures */

/* For good. `text` is in place unless sys_errno says it all. */
enum io tls_give_up(struct endpoint_tls *tls, const char *phase, int sys_errno)
{
    if (!tls->is_up && tls->over == IO_OK) {
        (void)atomic_fetch_add_explicit(&tls->credentials->failed, 1, memory_order_relaxed);
    }
    tls->over = IO_FAIL;
    return sys_errno != 0 ? endpoint_fail(&tls->base, phase, sys_errno)
                          : endpoint_fail_text(&tls->base, phase, tls->text);
}

enum io tls_give_up_text(struct endpoint_tls *tls, const char *phase, const char *text)
{
    struct strbuf sb;
    strbuf_init(&sb, tls->text, sizeof(tls->text));
    strbuf_add(&sb, text);
    return tls_give_up(tls, phase, 0);
}

static bool is_h2(const uint8_t *protocol, size_t len)
{
    return len == 2 && memcmp(protocol, "h2", 2) == 0;
}

static const char *tell_eof(const struct endpoint_tls *tls)
{
    if (tls->is_up) {
        return "the peer closed the connection without a close_notify";
    }
    return tls->wire.first_len == 0
               ? "the peer closed the connection and said nothing; does it speak TLS?"
               : "the peer closed the connection";
}

/* OpenSSL gave up, or could not read. */
enum io tls_give_up_ssl(struct endpoint_tls *tls, const char *phase)
{
    struct strbuf sb;
    if (tls->wire.read_errno != 0) {
        ERR_clear_error();
        return tls_give_up(tls, phase, tls->wire.read_errno);
    }
    if (tls->wire.is_eof && tls->is_up && tls->wire.write_errno != 0 && tls->wire.write_errno != EPIPE) {
        /* The system tells once why a connection is gone, and a write was told. */
        ERR_clear_error();
        return tls_give_up(tls, "write", tls->wire.write_errno);
    }
    if (tls->wire.is_eof) {
        ERR_clear_error();
        return tls_give_up_text(tls, phase, tell_eof(tls));
    }
    if (tls->text[0] != '\0') {
        /* The verification has told more than the queue can. */
        ERR_clear_error();
        return tls_give_up(tls, phase, 0);
    }
    strbuf_init(&sb, tls->text, sizeof(tls->text));
    if (!tls->is_up && tls->alpn_len > 0 && !is_h2(tls->alpn, tls->alpn_len)) {
        ERR_clear_error();
        tls_text_alpn(&sb, tls->is_server, tls->alpn, tls->alpn_len);
        return tls_give_up(tls, phase, 0);
    }
    if (tls->is_up) {
        strbuf_add(&sb, "TLS: "); /* the phase is that of any read or write */
    }
    tls_text_error(&sb, tls->is_server, tls->wire.first, tls->wire.first_len);
    return tls_give_up(tls, phase, 0);
}

/*
 * OpenSSL copies the name before it compares it, and where there is no memory for the copy it compares nothing (3.0:
 * ssl_verify_cert_chain does not look at what X509_VERIFY_PARAM_set1 returns): any name would do.
 */
static bool has_name_to_compare(X509_STORE_CTX *store)
{
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(store);
    char *address = X509_VERIFY_PARAM_get1_ip_asc(param);
    const bool has_name = address != NULL || X509_VERIFY_PARAM_get0_host(param, 0) != NULL;
    OPENSSL_free(address);
    return has_name;
}

int tls_on_verified(int is_good, X509_STORE_CTX *store)
{
    const SSL *ssl =
        (const SSL *)X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct endpoint_tls *tls = (struct endpoint_tls *)SSL_get_app_data(ssl);
    struct strbuf sb;
    if (is_good != 0 && !tls->is_server && X509_STORE_CTX_get_error_depth(store) == 0 && !has_name_to_compare(store)) {
        X509_STORE_CTX_set_error(store, X509_V_ERR_OUT_OF_MEM);
        is_good = 0;
    }
    if (is_good == 0 && tls->text[0] == '\0') {
        strbuf_init(&sb, tls->text, sizeof(tls->text));
        tls_text_verify(&sb, store,
                        &(struct tls_text_facts){.is_server = tls->is_server,
                                                 .has_ca_pem = tls->credentials->has_ca_pem,
                                                 .ca_file = tls->credentials->ca_file,
                                                 .name = tls->is_server ? NULL : tls->name,
                                                 .wall_s = tls->wall_s});
    }
    return is_good;
}

/* RFC 7301 section 3.1: a list of one, with the lengths of list and name before it. */
void tls_on_extension(SSL *ssl, int is_from_server, int type, const unsigned char *data, int len,
                      void *arg)
{
    struct endpoint_tls *tls = (struct endpoint_tls *)SSL_get_app_data(ssl);
    (void)arg;
    if (is_from_server != 0 && type == TLSEXT_TYPE_application_layer_protocol_negotiation &&
        len > 3 && data[2] == len - 3) {
        tls->alpn_len = data[2] < sizeof(tls->alpn) ? data[2] : sizeof(tls->alpn);
        memcpy(tls->alpn, data + 3, tls->alpn_len);
    }
}

/* ---- sessions */

int endpoint_tls_on_session(SSL *ssl, SSL_SESSION *session)
{
    const struct endpoint_tls *tls = (const struct endpoint_tls *)SSL_get_app_data(ssl);
    if (tls->session_key != NULL) {
        tls_sessions_put(&tls->credentials->sessions, tls->session_key, session);
    }
    return 0; /* the store took a reference of its own */
}

/*
 * A client that resumes shows no certificate: it is believed to be whom the ticket says. Tickets are renewed with each connection, so
 * without a look at the date here a certificate would never expire.
 */
SSL_TICKET_RETURN endpoint_tls_on_ticket(SSL *ssl, SSL_SESSION *session, const unsigned char *key_name, size_t key_name_len,
                                         SSL_TICKET_STATUS status, void *arg)
{
    const struct endpoint_tls *tls = (const struct endpoint_tls *)SSL_get_app_data(ssl);
    (void)key_name;
    (void)key_name_len;
    (void)arg;
    if ((status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW) ||
        !tls_session_is_in_time(session, tls->wall_s)) {
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    }
    return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

void tls_offer_session(struct endpoint_tls *tls)
{
    SSL_SESSION *session =
        tls->session_key == NULL
            ? NULL
            : tls_sessions_take(&tls->credentials->sessions, tls->session_key, tls->wall_s);
    if (session != NULL) {
        (void)SSL_set_session(tls->ssl, session);
        SSL_SESSION_free(session);
    }
    ERR_clear_error();
}

/* ---- what is asked of the endpoint below */

void tls_watch_below(struct endpoint_tls *tls)
{
    unsigned want = LULL_WANT_NONE;
    if (tls->base.is_closed) {
        return;
    }
    if (tls->is_jammed && !tls_wire_is_full(&tls->wire)) {
        /* What OpenSSL has kept meanwhile no socket will tell. */
        tls->is_jammed = false;
        tls->base.watch.ready |= LULL_WANT_READ;
        executor_post_ready(tls->base.executor, &tls->base.watch.on_ready);
    }
    if (tls->base.watch.want != LULL_WANT_NONE && tls->over != IO_FAIL) {
        if (!tls->is_up) {
            want = tls->need;
        } else {
            want = tls->base.watch.want |
                   (tls_wire_is_holding(&tls->wire) ? (unsigned)LULL_WANT_WRITE : 0u);
            /* A socket that is readable and is not read would keep the loop busy. */
            want &= tls->is_jammed ? ~(unsigned)LULL_WANT_READ : ~0u;
        }
    }
    if (tls->wire.inner->watch.want != want) {
        int err = endpoint_want(tls->wire.inner, want);
        if (err != 0) {
            (void)tls_give_up(tls, "watch", err);
            tls->base.watch.ready |= LULL_WANT_READ | LULL_WANT_WRITE;
            executor_post_ready(tls->base.executor, &tls->base.watch.on_ready);
        }
    }
}

/* ---- the handshake */

static enum io on_shaken(struct endpoint_tls *tls)
{
    const unsigned char *chosen;
    unsigned len;
    struct strbuf sb;
    SSL_get0_alpn_selected(tls->ssl, &chosen, &len);
    if (!is_h2(chosen, len)) {
        strbuf_init(&sb, tls->text, sizeof(tls->text));
        tls_text_alpn(&sb, tls->is_server, chosen, len);
        return tls_give_up(tls, tls_handshake_phase, 0);
    }
    tls->is_up = true;
    tls->base.phase_text = "";
    tls->has_more = SSL_has_pending(tls->ssl) == 1;
    (void)atomic_fetch_add_explicit(&tls->credentials->handshakes, 1, memory_order_relaxed);
    if (SSL_session_reused(tls->ssl) == 1) {
        (void)atomic_fetch_add_explicit(&tls->credentials->resumed, 1, memory_order_relaxed);
    }
    return IO_OK;
}

static enum io connect_below(struct endpoint_tls *tls)
{
    enum io io = tls->is_connected ? IO_OK : endpoint_finish_connect(tls->wire.inner);
    if (io == IO_FAIL) {
        return tls_give_up(tls, tls->wire.inner->phase_text, tls->wire.inner->sys_errno);
    }
    if (io == IO_AGAIN) {
        tls->need = LULL_WANT_WRITE;
        return IO_AGAIN;
    }
    tls->is_connected = true;
    tls->base.phase_text = tls_handshake_phase;
    return IO_OK;
}

/* One call of OpenSSL, and what it had to say is written; its SSL_ERROR. */
static int shake_once(struct endpoint_tls *tls, enum io *written)
{
    tls_wire_begin(&tls->wire);
    ERR_clear_error();
    int done = SSL_do_handshake(tls->ssl);
    int error = SSL_get_error(tls->ssl, done);
    *written = tls_wire_end(&tls->wire);
    return error;
}

/* As far as it goes: IO_OK, the handshake is over. */
enum io tls_shake(struct endpoint_tls *tls)
{
    if (tls->over != IO_OK || tls->is_up) {
        return tls->over;
    }
    enum io io = connect_below(tls);
    while (io == IO_OK) {
        int error = shake_once(tls, &io);
        if (io == IO_FAIL && error == SSL_ERROR_WANT_READ) {
            /* A peer that says no and closes is in the socket already. */
            error = shake_once(tls, &io);
        }
        if (error == SSL_ERROR_NONE) {
            return on_shaken(tls);
        }
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
            return tls_give_up_ssl(tls, tls_handshake_phase);
        }
        if (tls->wire.write_errno != 0) {
            return tls_give_up(tls, tls_handshake_phase, tls->wire.write_errno);
        }
        tls->need = io == IO_AGAIN ? (unsigned)LULL_WANT_WRITE : 0u;
        if (error == SSL_ERROR_WANT_READ) {
            tls->need |= LULL_WANT_READ;
            return IO_AGAIN;
        }
    }
    return io;
}
