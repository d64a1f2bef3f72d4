/* SPDX-License-Identifier: MIT */
/*
 * The fields of a response. See headers.h.
 *
 * nghttp2's own HTTP checks are off: a malformed response must end one stream with a text, not be turned into a bare reset.
 */
#include <string.h>

#include "base/ascii.h"
#include "base/cold.h"
#include "base/strbuf.h"
#include "h2/headers.h"
#include "h2/inner.h"

#define SHOWN_NAME_BYTES ((size_t)48)

/* Larger fields are read each time; those that so many blocks did without make room for others. */
#define KNOWN_MAX_BYTES     ((size_t)256)
#define KNOWN_UNUSED_BLOCKS 16

void headers_begin(struct h2_transport *t, struct h2_stream *stream)
{
    metadata_list_reset(&t->headers.block);
    t->headers.stream = stream;
    t->headers.http_status = -1;
    t->headers.block_number = ++t->stock->known.blocks;
}

void headers_forget(struct h2_transport *t, const struct h2_stream *stream)
{
    if (t->headers.stream == stream) {
        t->headers.stream = NULL;
    }
}

bool headers_is_name(const uint8_t *name, size_t len)
{
    return ascii_is_name(name, len);
}

static bool is_called(const uint8_t *name, size_t len, const char *what)
{
    return len == strlen(what) && memcmp(name, what, len) == 0;
}

