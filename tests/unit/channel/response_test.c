/* SPDX-License-Identifier: MIT */
/*
 * src/channel/response.c: the table of response shapes (BEHAVIOUR 2.13, RULINGS 21).
 */
#include "channel/response.h"

#include <string.h>

#include "tests/support/check_main.h"

#define GRPC "application/grpc"

/* A response in short. NULL: the field, or the block, is not there; http -1: no :status. */
struct shape {
    const char *name;
    bool has_headers, is_doubled;
    int http;
    const char *type;
    unsigned messages;
    bool has_trailers, has_end_of_data;
    const char *grpc_status;
    const char *raw;
    bool is_closed;
    enum h2_end kind;
    uint32_t h2_code;
    enum lull_code code;
    enum lull_reason reason;
    const char *text;
};

#define OK_HEADERS .has_headers = true, .http = 200, .type = GRPC

static const struct shape shapes[] = {
    {"one message and OK", OK_HEADERS, .messages = 1, .has_trailers = true, .grpc_status = "0",
     .code = LULL_CODE_OK, .reason = LULL_REASON_NONE},
    {"scenario 229: :status 500 and a gRPC type", .has_headers = true, .http = 500, .type = GRPC,
     .messages = 1, .has_trailers = true, .grpc_status = "0", .code = LULL_CODE_OK,
     .reason = LULL_REASON_NONE},
    {"a type with a suffix, in capitals", .has_headers = true, .http = 200,
     .type = "Application/GRPC+proto", .messages = 1, .has_trailers = true, .grpc_status = "0",
     .code = LULL_CODE_OK, .reason = LULL_REASON_NONE},
    {"a type with a parameter", .has_headers = true, .http = 200, .type = GRPC ";charset=utf-8",
     .messages = 1, .has_trailers = true, .grpc_status = "0", .code = LULL_CODE_OK,
     .reason = LULL_REASON_NONE},
    {"a type that only starts like it", .has_headers = true, .http = 200, .type = GRPC "-web",
     .is_closed = true, .kind = H2_END_FINISHED, .has_end_of_data = true, .code = LULL_CODE_UNKNOWN,
     .reason = LULL_REASON_HTTP, .text = "application/grpc-web"},
    {"scenario 230: no :status, then the end", .has_headers = true, .http = -1, .type = GRPC,
     .has_trailers = true, .grpc_status = "0", .code = LULL_CODE_INTERNAL,
     .reason = LULL_REASON_PROTOCOL, .text = ":status"},
    {"no :status, end on DATA", .has_headers = true, .http = -1, .type = GRPC,
     .has_end_of_data = true, .code = LULL_CODE_INTERNAL, .reason = LULL_REASON_PROTOCOL,
     .text = ":status"},
    {"scenario 233: headers twice", OK_HEADERS, .is_doubled = true, .code = LULL_CODE_INTERNAL,
     .reason = LULL_REASON_PROTOCOL, .text = "twice"},
    {"scenario 234: DATA first", .http = -1, .has_end_of_data = true, .code = LULL_CODE_INTERNAL,
     .reason = LULL_REASON_PROTOCOL, .text = "no headers"},
    {"scenario 236: trailers-only 401 without grpc-status", .http = 401, .type = GRPC,
     .has_trailers = true, .code = LULL_CODE_UNAUTHENTICATED, .reason = LULL_REASON_HTTP,
     .text = "401"},
    {"scenario 237: trailers-only 431 without a type", .http = 431, .has_trailers = true,
     .code = LULL_CODE_INTERNAL, .reason = LULL_REASON_HTTP, .text = "431"},
    {"scenario 238: trailers-only grpc-status 0 without :status", .http = -1, .type = GRPC,
     .has_trailers = true, .grpc_status = "0", .code = LULL_CODE_INTERNAL,
     .reason = LULL_REASON_PROTOCOL, .text = ":status"},
    {"trailers-only with a bad type and grpc-status 0", .http = 200, .type = "text/html",
     .has_trailers = true, .grpc_status = "0", .code = LULL_CODE_UNKNOWN,
     .reason = LULL_REASON_HTTP, .text = "text/html"},
    {"trailers-only grpc-status 5", .http = 200, .type = GRPC, .has_trailers = true,
     .grpc_status = "5", .code = LULL_CODE_NOT_FOUND, .reason = LULL_REASON_SERVER},
    {"trailers-only OK: no message", .http = 200, .type = GRPC, .has_trailers = true,
     .grpc_status = "0", .code = LULL_CODE_INTERNAL, .reason = LULL_REASON_PROTOCOL,
     .text = "0 messages"},
    {"trailers without grpc-status, whatever the HTTP code", .has_headers = true, .http = 503,
     .type = GRPC, .messages = 1, .has_trailers = true, .code = LULL_CODE_UNKNOWN,
     .reason = LULL_REASON_PROTOCOL, .text = "no grpc-status"},
    {"scenario 240: END_STREAM on DATA", OK_HEADERS, .messages = 1, .has_end_of_data = true,
     .code = LULL_CODE_INTERNAL, .reason = LULL_REASON_PROTOCOL,
     .text = "without sending trailers"},
    {"scenario 241: trailers OK, then RST NO_ERROR", OK_HEADERS, .messages = 1,
     .has_trailers = true, .grpc_status = "0", .is_closed = true, .kind = H2_END_RESET,
     .h2_code = 0, .code = LULL_CODE_OK, .reason = LULL_REASON_NONE},
    {"two messages and OK", OK_HEADERS, .messages = 2, .has_trailers = true, .grpc_status = "0",
     .code = LULL_CODE_INTERNAL, .reason = LULL_REASON_PROTOCOL, .text = "2 messages"},
    {"two messages and an error", OK_HEADERS, .messages = 2, .has_trailers = true,
     .grpc_status = "9", .code = LULL_CODE_FAILED_PRECONDITION, .reason = LULL_REASON_SERVER},
    {"grpc-status 17", OK_HEADERS, .has_trailers = true, .grpc_status = "17",
     .code = LULL_CODE_UNKNOWN, .reason = LULL_REASON_SERVER},
    {"grpc-status that is no number", OK_HEADERS, .has_trailers = true, .grpc_status = "OK",
     .code = LULL_CODE_UNKNOWN, .reason = LULL_REASON_PROTOCOL, .text = "cannot be read"},
    {"an HTML page", .has_headers = true, .http = 502, .type = "text/html", .raw = "<h1>bad</h1>",
     .has_end_of_data = true, .code = LULL_CODE_UNAVAILABLE, .reason = LULL_REASON_HTTP,
     .text = "<h1>bad</h1>"},
    {"an HTML page that is cut by a reset", .has_headers = true, .http = 404, .type = "text/html",
     .raw = "x", .is_closed = true, .kind = H2_END_RESET, .h2_code = 2,
     .code = LULL_CODE_UNIMPLEMENTED, .reason = LULL_REASON_HTTP, .text = "404"},
    {"a lost connection after headers of a page", .has_headers = true, .http = 404,
     .type = "text/html", .is_closed = true, .kind = H2_END_TRANSPORT,
     .code = LULL_CODE_UNAVAILABLE, .reason = LULL_REASON_TRANSPORT},
    {"a lost connection", OK_HEADERS, .messages = 1, .is_closed = true, .kind = H2_END_TRANSPORT,
     .code = LULL_CODE_UNAVAILABLE, .reason = LULL_REASON_TRANSPORT,
     .text = "the connection was lost"},
    {"a limit of ours", .http = -1, .is_closed = true, .kind = H2_END_LIMIT,
     .code = LULL_CODE_RESOURCE_EXHAUSTED, .reason = LULL_REASON_LIMIT},
    {"a fault of the peer", .http = -1, .is_closed = true, .kind = H2_END_PROTOCOL,
     .code = LULL_CODE_INTERNAL, .reason = LULL_REASON_PROTOCOL, .text = "broke the protocol"},
    {"refused twice", .http = -1, .is_closed = true, .kind = H2_END_UNPROCESSED, .h2_code = 7,
     .code = LULL_CODE_UNAVAILABLE, .reason = LULL_REASON_RESET, .text = "REFUSED_STREAM"},
    {"1xx that ends the stream", .http = 103, .has_trailers = true, .code = LULL_CODE_INTERNAL,
     .reason = LULL_REASON_HTTP, .text = "103"},
};

