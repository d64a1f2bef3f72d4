/* SPDX-License-Identifier: MIT */
/*
 * The fields of a response. See headers.h.
 *
 * nghttp2's own HTTP checks are off: a malformed response must end one stream with a text, not be turned into a bare reset.
 */
#include <string.h>

#include "base/strbuf.h"
#include "h2/headers.h"
#include "h2/inner.h"

#define SHOWN_NAME_BYTES ((size_t)48)

void headers_begin(struct h2_transport *t, struct h2_stream *stream)
{
    metadata_list_reset(&t->headers.block);
    t->headers.stream = stream;
    t->headers.http_status = -1;
}

void headers_forget(struct h2_transport *t, const struct h2_stream *stream)
{
    if (t->headers.stream == stream) {
        t->headers.stream = NULL;
    }
}

bool headers_is_name(const uint8_t *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (name[i] <= 0x20 || name[i] >= 0x7f || (name[i] >= 'A' && name[i] <= 'Z') ||
            name[i] == ':') {
            return false;
        }
    }
    return len > 0;
}

static bool is_called(const uint8_t *name, size_t len, const char *what)
{
    return len == strlen(what) && memcmp(name, what, len) == 0;
}

/* PROTOCOL-HTTP2.md, ASCII-Value. Of grpc-message alone any byte is kept: servers that forget to encode it are common enough. */
static bool is_value(const uint8_t *name, size_t name_len, const uint8_t *value, size_t len)
{
    if (is_called(name, name_len, "grpc-message")) {
        return true;
    }
    for (size_t i = 0; i < len; i++) {
        if (value[i] < 0x20 || value[i] > 0x7e) {
            return false;
        }
    }
    return true;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

static void fail_name(struct h2_stream *stream, const char *what, const uint8_t *name, size_t len)
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

static void fail_size(struct h2_transport *t)
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

void headers_on_field(struct h2_transport *t, const uint8_t *name, size_t name_len,
                      const uint8_t *value, size_t value_len)
{
    struct headers_state *headers = &t->headers;
    if (headers->stream == NULL) {
        return;
    }
    if (is_called(name, name_len, ":status")) {
        if (metadata_list_charge(&headers->block, name_len, value_len) != LULL_OK) {
            fail_size(t);
            return;
        }
        on_status(t, value, value_len);
    } else if (!headers_is_name(name, name_len)) {
        fail_name(headers->stream, "malformed header name", name, name_len);
    } else {
        keep(t, name, name_len, value, value_len);
    }
}
