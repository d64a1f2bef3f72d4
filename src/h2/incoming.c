/* SPDX-License-Identifier: MIT */
/*
 * Judging requests. See incoming.h.
 */
#include "h2/incoming.h"

#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "h2/answer.h"
#include "h2/inner.h"
#include "lull/status.h"
#include "policy/deadline.h"

static const char *const pseudo_names[] = {":method", ":scheme", ":path", ":authority"};

/* What is told apart from the metadata, or is of no use to an application. */
static const char *const own_names[] = {"te", "content-type", "grpc-timeout", "host"};

/* RFC 9113 section 8.2.2: these make a request malformed. */
static const char *const connection_names[] = {"connection", "proxy-connection", "keep-alive",
                                               "transfer-encoding", "upgrade"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_among(const char *const *names, size_t count, const uint8_t *name, size_t len)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0) {
            return true;
        }
    }
    return false;
}

void incoming_init(struct h2_transport *t)
{
    memset(&t->incoming, 0, sizeof(t->incoming));
    metadata_list_init(&t->incoming.own, executor_allocator(t->executor), 0);
}

void incoming_fini(struct h2_transport *t)
{
    metadata_list_fini(&t->incoming.own);
}

void incoming_begin(struct h2_transport *t, int32_t id)
{
    struct incoming_state *incoming = &t->incoming;
    headers_begin(t, NULL);
    metadata_list_reset(&incoming->own);
    incoming->id = id;
    incoming->has_regular = false;
    incoming->is_malformed = false;
    incoming->is_over_limit = false;
    incoming->has_bad_base64 = false;
    incoming->has_no_memory = false;
}

static const struct lull_metadatum *own(const struct h2_transport *t, const char *name)
{
    const struct lull_metadata view = metadata_list_view(&t->incoming.own);
    return lull_metadata_find(&view, name, 0);
}

/* ---- fields */

/* What weighs too much is not kept, and the fields after it still tell what kind of request it is. */
static void keep_own(struct h2_transport *t, const uint8_t *name, size_t name_len,
                     const uint8_t *value, size_t value_len)
{
    struct incoming_state *incoming = &t->incoming;
    struct metadata_list *list = &incoming->own;
    const size_t items_cap = list->items_cap;
    const size_t bytes_cap = list->bytes_cap;
    if (metadata_list_charge(&t->headers.block, name_len, value_len) != LULL_OK) {
        incoming->is_over_limit = true;
        return;
    }
    if (metadata_list_add(list, (const char *)name, name_len, value, value_len) != LULL_OK) {
        incoming->has_no_memory = true;
    }
    executor_counters(t->executor)->allocations +=
        (uint64_t)(list->items_cap != items_cap) + (uint64_t)(list->bytes_cap != bytes_cap);
}

/* RFC 9113 section 8.3: before the others, none twice, none that we do not know, no NUL or line break in it. */
static void on_pseudo(struct h2_transport *t, const uint8_t *name, size_t name_len,
                      const uint8_t *value, size_t value_len)
{
    struct incoming_state *incoming = &t->incoming;
    bool is_bad =
        incoming->has_regular || !is_among(pseudo_names, COUNT(pseudo_names), name, name_len);
    for (size_t i = 0; i < value_len; i++) {
        is_bad = is_bad || value[i] <= 0x20 || value[i] == 0x7f;
    }
    for (size_t i = 0; i < incoming->own.count; i++) {
        const struct lull_metadatum *item = &incoming->own.items[i];
        is_bad = is_bad || (item->key_len == name_len && memcmp(item->key, name, name_len) == 0);
    }
    if (is_bad) {
        incoming->is_malformed = true;
        return;
    }
    keep_own(t, name, name_len, value, value_len);
}

static void on_regular(struct h2_transport *t, const uint8_t *name, size_t name_len,
                       const uint8_t *value, size_t value_len)
{
    struct incoming_state *incoming = &t->incoming;
    incoming->has_regular = true;
    /* A byte on the wire can stand for four thousand of an entry of HPACK's table: those that are not kept are not looked at either. */
    if (!metadata_list_has_room(&t->headers.block, name_len, value_len)) {
        incoming->is_over_limit = true;
        return;
    }
    if (!headers_is_name(name, name_len) ||
        is_among(connection_names, COUNT(connection_names), name, name_len)) {
        incoming->is_malformed = true;
        return;
    }
    if (is_among(own_names, COUNT(own_names), name, name_len)) {
        keep_own(t, name, name_len, value, value_len);
        return;
    }
    switch (headers_keep(t, name, name_len, value, value_len)) {
    case LULL_OK:
        break;
    case LULL_RC_INVALID:
        incoming->has_bad_base64 = true;
        break;
    case LULL_RC_LIMIT:
        incoming->is_over_limit = true;
        break;
    default:
        incoming->has_no_memory = true;
        break;
    }
}

void incoming_on_field(struct h2_transport *t, const uint8_t *name, size_t name_len,
                       const uint8_t *value, size_t value_len)
{
    if (t->incoming.is_malformed || t->incoming.has_no_memory) {
        return;
    }
    if (name_len > 0 && name[0] == ':') {
        on_pseudo(t, name, name_len, value, value_len);
    } else {
        on_regular(t, name, name_len, value, value_len);
    }
}

/* ---- judging */

static bool is_grpc(const struct h2_transport *t)
{
    static const char grpc[] = "application/grpc";
    const struct lull_metadatum *type = own(t, "content-type");
    char after;
    if (type == NULL || type->value_len < sizeof(grpc) - 1 ||
        strncasecmp(type->value, grpc, sizeof(grpc) - 1) != 0) {
        return false;
    }
    after =
        type->value_len == sizeof(grpc) - 1 ? ';' : ((const char *)type->value)[sizeof(grpc) - 1];
    return after == ';' || after == '+' || after == ' ';
}