static struct lull_metadata block_of(struct lull_metadatum items[2], const char *type,
                                     const char *status)
{
    struct lull_metadata block = {items, 0};
    if (type != NULL) {
        items[block.count++] = lull_metadatum_text("content-type", type);
    }
    if (status != NULL) {
        items[block.count++] = lull_metadatum_text("grpc-status", status);
    }
    return block;
}

static void fill(struct response *r, const struct shape *shape)
{
    struct lull_metadatum items[2];
    response_init(r, true);
    if (shape->has_headers) {
        struct lull_metadata headers = block_of(items, shape->type, NULL);
        response_on_headers(r, shape->http, &headers);
        if (shape->is_doubled) {
            response_on_headers(r, shape->http, &headers);
        }
    }
    r->messages = shape->messages;
    if (shape->raw != NULL) {
        response_on_raw(r, (const uint8_t *)shape->raw, strlen(shape->raw));
    }
    ck_assert(!response_is_decided(r) || shape->is_doubled);
    if (shape->has_trailers) {
        struct lull_metadata trailers =
            block_of(items, shape->has_headers ? NULL : shape->type, shape->grpc_status);
        response_on_trailers(r, shape->has_headers ? -1 : shape->http, &trailers);
    }
    r->has_end_of_data = shape->has_end_of_data;
    if (shape->is_closed) {
        r->is_closed = true;
        r->end.kind = shape->kind;
        r->end.code = shape->h2_code;
        r->end.has_code = shape->kind == H2_END_RESET || shape->kind == H2_END_UNPROCESSED;
    }
}

