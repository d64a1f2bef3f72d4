/* SPDX-License-Identifier: MIT */
/*
 * See tls_wire.h.
 */
#include "net/tls_wire.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "exec/executor.h"

/* The record buffer: one record's plaintext first, then ciphertext. */
#define OUT_BYTES (EXECUTOR_RECORD_BYTES - TLS_RECORD_PLAIN_BYTES)

/* With so much held nothing more is taken from OpenSSL. */
#define HELD_MAX_BYTES ((size_t)128 * 1024)

void tls_wire_init(struct tls_wire *wire, struct endpoint *inner)
{
    memset(wire, 0, sizeof(*wire));
    wire->inner = inner;
    wire->executor = inner->executor;
}

static void drop_held(struct tls_wire *wire)
{
    mem_release(executor_allocator(wire->executor), wire->held);
    wire->held = NULL;
    wire->held_len = wire->held_at = 0;
}

void tls_wire_fini(struct tls_wire *wire)
{
    drop_held(wire);
}

bool tls_wire_is_full(const struct tls_wire *wire)
{
    return wire->held_len - wire->held_at > HELD_MAX_BYTES;
}

/* ---- OpenSSL's side */

static int wire_read(BIO *bio, char *into, size_t capacity, size_t *got)
{
    struct tls_wire *wire = (struct tls_wire *)BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    *got = 0;
    if (wire->is_eof || wire->read_errno != 0) {
        return 0;
    }
    if (wire->is_drained || wire->came >= TLS_WIRE_GO_BYTES) {
        BIO_set_retry_read(bio);
        return 0;
    }
    switch (endpoint_read(wire->inner, into, capacity, got)) {
    case IO_OK:
        break;
    case IO_AGAIN:
        wire->is_drained = true;
        BIO_set_retry_read(bio);
        return 0;
    case IO_EOF:
        wire->is_eof = true;
        return 0;
    case IO_FAIL:
        wire->read_errno = wire->inner->sys_errno;
        return 0;
    }
    wire->came += *got;
    /* A short read is a drained socket. */
    wire->is_drained = *got < capacity;
    if (wire->first_len < sizeof(wire->first)) {
        size_t room = sizeof(wire->first) - wire->first_len;
        size_t keep = *got < room ? *got : room;
        memcpy(wire->first + wire->first_len, into, keep);
        wire->first_len += keep;
    }
    return 1;
}

static int wire_write(BIO *bio, const char *from, size_t len, size_t *took)
{
    struct tls_wire *wire = (struct tls_wire *)BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    *took = 0;
    if (wire->write_errno != 0) {
        *took = len;
        return 1;
    }
    if (wire->out == NULL) {
        wire->read_errno = wire->write_errno = ENOMEM;
        return 0;
    }
    size_t room = tls_wire_is_full(wire) ? 0 : OUT_BYTES - wire->out_len;
    size_t take = len < room ? len : room;
    if (take == 0) {
        BIO_set_retry_write(bio);
        return 0;
    }
    memcpy(wire->out + wire->out_len, from, take);
    wire->out_len += take;
    *took = take;
    return 1;
}

static long wire_ctrl(BIO *bio, int what, long number, void *pointer)
{
    const struct tls_wire *wire = (const struct tls_wire *)BIO_get_data(bio);
    (void)number;
    (void)pointer;
    switch (what) {
    case BIO_CTRL_FLUSH:
        return 1;
    case BIO_CTRL_EOF:
        return wire->is_eof;
    default:
        return 0;
    }
}

BIO_METHOD *tls_wire_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "lull endpoint");
    if (method != NULL && (BIO_meth_set_read_ex(method, wire_read) != 1 ||
                           BIO_meth_set_write_ex(method, wire_write) != 1 ||
                           BIO_meth_set_ctrl(method, wire_ctrl) != 1)) {
        BIO_meth_free(method);
        method = NULL;
    }
    return method;
}

BIO *tls_wire_bio(struct tls_wire *wire, const BIO_METHOD *method)
{
    BIO *bio = BIO_new(method);
    if (bio != NULL) {
        BIO_set_data(bio, wire);
        BIO_set_init(bio, 1);
    }
    return bio;
}

/* ---- one go */

void tls_wire_begin(struct tls_wire *wire)
{
    uint8_t *buffer = executor_record_buffer(wire->executor);
    wire->out = buffer == NULL ? NULL : buffer + TLS_RECORD_PLAIN_BYTES;
    wire->out_len = 0;
    wire->came = 0;
    wire->is_drained = false;
}

uint8_t *tls_wire_plain(const struct tls_wire *wire)
{
    return wire->out == NULL ? NULL : wire->out - TLS_RECORD_PLAIN_BYTES;
}

bool tls_wire_has_room(const struct tls_wire *wire, size_t plain_bytes)
{
    return OUT_BYTES - wire->out_len >= plain_bytes + TLS_RECORD_EXTRA_BYTES;
}

static enum io fail(struct tls_wire *wire, int sys_errno)
{
    wire->write_errno = sys_errno;
    drop_held(wire);
    return IO_FAIL;
}

/* What is left of both, behind each other, in memory of its own. */
static enum io hold(struct tls_wire *wire, size_t wrote)
{
    struct lull_executor *executor = wire->executor;
    size_t old = wire->held_len - wire->held_at;
    size_t old_gone = wrote < old ? wrote : old;
    size_t fresh_gone = wrote - old_gone;
    size_t fresh = wire->out_len - fresh_gone;
    wire->held_at += old_gone;
    old -= old_gone;
    if (old + fresh == 0) {
        drop_held(wire);
        return IO_OK;
    }
    if (fresh > 0) {
        uint8_t *all = (uint8_t *)mem_alloc(executor_allocator(executor), old + fresh);
        if (all == NULL) {
            return fail(wire, ENOMEM);
        }
        executor_counters(executor)->allocations++;
        if (old > 0) {
            memcpy(all, wire->held + wire->held_at, old);
        }
        memcpy(all + old, wire->out + fresh_gone, fresh);
        drop_held(wire);
        wire->held = all;
        wire->held_len = old + fresh;
    }
    return IO_AGAIN;
}

static enum io offer(struct tls_wire *wire)
{
    struct io_piece pieces[2];
    size_t count = 0, wrote = 0;
    if (wire->held != NULL) {
        pieces[count].data = wire->held + wire->held_at;
        pieces[count++].len = wire->held_len - wire->held_at;
    }
    if (wire->out_len > 0) {
        pieces[count].data = wire->out;
        pieces[count++].len = wire->out_len;
    }
    if (count == 0) {
        return IO_OK;
    }
    switch (endpoint_writev(wire->inner, pieces, count, &wrote)) {
    case IO_OK:
        return hold(wire, wrote);
    case IO_AGAIN:
        return hold(wire, 0);
    default:
        return fail(wire, wire->inner->sys_errno);
    }
}

enum io tls_wire_end(struct tls_wire *wire)
{
    enum io io = offer(wire);
    wire->out = NULL;
    wire->out_len = 0;
    return io;
}

enum io tls_wire_push(struct tls_wire *wire)
{
    return wire->held == NULL ? IO_OK : offer(wire);
}
