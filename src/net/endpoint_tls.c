/* SPDX-License-Identifier: MIT */
/*
 * See endpoint_tls.h. OpenSSL's queue of errors is the thread's: it is emptied before each call and
 * after each failure.
 */
#include "base/cold.h"
#include "net/endpoint_tls_parts.h"

#include <errno.h>
#include <openssl/err.h>
#include <string.h>

#include "base/container.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "exec/executor.h"
#include "loop/loop.h"

static struct endpoint_tls *tls_of(struct endpoint *base)
{
    return container_of(base, struct endpoint_tls, base);
}

static int tls_want(struct endpoint *base, unsigned want)
{
    struct endpoint_tls *tls = tls_of(base);
    LULL_INVARIANT(!base->is_closed, "a closed endpoint is watched");
    base->watch.want = want;
    tls_watch_below(tls);
    if ((tls->over != IO_OK && want != LULL_WANT_NONE) ||
        (tls->has_more && (want & LULL_WANT_READ) != 0)) {
        base->watch.ready |= want;
        executor_post_ready(base->executor, &base->watch.on_ready);
    }
    return 0;
}

/* ---- connecting */

static enum io tls_finish_connect(struct endpoint *base)
{
    LULL_INVARIANT(!base->is_closed, "a closed endpoint is asked whether it is connected");
    enum io io = tls_shake(tls_of(base));
    tls_watch_below(tls_of(base));
    return io;
}

/* The endpoint below is ready. Whoever is told may close this one. */
static void on_below_ready(struct endpoint *inner, unsigned ready)
{
    struct endpoint_tls *tls = (struct endpoint_tls *)inner->owner;
    if (!tls->is_up) {
        if (tls_wire_is_holding(&tls->wire)) {
            (void)tls_wire_push(&tls->wire);
        }
        const bool was_connected = tls->is_connected;
        const bool is_waiting = tls_shake(tls) == IO_AGAIN;
        if (is_waiting && (was_connected || !tls->is_connected)) {
            tls_watch_below(tls);
            return;
        }
        /* Whoever dialled is told once that the handshake has begun: its finish_connect says IO_AGAIN, and phase_text what for. */
        ready = is_waiting ? LULL_WANT_WRITE : LULL_WANT_READ | LULL_WANT_WRITE;
    } else if ((ready & LULL_WANT_WRITE) != 0) {
        /* Records that no owner waits for. A failure shows in the next write. */
        (void)tls_wire_push(&tls->wire);
    }
    endpoint_tell(&tls->base, ready);
    tls_watch_below(tls);
}

/* ---- reading */

static void tell_again(struct endpoint_tls *tls)
{
    tls->base.watch.ready |= LULL_WANT_READ;
    executor_post_ready(tls->base.executor, &tls->base.watch.on_ready);
}

/* What ended a row of reads. `got`: bytes came before it, and are told first. */
static enum io settle_read(struct endpoint_tls *tls, int error, size_t got)
{
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        ERR_clear_error();
        if (tls->idle_bytes >= TLS_WIRE_GO_BYTES) {
            /* New keys and tickets come between data (RFC 8446 section 4.6). Nobody has a use for so many in a row, each is work, and
             * OpenSSL bears any number. */
            return tls_give_up_text(tls, "read", "TLS: the peer sends messages of TLS and no data");
        }
        if (tls->has_more) {
            tell_again(tls);
        }
        return got > 0 ? IO_OK : IO_AGAIN;
    }
    if (error == SSL_ERROR_ZERO_RETURN) {
        tls->over = IO_EOF;
    } else {
        (void)tls_give_up_ssl(tls, "read");
    }
    if (got == 0) {
        return tls->over;
    }
    tell_again(tls);
    return IO_OK;
}

