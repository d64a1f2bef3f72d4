/* SPDX-License-Identifier: MIT */
/*
 * The table of response shapes. See response.h.
 */
#include "channel/response.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/cold.h"
#include "base/status.h"

static const char grpc_type[] = "application/grpc";

static char lowered(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

void response_init(struct response *response, bool is_unary)
{
    memset(response, 0, offsetof(struct response, end.text));
    response->end.text[0] = '\0';
    response->is_unary = is_unary;
    response->http_status = -1;
    response->grpc_status = LULL_CODE_UNKNOWN;
}

/* "application/grpc" and then the end, '+' or ';', whatever the case (PROTOCOL-HTTP2, Content-Type). */
static bool is_grpc_type(const char *value, size_t len)
{
    size_t base = sizeof(grpc_type) - 1;
    if (len < base) {
        return false;
    }
    if (memcmp(value, grpc_type, base) != 0) {
        for (size_t i = 0; i < base; i++) {
            if (lowered(value[i]) != grpc_type[i]) {
                return false;
            }
        }
    }
    return len == base || value[base] == '+' || value[base] == ';';
}

/* The fields of a block that mean something to gRPC: the first of each name. */
struct fields {
    const struct lull_metadatum *type;
    const struct lull_metadatum *status;
};

static const struct lull_metadatum *first_of(const struct lull_metadatum *before,
                                             const struct lull_metadatum *item)
{
    return before != NULL ? before : item;
}

/* One look at each field. */
static void sort_out(struct response *response, const struct lull_metadata *block,
                     struct fields *found)
{
    *found = (struct fields){NULL, NULL};
    response->message = NULL;
    response->customs = block->count;
    for (size_t i = 0; i < block->count; i++) {
        const struct lull_metadatum *item = &block->items[i];
        if (!response_is_protocol_header(item)) {
            continue;
        }
        response->customs--;
        if (item->key_len == 11) {
            found->status = first_of(found->status, item);
        } else if (item->key[0] == 'c') {
            found->type = first_of(found->type, item);
        } else if (item->key[5] == 'm') {
            response->message = first_of(response->message, item);
        }
    }
}

static void take_head(struct response *response, int http_status,
                      const struct lull_metadatum *type)
{
    response->http_status = http_status;
    if (type != NULL) {
        const char *value = (const char *)type->value;
        response->has_content_type = true;
        response->is_grpc = is_grpc_type(value, type->value_len);
        if (!response->is_grpc || !response->has_headers) {
            size_t kept = type->value_len < sizeof(response->content_type) - 1
                              ? type->value_len
                              : sizeof(response->content_type) - 1;
            memcpy(response->content_type, value, kept);
            response->content_type[kept] = '\0';
        }
    }
}

void response_on_headers(struct response *response, int http_status,
                         const struct lull_metadata *headers)
{
    struct fields found;
    if (response->has_headers) {
        response->is_doubled = true;
        return;
    }
    response->has_headers = true;
    sort_out(response, headers, &found);
    take_head(response, http_status, found.type);
}

void response_on_trailers(struct response *response, int http_status,
                          const struct lull_metadata *trailers)
{
    struct fields found;
    sort_out(response, trailers, &found);
    if (!response->has_headers) {
        take_head(response, http_status, found.type);
    }
    response->has_trailers = true;
    if (found.status != NULL) {
        response->has_grpc_status = true;
        response->is_grpc_status_readable =
            status_parse_grpc((const uint8_t *)found.status->value, found.status->value_len,
                              &response->grpc_status);
    }
}

void response_on_raw(struct response *response, const uint8_t *bytes, size_t len)
{
    size_t room = sizeof(response->raw) - response->raw_len;
    size_t kept = len < room ? len : room;
    memcpy(response->raw + response->raw_len, bytes, kept);
    response->raw_len += kept;
    response->raw_total += len;
}

bool response_has_begun(const struct response *response)
{
    return response->has_headers || response->has_trailers || response->has_end_of_data ||
           response->messages > 0 || response->raw_total > 0;
}

bool response_is_decided(const struct response *response)
{
    const struct response *r = response;
    if (r->is_closed || r->is_doubled || r->has_end_of_data || r->lost != NULL ||
        r->raw_len == sizeof(r->raw)) {
        return true;
    }
    /* OK where a message is missing, or may be, may be one that was cut. The end of the stream, which is about to come, knows. */
    bool may_be_cut = r->has_headers && r->has_grpc_status && r->grpc_status == LULL_CODE_OK &&
                      (r->messages == 0 || !r->is_unary);
    return r->has_trailers && !(may_be_cut && r->is_grpc && r->http_status >= 0);
}

bool response_has_verdict_of_server(const struct response *response)
{
    if (!response->has_trailers || response->http_status < 200 || response->is_doubled) {
        return false;
    }
    return response->is_grpc && response->has_grpc_status;
}

static struct verdict verdict_of(enum lull_code code, enum lull_reason reason)
{
    struct verdict v = {code, reason, false, -1};
    return v;
}

/* The peer sent what no gRPC server sends: the HTTP table, with what it said. */
LULL_COLD static struct verdict judge_http(const struct response *r, struct strbuf *text)
{
    strbuf_printf(text, "HTTP status %d", r->http_status);
    if (!r->has_content_type) {
        strbuf_add(text, " without a content-type");
    } else {
        strbuf_add(text, ", content-type ");
        strbuf_quoted(text, r->content_type, strlen(r->content_type), RESPONSE_CONTENT_TYPE_BYTES);
    }
    if (!r->is_grpc) {
        strbuf_add(text, ", where gRPC was expected");
    }
    if (r->raw_len > 0) {
        strbuf_add(text, "; the body starts ");
        strbuf_quoted(text, r->raw, r->raw_len, sizeof(r->raw));
    }
    return verdict_of(status_from_http(r->http_status), LULL_REASON_HTTP);
}

static struct verdict judge_status(const struct response *r, struct strbuf *text)
{
    if (r->grpc_status != LULL_CODE_OK) {
        struct verdict v = verdict_of(r->grpc_status, LULL_REASON_SERVER);
        v.is_servers = r->is_grpc_status_readable;
        if (!v.is_servers) {
            v.reason = LULL_REASON_PROTOCOL;
            strbuf_add(text, "the server's grpc-status cannot be read");
        }
        return v;
    }
    /* A message that was cut: h2 says so when it ends the stream. */
    if (r->is_closed && r->end.kind == H2_END_PROTOCOL) {
        strbuf_printf(text, "status OK, but %s", r->end.text);
        return verdict_of(LULL_CODE_INTERNAL, LULL_REASON_PROTOCOL);
    }
    if (r->is_unary && r->messages != 1) {
        strbuf_printf(text, "status OK with %" PRIu32 " messages, where a unary call has one",
                      r->messages);
        return verdict_of(LULL_CODE_INTERNAL, LULL_REASON_PROTOCOL);
    }
    struct verdict v = verdict_of(LULL_CODE_OK, LULL_REASON_NONE);
    v.is_servers = true;
    return v;
}

static struct verdict judge_trailers(const struct response *r, struct strbuf *text)
{
    const char *block = r->has_headers ? "headers" : "trailers-only response";
    if (r->http_status < 0) {
        strbuf_printf(text, "the server's %s had no :status", block);
        return verdict_of(LULL_CODE_INTERNAL, LULL_REASON_PROTOCOL);
    }
    /* In a trailers-only response the content-type is judged first, grpc-status or not. One that says nothing
     * at all, neither type nor status, is HTTP's as well. */
    if (!r->is_grpc) {
        return judge_http(r, text);
    }
    if (r->has_grpc_status) {
        return judge_status(r, text);
    }
    if (!r->has_headers) {
        return judge_http(r, text);
    }
    strbuf_add(text, "the server's trailers had no grpc-status");
    return verdict_of(LULL_CODE_UNKNOWN, LULL_REASON_PROTOCOL);
}

static struct verdict judge_end(const struct response *r, struct strbuf *text)
{
    struct verdict v = verdict_of(LULL_CODE_INTERNAL, LULL_REASON_PROTOCOL);
    switch (r->end.kind) {
    case H2_END_RESET:
    case H2_END_UNPROCESSED:
        /* The code is NO_ERROR here only when no trailers came: INTERNAL, as the table has it. */
        v.code =
            r->end.kind == H2_END_RESET ? status_from_h2_error(r->end.code) : LULL_CODE_UNAVAILABLE;
        v.reason = LULL_REASON_RESET;
        v.http2_error = r->end.has_code ? (int64_t)r->end.code : -1;
        if (r->end.text[0] != '\0') {
            strbuf_add(text, r->end.text);
        } else {
            strbuf_printf(text, "the server reset the stream: %s (%" PRIu32 ")",
                          status_h2_error_name(r->end.code), r->end.code);
        }
        break;
    case H2_END_LIMIT:
        v = verdict_of(LULL_CODE_RESOURCE_EXHAUSTED, LULL_REASON_LIMIT);
        strbuf_add(text, r->end.text);
        break;
    case H2_END_NOT_SENT:
    case H2_END_TRANSPORT:
        v = verdict_of(LULL_CODE_UNAVAILABLE,
                       r->end.is_peer_dead ? LULL_REASON_KEEPALIVE : LULL_REASON_TRANSPORT);
        strbuf_add(text, r->end.text[0] != '\0' ? r->end.text : "the connection was lost");
        break;
    case H2_END_PROTOCOL:
        strbuf_add(text, r->end.text[0] != '\0' ? r->end.text : "the server broke the protocol");
        break;
    default:
        strbuf_add(text, "the stream ended without trailers");
        break;
    }
    return v;
}

struct verdict response_judge(const struct response *response, struct strbuf *text)
{
    const struct response *r = response;
    if (r->lost != NULL) {
        strbuf_printf(text, "no memory for %s", r->lost);
        return verdict_of(LULL_CODE_RESOURCE_EXHAUSTED, LULL_REASON_INTERNAL);
    }
    if (r->is_doubled) {
        strbuf_add(text, "the server sent headers twice");
        return verdict_of(LULL_CODE_INTERNAL, LULL_REASON_PROTOCOL);
    }
    if (r->has_trailers) {
        return judge_trailers(r, text);
    }
    /* Not gRPC: what else went wrong with its body does not matter. A lost connection does. */
    bool is_lost =
        r->is_closed && (r->end.kind == H2_END_TRANSPORT || r->end.kind == H2_END_NOT_SENT);
    if (r->has_headers && !is_lost) {
        if (r->http_status < 0) {
            strbuf_add(text, "the server's headers had no :status");
            return verdict_of(LULL_CODE_INTERNAL, LULL_REASON_PROTOCOL);
        }
        if (!r->is_grpc) {
            return judge_http(r, text);
        }
    }
    if (r->has_end_of_data) {
        strbuf_add(text, r->has_headers ? "the server closed the stream without sending trailers"
                                        : "the server sent data and no headers");
        return verdict_of(LULL_CODE_INTERNAL, LULL_REASON_PROTOCOL);
    }
    return judge_end(r, text);
}

bool response_is_protocol_header(const struct lull_metadatum *item)
{
    const char *const key = item->key;
    switch (item->key_len) {
    case 11:
        return memcmp(key, "grpc-status", 11) == 0;
    case 12:
        return memcmp(key, "content-type", 12) == 0 || memcmp(key, "grpc-message", 12) == 0;
    case 13:
        return memcmp(key, "grpc-encoding", 13) == 0;
    case 20:
        return memcmp(key, "grpc-accept-encoding", 20) == 0;
    default:
        return false;
    }
}