/* PROTOCOL-HTTP2.md, ASCII-Value. Of grpc-message alone any byte is kept: servers that forget to encode it are common enough. */
static bool is_value(const uint8_t *name, size_t name_len, const uint8_t *value, size_t len)
{
    return ascii_is_printable(value, len) || is_called(name, name_len, "grpc-message");
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

LULL_COLD static void fail_name(struct h2_stream *stream, const char *what, const uint8_t *name, size_t len)
{
    char shown[4 * SHOWN_NAME_BYTES + 32];
    struct strbuf sb;
    strbuf_init(&sb, shown, sizeof(shown));
    strbuf_quoted(&sb, name, len, SHOWN_NAME_BYTES);
    stream_fail(stream, H2_END_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, "%s %s", what, shown);
}

/* ":status" comes once and before the other fields (RFC 9113 section 8.3). */
static void on_status(struct h2_transport *t, const uint8_t *value, size_t len)
{
    struct headers_state *headers = &t->headers;
    int status = 0;
    if (headers->http_status >= 0 || headers->block.count > 0) {
        stream_fail(headers->stream, H2_END_PROTOCOL, NGHTTP2_PROTOCOL_ERROR,
                    ":status where none may be");
        return;
    }
    for (size_t i = 0; i < len; i++) {
        if (len != 3 || value[i] < '0' || value[i] > '9') {
            break;
        }
        status = status * 10 + (value[i] - '0');
    }
    if (status < 100) {
        fail_name(headers->stream, "malformed :status", value, len);
        return;
    }
    headers->http_status = status;
}

LULL_COLD static void fail_size(struct h2_transport *t)
{
    stream_fail(t->headers.stream, H2_END_LIMIT, NGHTTP2_CANCEL,
                "metadata is over the limit of %zu bytes (%zu had come, and a field that does not fit)",
                t->headers.block.limit_bytes, t->headers.block.size_bytes);
}

int headers_keep(struct h2_transport *t, const uint8_t *name, size_t name_len, const uint8_t *value,
                 size_t value_len)
{
    struct metadata_list *block = &t->headers.block;
    const size_t items_cap = block->items_cap;
    const size_t bytes_cap = block->bytes_cap;
    int rc;
    while (value_len > 0 && is_blank(value[0])) {
        value++;
        value_len--;
    }
    while (value_len > 0 && is_blank(value[value_len - 1])) {
        value_len--;
    }
    if (is_value(name, name_len, value, value_len)) {
        rc = metadata_list_add_wire(block, (const char *)name, name_len, value, value_len);
    } else {
        rc = metadata_list_charge(block, name_len, value_len);
    }
    executor_counters(t->executor)->allocations +=
        (uint64_t)(block->items_cap != items_cap) + (uint64_t)(block->bytes_cap != bytes_cap);
    return rc;
}

static void keep(struct h2_transport *t, const uint8_t *name, size_t name_len, const uint8_t *value,
                 size_t value_len)
{
    const int rc = headers_keep(t, name, name_len, value, value_len);
    if (rc == LULL_RC_INVALID) {
        fail_name(t->headers.stream, "bad base64 in", name, name_len);
    } else if (rc == LULL_RC_LIMIT) {
        fail_size(t);
    } else if (rc != LULL_OK) {
        stream_fail(t->headers.stream, H2_END_LIMIT, NGHTTP2_CANCEL, "no memory for metadata");
    }
}

static void read_field(struct h2_transport *t, nghttp2_vec name, nghttp2_vec value)
{
    struct headers_state *headers = &t->headers;
    if (is_called(name.base, name.len, ":status")) {
        if (metadata_list_charge(&headers->block, name.len, value.len) != LULL_OK) {
            fail_size(t);
            return;
        }
        on_status(t, value.base, value.len);
    } else if (!headers_is_name(name.base, name.len)) {
        fail_name(headers->stream, "malformed header name", name.base, name.len);
    } else {
        keep(t, name.base, name.len, value.base, value.len);
    }
}

/* ---- fields that come again */

static struct known_field *find_known(struct headers_known *all, const nghttp2_rcbuf *name,
                                      const nghttp2_rcbuf *value)
{
    struct known_field *const first = all->fields;
    struct known_field *const end = first + all->count;
    struct known_field *known = first + all->next;
    for (unsigned left = all->count; left > 0; left--) {
        known = known == end ? first : known;
        if (known->value == value && known->name == name) {
            all->next = (unsigned)(known - first) + 1;
            return known;
        }
        known++;
    }
    return NULL;
}

/* What read_field made of it then. False: it has to be read, if only because a fault has to be told. */
static bool take_known(struct h2_transport *t, struct known_field *known)
{
    struct metadata_list *block = &t->headers.block;
    known->used_in = t->stock->known.blocks;
    if (known->http_status < 0) {
        return metadata_list_borrow(block, &known->item);
    }
    if (t->headers.http_status >= 0 || block->count > 0 ||
        metadata_list_charge(block, known->item.key_len, known->item.value_len) != LULL_OK) {
        return false;
    }
    t->headers.http_status = known->http_status;
    return true;
}

static void forget_known(struct known_field *known)
{
    nghttp2_rcbuf_decref(known->name);
    nghttp2_rcbuf_decref(known->value);
}

void headers_drop_known(struct h2_transport *t)
{
    struct headers_known *all = t->stock != NULL ? &t->stock->known : NULL;
    for (unsigned i = 0; all != NULL && i < all->count;) {
        if (all->fields[i].owner == t) {
            forget_known(&all->fields[i]);
            all->fields[i] = all->fields[--all->count];
            all->next = 0;
        } else {
            i++;
        }
    }
}

/* Its bytes are in a block that goes on in a CONTINUATION, where its connection may let go of them. */
static bool is_in_open_block(const struct known_field *known)
{
    const struct headers_state *headers = &known->owner->headers;
    return headers->stream != NULL && (int32_t)(known->used_in - headers->block_number) >= 0;
}

/* A place, or one that no block has asked for in a while: more fields than there are places do not push each other out. NULL: none. */
static struct known_field *place_for_known(struct headers_known *all)
{
    if (all->count < HEADERS_KNOWN) {
        return &all->fields[all->count++];
    }
    for (unsigned i = 0; i < HEADERS_KNOWN; i++) {
        struct known_field *known = &all->fields[i];
        if (all->blocks - known->used_in > KNOWN_UNUSED_BLOCKS && !is_in_open_block(known)) {
            forget_known(known);
            return known;
        }
    }
    return NULL;
}

/* One item came of it, or the status. A value that is not kept as it came is not remembered. */
static void remember(struct h2_transport *t, nghttp2_rcbuf *name, nghttp2_rcbuf *value,
                     int http_status)
{
    const nghttp2_vec key = nghttp2_rcbuf_get_buf(name);
    const nghttp2_vec bytes = nghttp2_rcbuf_get_buf(value);
    struct known_field *known;
    if (key.len + bytes.len > KNOWN_MAX_BYTES ||
        metadata_is_binary((const char *)key.base, key.len) ||
        (known = place_for_known(&t->stock->known)) == NULL) {
        return;
    }
    nghttp2_rcbuf_incref(name);
    nghttp2_rcbuf_incref(value);
    *known = (struct known_field){
        .name = name,
        .value = value,
        .item = {(const char *)key.base, key.len, bytes.base, bytes.len},
        .used_in = t->stock->known.blocks,
        .http_status = http_status,
        .owner = t,
    };
}

/* Kept apart, so that a field that is known costs no more than it has to. */
static LULL_NOT_INLINE void read_new(struct h2_transport *t, nghttp2_rcbuf *name, nghttp2_rcbuf *value, bool is_known)
{
    struct headers_state *headers = &t->headers;
    const struct metadata_list *block = &headers->block;
    const size_t count = block->count;
    const bool had_status = headers->http_status >= 0;
    const nghttp2_vec bytes = nghttp2_rcbuf_get_buf(value);
    read_field(t, nghttp2_rcbuf_get_buf(name), bytes);
    if (is_known || headers->stream == NULL) {
        return;
    }
    if (!had_status && headers->http_status >= 0) {
        remember(t, name, value, headers->http_status);
    } else if (block->count == count + 1 && block->items[count].value_len == bytes.len) {
        remember(t, name, value, -1);
    }
}

void headers_on_field(struct h2_transport *t, nghttp2_rcbuf *name, nghttp2_rcbuf *value)
{
    struct known_field *known;
    if (t->headers.stream == NULL) {
        return;
    }
    known = find_known(&t->stock->known, name, value);
    if (known == NULL || !take_known(t, known)) {
        read_new(t, name, value, known != NULL);
    }
}