static enum io tls_read(struct endpoint *base, void *into, size_t capacity, size_t *got)
{
    struct endpoint_tls *tls = tls_of(base);
    int error = SSL_ERROR_NONE;
    LULL_INVARIANT(!base->is_closed && capacity > 0,
                   "a read from a closed endpoint, or of nothing");
    *got = 0;
    if (!tls->is_up || tls->over != IO_OK) {
        enum io io = tls_shake(tls);
        tls_watch_below(tls);
        if (io != IO_OK) {
            return io;
        }
    }
    tls_wire_begin(&tls->wire);
    while (*got < capacity && error == SSL_ERROR_NONE) {
        size_t some = 0;
        ERR_clear_error();
        int ok = SSL_read_ex(tls->ssl, (uint8_t *)into + *got, capacity - *got, &some);
        error = ok == 1 ? SSL_ERROR_NONE : SSL_get_error(tls->ssl, ok);
        *got += some;
    }
    /* What OpenSSL had to answer; that it cannot be written shows in the next write. */
    (void)tls_wire_end(&tls->wire);
    tls->is_jammed = error == SSL_ERROR_WANT_WRITE && tls_wire_is_full(&tls->wire);
    tls->has_more = error == SSL_ERROR_NONE || (error == SSL_ERROR_WANT_WRITE && !tls->is_jammed);
    tls->idle_bytes = *got > 0 ? 0 : tls->idle_bytes + tls->wire.came;
    tls_watch_below(tls);
    return error == SSL_ERROR_NONE ? IO_OK : settle_read(tls, error, *got);
}

/* ---- writing */

/* The plaintext of the next record, from `at` on: where it lies, if one piece has it, else copied. */
static const uint8_t *gather(const struct io_piece *pieces, size_t at, size_t len, uint8_t *scratch)
{
    size_t done = 0;
    while (at >= pieces->len) {
        at -= pieces->len;
        pieces++;
    }
    if (pieces->len - at >= len) {
        return (const uint8_t *)pieces->data + at;
    }
    while (done < len) {
        size_t left = pieces->len - at;
        size_t some = left < len - done ? left : len - done;
        if (some > 0) {
            memcpy(scratch + done, (const uint8_t *)pieces->data + at, some);
        }
        done += some;
        at = 0;
        pieces++;
    }
    return scratch;
}

/* Enciphers what fits one write, from tls->taken on. False: OpenSSL gave up. */
static bool encipher(struct endpoint_tls *tls, const struct io_piece *pieces, size_t offered)
{
    uint8_t *scratch = tls_wire_plain(&tls->wire);
    if (scratch == NULL) {
        tls->wire.write_errno = ENOMEM;
        return true;
    }
    while (tls->taken < offered) {
        size_t left = offered - tls->taken;
        size_t len = left < TLS_RECORD_PLAIN_BYTES ? left : TLS_RECORD_PLAIN_BYTES;
        size_t wrote = 0;
        if (!tls_wire_has_room(&tls->wire, len)) {
            break;
        }
        ERR_clear_error();
        if (SSL_write_ex(tls->ssl, gather(pieces, tls->taken, len, scratch), len, &wrote) != 1) {
            int error = SSL_get_error(tls->ssl, 0);
            return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
        }
        tls->taken += wrote;
    }
    return true;
}

