/* SPDX-License-Identifier: MIT */
/*
 * The fields of a request and of an answer. See headers.h; what comes in is in headers_in.c and incoming.c.
 */
#include "h2/headers.h"

#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/percent.h"
#include "base/strbuf.h"
#include "h2/inner.h"

/* :method :scheme :path :authority te grpc-timeout content-type user-agent */
#define OWN_FIELDS 8

/* :status content-type allow grpc-status grpc-message */
#define ANSWER_FIELDS 5

/* nghttp2 wants its fields writable and does not write to them. */
static uint8_t *unconst(const void *bytes)
{
    return (uint8_t *)(uintptr_t)bytes;
}

/* FNV-1a, 32 bits: a clash costs one table entry, nothing else. */
static uint32_t hash(const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < len; i++) {
        h = (h ^ at[i]) * 16777619u;
    }
    return h;
}

/*
 * A value that differs from the last one sent under its name goes without an HPACK entry: a value that varies would push out the
 * ones that do not, and costs two allocations a call (RULINGS 23). One that comes twice in a row is remembered.
 */
static uint8_t index_flag(struct headers_state *headers, const char *name, size_t name_len,
                          const void *value, size_t value_len)
{
    const uint32_t name_hash = hash(name, name_len);
    const uint32_t value_hash = hash(value, value_len);
    const size_t slot = name_hash & (HEADERS_WATCHED - 1);
    const bool is_same =
        headers->watched[slot].name == name_hash && headers->watched[slot].value == value_hash;
    headers->watched[slot].name = name_hash;
    headers->watched[slot].value = value_hash;
    return is_same ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX;
}

static inline void put(nghttp2_nv *field, const char *name, size_t name_len, const void *value,
                size_t value_len, uint8_t flags)
{
    field->name = unconst(name);
    field->namelen = name_len;
    field->value = unconst(value_len == 0 ? "" : value);
    field->valuelen = value_len;
    field->flags = flags;
}

/* A field whose name and value outlive the transport: nghttp2 need not copy them. (Inline, for the lengths of literals.) */
static inline void put_lasting(nghttp2_nv *field, const char *name, const char *value)
{
    put(field, name, strlen(name), value, strlen(value),
        NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE);
}

/* A field of the request at hand. */
static inline void put_once(nghttp2_nv *field, const char *name, const char *value)
{
    put(field, name, strlen(name), value, strlen(value), NGHTTP2_NV_FLAG_NO_COPY_NAME);
}

/* `headers->timeout` is the text of this timeout. True: it was before. */
static bool encode_timeout(struct headers_state *headers, int64_t timeout_ns)
{
    char before[DEADLINE_TEXT_BYTES];
    if (headers->timeout_ns == timeout_ns && headers->timeout_len != 0) {
        return true;
    }
    memcpy(before, headers->timeout, sizeof(before));
    headers->timeout_len = deadline_encode(timeout_ns, headers->timeout);
    headers->timeout_ns = timeout_ns;
    return strcmp(before, headers->timeout) == 0;
}

/* Where in our own fields they are that differ from request to request. */
#define PATH_AT    2
#define TIMEOUT_AT 5

static void put_timeout(struct headers_state *headers, int64_t timeout_ns, nghttp2_nv *field)
{
    const bool is_same = encode_timeout(headers, timeout_ns);
    put(field, "grpc-timeout", strlen("grpc-timeout"), headers->timeout, headers->timeout_len,
        NGHTTP2_NV_FLAG_NO_COPY_NAME |
            (is_same ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX));
}

/* Our own fields, in the order that servers may rely on (BEHAVIOUR 2.14). Returns their number. */
static size_t put_own(struct h2_transport *t, const struct h2_request *request, nghttp2_nv *fields)
{
    struct headers_state *headers = &t->headers;
    size_t n = 0;
    put_lasting(&fields[n++], ":method", "POST");
    put_lasting(&fields[n++], ":scheme", t->options.scheme);
    put_once(&fields[n++], ":path", request->path);
    if (request->authority != NULL) {
        put_once(&fields[n++], ":authority", request->authority);
    } else {
        put_lasting(&fields[n++], ":authority", t->options.authority);
    }
    put_lasting(&fields[n++], "te", "trailers");
    headers->has_timeout = request->timeout_ns != LULL_NEVER;
    if (headers->has_timeout) {
        put_timeout(headers, request->timeout_ns, &fields[n++]);
    }
    put_lasting(&fields[n++], "content-type", "application/grpc");
    if (t->options.user_agent != NULL) {
        put_lasting(&fields[n++], "user-agent", t->options.user_agent);
    }
    return n;
}

/* Those of the request before stand there still, and are the same but for two. */
static size_t put_own_again(struct h2_transport *t, const struct h2_request *request,
                            nghttp2_nv *fields)
{
    put_once(&fields[PATH_AT], ":path", request->path);
    if (request->timeout_ns != LULL_NEVER) {
        put_timeout(&t->headers, request->timeout_ns, &fields[TIMEOUT_AT]);
    }
    return t->headers.own_count;
}

/* The application's, "-bin" values as base64 at `text`. */
static size_t put_custom(struct headers_state *headers, const struct lull_metadata *metadata,
                         nghttp2_nv *fields, char *text)
{
    for (size_t i = 0; i < metadata->count; i++) {
        const struct lull_metadatum *item = &metadata->items[i];
        const void *value = item->value;
        size_t value_len = item->value_len;
        if (metadata_is_binary(item->key, item->key_len)) {
            value = text;
            value_len = base64_encode(item->value, item->value_len, text);
            text += value_len;
        }
        put(&fields[i], item->key, item->key_len, value, value_len,
            index_flag(headers, item->key, item->key_len, value, value_len));
    }
    return metadata->count;
}