static bool is_value(const struct lull_metadatum *item, const char *what)
{
    return item != NULL && item->value_len == strlen(what) &&
           strncasecmp(item->value, what, item->value_len) == 0;
}

/* A status of gRPC for a request that is one, in its kind of answer. */
static bool answer_grpc(struct h2_transport *t, unsigned grpc_status, const char *text)
{
    const struct headers_answer answer = {.http_status = "200",
                                          .content_type = "application/grpc",
                                          .has_grpc_status = true,
                                          .grpc_status = grpc_status,
                                          .grpc_message = text};
    answer_plain(t, t->incoming.id, &answer);
    return false;
}

/* For everybody else: HTTP's own, and gRPC's for a client of it that lost its way. */
static bool answer_http(struct h2_transport *t, const char *http_status, unsigned grpc_status,
                        const char *text)
{
    const struct headers_answer answer = {.http_status = http_status,
                                          .allow = strcmp(http_status, "405") == 0 ? "POST" : NULL,
                                          .has_grpc_status = true,
                                          .grpc_status = grpc_status,
                                          .grpc_message = text};
    answer_plain(t, t->incoming.id, &answer);
    return false;
}

static bool answer_over_limit(struct h2_transport *t)
{
    char text[96];
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    strbuf_printf(&sb, "the request's %s over the server's limit of %u bytes",
                  is_grpc(t) ? "metadata is" : "fields are", t->options.max_metadata_bytes);
    return is_grpc(t) ? answer_grpc(t, LULL_CODE_RESOURCE_EXHAUSTED, text)
                      : answer_http(t, "431", LULL_CODE_INTERNAL, text);
}

static void reset(struct h2_transport *t, uint32_t code)
{
    if (nghttp2_submit_rst_stream(t->session.nghttp2, NGHTTP2_FLAG_NONE, t->incoming.id, code) !=
        0) {
        t->is_out_of_memory = true;
    }
}

/* What of it is HTTP's. False: it has got its answer. */
static bool is_good_http(struct h2_transport *t)
{
    const struct incoming_state *incoming = &t->incoming;
    const bool has_pseudo =
        own(t, ":method") != NULL && own(t, ":scheme") != NULL && own(t, ":path") != NULL;
    if (incoming->has_no_memory) {
        reset(t, NGHTTP2_REFUSED_STREAM);
        return false;
    }
    if (incoming->is_malformed || (!has_pseudo && !incoming->is_over_limit)) {
        serving_on_fault(t, incoming->id, NGHTTP2_PROTOCOL_ERROR);
        reset(t, NGHTTP2_PROTOCOL_ERROR);
        return false;
    }
    if (incoming->is_over_limit) {
        return answer_over_limit(t);
    }
    if (!is_value(own(t, ":method"), "POST")) {
        return answer_http(t, "405", LULL_CODE_INTERNAL, "the method is not POST");
    }
    if (!is_grpc(t)) {
        return answer_http(t, "415", LULL_CODE_INTERNAL, "content-type is not application/grpc");
    }
    return true;
}

/* And what is gRPC's. */
static bool is_good_grpc(struct h2_transport *t, int64_t *timeout_ns)
{
    const struct lull_metadatum *timeout = own(t, "grpc-timeout");
    if (!is_value(own(t, "te"), "trailers")) {
        return answer_http(t, "400", LULL_CODE_INTERNAL,
                           "te is not trailers: an intermediary may not pass them on");
    }
    if (own(t, ":path")->value_len == 0 || *(const char *)own(t, ":path")->value != '/') {
        return answer_grpc(t, LULL_CODE_UNIMPLEMENTED, "the path does not start with /");
    }
    if (t->incoming.has_bad_base64) {
        return answer_grpc(t, LULL_CODE_INTERNAL, "bad base64 in a -bin value");
    }
    *timeout_ns = LULL_NEVER;
    if (timeout != NULL && !deadline_decode(timeout->value, timeout->value_len, timeout_ns)) {
        return answer_grpc(t, LULL_CODE_INTERNAL, "malformed grpc-timeout");
    }
    return true;
}

/* ---- a stream of the owner's */

static const char *text_of(const struct h2_transport *t, const char *name, const char *otherwise)
{
    const struct lull_metadatum *item = own(t, name);
    return item == NULL ? otherwise : item->value; /* a list ends each value with a NUL */
}

static void adopt(struct h2_transport *t, struct h2_stream *stream, bool ends)
{
    const int32_t id = t->incoming.id;
    stream->transport = t;
    stream->id = id;
    stream->headers_seen = 1;
    list_push_back(&t->streams, &stream->link);
    t->open++;
    (void)nghttp2_session_set_stream_user_data(t->session.nghttp2, id, stream);
    keepalive_glue_on_stream_opened(t);
    if (ends) {
        stream->peer_ended = true;
        stream->ops->on_end_of_data(stream);
    }
}

void incoming_on_whole(struct h2_transport *t, bool ends)
{
    struct h2_incoming incoming = {.stream_id = t->incoming.id, .ends = ends};
    struct h2_stream *stream = NULL;
    if (is_good_http(t) && is_good_grpc(t, &incoming.timeout_ns)) {
        incoming.path = text_of(t, ":path", "");
        incoming.authority = text_of(t, ":authority", text_of(t, "host", ""));
        incoming.metadata = &t->headers.block;
        stream = t->server_ops->on_stream(t, &incoming);
        if (stream == NULL) {
            reset(t, NGHTTP2_REFUSED_STREAM);
        } else {
            adopt(t, stream, ends);
        }
    }
    t->incoming.id = 0;
}