static enum io tls_writev(struct endpoint *base, const struct io_piece *pieces, size_t count,
                          size_t *wrote)
{
    struct endpoint_tls *tls = tls_of(base);
    size_t offered = 0;
    LULL_INVARIANT(!base->is_closed, "a write to a closed endpoint");
    *wrote = 0;
    if (tls->loop != NULL && lull_loop_is_forked(tls->loop)) {
        return endpoint_fail(base, "write", EPIPE);
    }
    if (!tls->is_up || tls->over == IO_FAIL) {
        enum io io = tls_shake(tls);
        tls_watch_below(tls);
        if (io != IO_OK) {
            return io;
        }
    }
    for (size_t i = 0; i < count; i++) {
        offered += pieces[i].len;
    }
    LULL_INVARIANT(offered >= tls->taken, "a write offers fewer bytes than the one before it");
    enum io io = tls_wire_push(&tls->wire);
    if (io == IO_AGAIN) {
        return IO_AGAIN;
    }
    const size_t before = tls->taken;
    tls_wire_begin(&tls->wire);
    bool is_fine = encipher(tls, pieces, offered);
    io = tls_wire_end(&tls->wire);
    if (!is_fine) {
        return tls_give_up_ssl(tls, "write");
    }
    if (tls->wire.write_errno != 0) {
        /* What the peer has sent can still be read. */
        return endpoint_fail(base, "write", tls->wire.write_errno);
    }
    *wrote = io == IO_OK ? tls->taken : before;
    tls->taken -= *wrote;
    tls_watch_below(tls);
    return *wrote > 0 || offered == 0 ? IO_OK : IO_AGAIN;
}

/* ---- the rest of the seam */

static int tls_write_timeout(struct endpoint *base, int64_t after_ns)
{
    return endpoint_write_timeout(tls_of(base)->wire.inner, after_ns);
}

static int tls_system_keepalive(struct endpoint *base, bool on)
{
    return endpoint_system_keepalive(tls_of(base)->wire.inner, on);
}

static void tls_describe(const struct endpoint *base, struct strbuf *sb)
{
    const struct endpoint_tls *tls = container_of_const(base, struct endpoint_tls, base);
    if (tls->is_up) {
        strbuf_printf(sb, "%s, %s, %s", SSL_get_version(tls->ssl), SSL_get_cipher_name(tls->ssl),
                      SSL_session_reused(tls->ssl) == 1 ? "session resumed" : "full handshake");
    } else {
        strbuf_add(sb, "TLS");
    }
}

static void free_tls(struct endpoint_tls *tls)
{
    const struct lull_allocator *allocator = executor_allocator(tls->base.executor);
    SSL_free(tls->ssl);
    tls_wire_fini(&tls->wire);
    mem_release(NULL, tls->session_key);
    lull_credentials_unref(tls->credentials);
    mem_release(allocator, tls);
}

static void free_dead(struct lull_task *task, struct lull_executor *executor)
{
    (void)executor;
    free_tls(tls_of(container_of(task, struct endpoint, dead)));
}

static void say_goodbye(struct endpoint_tls *tls)
{
    tls_wire_begin(&tls->wire);
    ERR_clear_error();
    (void)SSL_shutdown(tls->ssl);
    (void)tls_wire_end(&tls->wire);
    ERR_clear_error();
}