START_TEST(each_shape_has_its_status)
{
    const struct shape *shape = &shapes[_i];
    struct response r;
    char text[512];
    struct strbuf sb;
    fill(&r, shape);
    strbuf_init(&sb, text, sizeof(text));
    ck_assert(response_is_decided(&r));
    struct verdict v = response_judge(&r, &sb);
    ck_assert_msg(v.code == shape->code, "%s: %s, expected %s (%s)", shape->name,
                  lull_code_name((int)v.code), lull_code_name((int)shape->code), text);
    ck_assert_msg(v.reason == shape->reason, "%s: reason %s", shape->name,
                  lull_reason_name((int)v.reason));
    if (shape->text != NULL) {
        ck_assert_msg(strstr(text, shape->text) != NULL, "%s: no \"%s\" in: %s", shape->name,
                      shape->text, text);
    }
    bool is_servers = shape->reason == LULL_REASON_SERVER || shape->reason == LULL_REASON_NONE;
    ck_assert_msg(v.is_servers == is_servers, "%s", shape->name);
}
END_TEST

/* scenario 242; BEHAVIOUR 2.13, RULINGS 21 */
START_TEST(each_reset_code_has_its_status)
{
    static const enum lull_code codes[15] = {
        LULL_CODE_INTERNAL,          LULL_CODE_INTERNAL,    LULL_CODE_INTERNAL,
        LULL_CODE_INTERNAL,          LULL_CODE_INTERNAL,    LULL_CODE_INTERNAL,
        LULL_CODE_INTERNAL,          LULL_CODE_UNAVAILABLE, LULL_CODE_CANCELLED,
        LULL_CODE_INTERNAL,          LULL_CODE_INTERNAL,    LULL_CODE_RESOURCE_EXHAUSTED,
        LULL_CODE_PERMISSION_DENIED, LULL_CODE_UNKNOWN,     LULL_CODE_UNKNOWN /* 99 */};
    struct shape shape = {OK_HEADERS, .is_closed = true, .kind = H2_END_RESET};
    struct response r;
    char text[512];
    struct strbuf sb;
    for (uint32_t i = 0; i < 15; i++) {
        shape.h2_code = i == 14 ? 99 : i;
        fill(&r, &shape);
        strbuf_init(&sb, text, sizeof(text));
        struct verdict v = response_judge(&r, &sb);
        ck_assert_msg(v.code == codes[i], "RST %u: %s", (unsigned)shape.h2_code,
                      lull_code_name((int)v.code));
        ck_assert_int_eq(v.reason, LULL_REASON_RESET);
        ck_assert_int_eq(v.http2_error, (int64_t)shape.h2_code);
    }
}
END_TEST

START_TEST(a_long_body_is_not_waited_for)
{
    struct response r;
    struct lull_metadatum items[2];
    struct lull_metadata headers = block_of(items, "text/html", NULL);
    uint8_t page[150] = {'x'};
    response_init(&r, true);
    response_on_headers(&r, 200, &headers);
    response_on_raw(&r, page, sizeof(page));
    ck_assert(!response_is_decided(&r));
    response_on_raw(&r, page, sizeof(page));
    ck_assert(response_is_decided(&r));
    ck_assert_uint_eq(r.raw_len, RESPONSE_RAW_BYTES);
    ck_assert_uint_eq(r.raw_total, 300);
}
END_TEST

START_TEST(only_parsed_trailers_with_a_status_are_the_servers_verdict)
{
    struct shape shape = {OK_HEADERS, .messages = 1, .has_trailers = true, .grpc_status = "0"};
    struct response r;
    fill(&r, &shape);
    ck_assert(response_has_verdict_of_server(&r));
    shape.grpc_status = NULL;
    fill(&r, &shape);
    ck_assert(!response_has_verdict_of_server(&r));
    shape.grpc_status = "0";
    shape.type = "text/plain";
    fill(&r, &shape);
    ck_assert(!response_has_verdict_of_server(&r));
}
END_TEST

static Suite *response_suite(void)
{
    Suite *suite = suite_create("response");
    TCase *tcase = tcase_create("response");
    tcase_add_loop_test(tcase, each_shape_has_its_status, 0,
                        (int)(sizeof(shapes) / sizeof(shapes[0])));
    tcase_add_test(tcase, each_reset_code_has_its_status);
    tcase_add_test(tcase, a_long_body_is_not_waited_for);
    tcase_add_test(tcase, only_parsed_trailers_with_a_status_are_the_servers_verdict);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("response", response_suite)