size_t headers_fields_bytes(const nghttp2_nv *fields, size_t count)
{
    size_t sum = HEADERS_BLOCK_BYTES;
    for (size_t i = 0; i < count; i++) {
        sum += HEADERS_FIELD_BYTES + fields[i].namelen + fields[i].valuelen;
    }
    return sum;
}

static size_t encoded_bytes(const struct lull_metadata *metadata)
{
    size_t sum = 0;
    for (size_t i = 0; metadata != NULL && i < metadata->count; i++) {
        const struct lull_metadatum *item = &metadata->items[i];
        if (metadata_is_binary(item->key, item->key_len)) {
            sum += base64_encoded_length(item->value_len);
        }
    }
    return sum;
}

int headers_build(struct h2_transport *t, const struct h2_request *request, nghttp2_nv **fields,
                  size_t *count)
{
    struct headers_state *headers = &t->headers;
    const size_t custom = request->metadata == NULL ? 0 : request->metadata->count;
    const int rc = stock_reserve_fields(t->executor, t->stock, OWN_FIELDS + custom, encoded_bytes(request->metadata));
    if (rc != LULL_OK) {
        return rc;
    }
    if (t->stock->fields_of == t && request->authority == NULL &&
        t->headers.has_timeout == (request->timeout_ns != LULL_NEVER)) {
        *count = put_own_again(t, request, t->stock->fields);
    } else {
        *count = t->headers.own_count = put_own(t, request, t->stock->fields);
        t->stock->fields_of = request->authority == NULL ? t : NULL;
    }
    if (custom != 0) {
        *count +=
            put_custom(headers, request->metadata, t->stock->fields + *count, t->stock->encoded);
    }
    *fields = t->stock->fields;
    return LULL_OK;
}

/* A server's own fields; the message is encoded at `text`. */
static size_t put_answer(struct headers_state *headers, const struct headers_answer *answer,
                         nghttp2_nv *fields, char *text)
{
    const char *const message = answer->grpc_message;
    size_t n = 0;
    if (answer->http_status != NULL) {
        put_lasting(&fields[n++], ":status", answer->http_status);
    }
    if (answer->content_type != NULL) {
        put_lasting(&fields[n++], "content-type", answer->content_type);
    }
    if (answer->allow != NULL) {
        put_lasting(&fields[n++], "allow", answer->allow);
    }
    if (answer->has_grpc_status) {
        struct strbuf sb;
        strbuf_init(&sb, headers->number, sizeof(headers->number));
        strbuf_printf(&sb, "%u", answer->grpc_status);
        put_once(&fields[n++], "grpc-status", headers->number);
    }
    if (message != NULL && message[0] != '\0') {
        const size_t len = percent_encode(message, strlen(message), text);
        put(&fields[n++], "grpc-message", strlen("grpc-message"), text, len,
            index_flag(headers, "grpc-message", strlen("grpc-message"), text, len));
    }
    return n;
}

static size_t text_bytes(const char *name, const char *value)
{
    return value == NULL ? 0 : HEADERS_FIELD_BYTES + strlen(name) + strlen(value);
}

size_t headers_answer_bytes(const struct headers_answer *answer)
{
    const char *const message = answer->grpc_message;
    size_t sum = HEADERS_BLOCK_BYTES + metadata_block_bytes(answer->metadata) +
                 text_bytes(":status", answer->http_status) +
                 text_bytes("content-type", answer->content_type) +
                 text_bytes("allow", answer->allow) +
                 text_bytes("grpc-status", answer->has_grpc_status ? "16" : NULL);
    if (message != NULL && message[0] != '\0') {
        sum += text_bytes("grpc-message", "") + percent_encoded_length(message, strlen(message));
    }
    return sum;
}

int headers_build_answer(struct h2_transport *t, const struct headers_answer *answer,
                         nghttp2_nv **fields, size_t *count)
{
    struct headers_state *headers = &t->headers;
    const size_t custom = answer->metadata == NULL ? 0 : answer->metadata->count;
    const size_t message =
        answer->grpc_message == NULL
            ? 0
            : percent_encoded_length(answer->grpc_message, strlen(answer->grpc_message));
    if (headers_answer_bytes(answer) > HEADERS_BLOCK_MAX_BYTES) {
        return LULL_RC_LIMIT;
    }
    const int rc = stock_reserve_fields(t->executor, t->stock, ANSWER_FIELDS + custom, message + encoded_bytes(answer->metadata));
    if (rc != LULL_OK) {
        return rc;
    }
    t->stock->fields_of = NULL;
    *count = put_answer(headers, answer, t->stock->fields, t->stock->encoded);
    if (custom != 0) {
        *count += put_custom(headers, answer->metadata, t->stock->fields + *count,
                             message == 0 ? t->stock->encoded : t->stock->encoded + message);
    }
    *fields = t->stock->fields;
    return LULL_OK;
}

void headers_init(struct h2_transport *t)
{
    memset(&t->headers, 0, sizeof(t->headers));
    metadata_list_init(&t->headers.block, executor_allocator(t->executor),
                       t->options.max_metadata_bytes);
}

void headers_fini(struct h2_transport *t)
{
    headers_drop_known(t);
    if (t->stock != NULL && t->stock->fields_of == t) {
        t->stock->fields_of = NULL;
    }
    metadata_list_fini(&t->headers.block);
}