LULL_COLD static void tls_close(struct endpoint *base)
{
    struct endpoint_tls *tls = tls_of(base);
    bool is_ours = tls->loop == NULL || !lull_loop_is_forked(tls->loop);
    (void)lull_executor_unpost(base->executor, &base->watch.on_ready);
    if (tls->is_up && tls->over != IO_FAIL && is_ours) {
        say_goodbye(tls);
    }
    if (tls->is_up && (tls->over != IO_FAIL || tls->wire.is_eof || tls->wire.read_errno != 0)) {
        /* A connection that was lost is no fault of its session, which OpenSSL would forget. */
        SSL_set_shutdown(tls->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    }
    endpoint_close(tls->wire.inner);
    executor_post_dead(base->executor, &base->dead);
}

static const struct endpoint_ops tls_ops = {
    .finish_connect = tls_finish_connect,
    .read = tls_read,
    .writev = tls_writev,
    .want = tls_want,
    .write_timeout = tls_write_timeout,
    .system_keepalive = tls_system_keepalive,
    .describe = tls_describe,
    .close = tls_close,
};

/* ---- making */

/* The host of "host:port", "[v6]:port" or "host", without a zone, nor the dot of the root, which neither SNI (RFC 6066 section 3) nor a
 * certificate has. */
static void copy_host(char *into, size_t size, const char *authority)
{
    struct strbuf sb;
    size_t len = strlen(authority);
    const char *colon = strrchr(authority, ':');
    if (*authority == '[') {
        authority++;
        len = strcspn(authority, "]%");
    } else if (colon != NULL && strchr(authority, ':') == colon) {
        len = (size_t)(colon - authority);
    }
    if (len > 1 && authority[len - 1] == '.') {
        len--;
    }
    strbuf_init(&sb, into, size);
    strbuf_add_bytes(&sb, authority, len);
}

LULL_COLD static struct endpoint_tls *make(struct lull_loop *loop, struct endpoint *inner,
                                 struct lull_credentials *credentials, bool is_server)
{
    struct lull_executor *executor = inner->executor;
    struct endpoint_tls *tls =
        (struct endpoint_tls *)mem_zeroed(executor_allocator(executor), sizeof(*tls));
    if (tls == NULL) {
        return NULL;
    }
    executor_counters(executor)->allocations++;
    endpoint_init(&tls->base, &tls_ops, executor, &inner->peer);
    lull_task_init(&tls->base.dead, free_dead);
    tls_wire_init(&tls->wire, inner);
    tls->loop = loop;
    tls->is_server = is_server;
    tls->over = IO_OK;
    tls->wall_s = lull_clock_wall_ns(lull_executor_clock(executor)) / LULL_SECOND;
    tls->credentials = credentials;
    lull_credentials_ref(credentials);
    return tls;
}

/* 0 or ENOMEM. Refused by the credentials, the endpoint is made and says so. */
LULL_COLD static int start(struct endpoint_tls *tls, const char *authority)
{
    struct lull_error error;
    const struct tls_start how = {
        .is_server = tls->is_server,
        .name = tls->name,
        .wall_s = tls->wall_s,
        .owner = tls,
        .verify = tls_on_verified,
        .extension = tls_on_extension,
    };
    int rc = tls_ctx_start(tls->credentials, &how, &tls->ssl, &error);
    if (rc == LULL_RC_NOMEM) {
        return ENOMEM;
    }
    if (rc != LULL_OK) {
        (void)tls_give_up_text(tls, tls_handshake_phase, error.text);
        return 0;
    }
    BIO *bio = tls_wire_bio(&tls->wire, tls->credentials->wire);
    if (bio == NULL) {
        return ENOMEM;
    }
    SSL_set_bio(tls->ssl, bio, bio);
    if (!tls->is_server) {
        tls->session_key = tls_ctx_session_key(tls->ssl, tls->name, authority);
        tls_offer_session(tls);
    }
    return 0;
}

static int finish_making(struct endpoint_tls *tls, const char *authority, struct endpoint **out)
{
    int err = start(tls, authority);
    if (err != 0) {
        free_tls(tls);
        return err;
    }
    tls->wire.inner->owner = tls;
    tls->wire.inner->on_ready = on_below_ready;
    *out = &tls->base;
    return 0;
}

int endpoint_tls_client(struct lull_loop *loop, struct endpoint *inner,
                        struct lull_credentials *credentials, const char *authority,
                        struct endpoint **out)
{
    struct endpoint_tls *tls = make(loop, inner, credentials, false);
    if (tls == NULL) {
        return ENOMEM;
    }
    copy_host(tls->name, sizeof(tls->name),
              credentials->server_name != NULL ? credentials->server_name : authority);
    tls->need = LULL_WANT_WRITE;
    return finish_making(tls, authority, out);
}

int endpoint_tls_server(struct lull_loop *loop, struct endpoint *inner,
                        struct lull_credentials *credentials, struct endpoint **out)
{
    struct endpoint_tls *tls = make(loop, inner, credentials, true);
    if (tls == NULL) {
        return ENOMEM;
    }
    tls->is_connected = true;
    tls->base.phase_text = tls_handshake_phase;
    tls->need = LULL_WANT_READ;
    return finish_making(tls, "", out);
}
