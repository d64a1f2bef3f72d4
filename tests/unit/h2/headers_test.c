/* SPDX-License-Identifier: MIT */
#include "h2/headers.h"

#include "tests/support/check_main.h"
#include "tests/unit/h2/frames.h"

/* The HEADERS of the request on stream `id`, as "name: value\n..." with '!' before what HPACK may not remember. */
static const char *read_block(nghttp2_hd_inflater *inflater, uint32_t id)
{
    static char text[8192];
    struct sent_frame frame;
    const uint8_t *at;
    size_t left;
    char *to = text;
    ck_assert(sent_frame(1, id, 0, &frame));
    at = frame.payload;
    left = frame.len;
    *to = '\0';
    for (;;) {
        nghttp2_nv nv;
        int flags = 0;
        ssize_t n = nghttp2_hd_inflate_hd2(inflater, &nv, &flags, at, left, 1);
        ck_assert_int_ge((int)n, 0);
        at += n;
        left -= (size_t)n;
        if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
            to += sprintf(to, "%s%.*s: %.*s\n", (nv.flags & NGHTTP2_NV_FLAG_NO_INDEX) ? "!" : "",
                          (int)nv.namelen, nv.name, (int)nv.valuelen, nv.value);
        }
        if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
            nghttp2_hd_inflate_end_headers(inflater);
            return text;
        }
    }
}

static nghttp2_hd_inflater *begin(void)
{
    nghttp2_hd_inflater *inflater;
    ck_assert_int_eq(nghttp2_hd_inflate_new(&inflater), 0);
    world_begin();
    (void)world_ready(0);
    return inflater;
}

static void end(nghttp2_hd_inflater *inflater)
{
    world_end();
    nghttp2_hd_inflate_del(inflater);
}

START_TEST(fields_come_in_the_order_of_grpc)
{
    nghttp2_hd_inflater *inflater = begin();
    struct h2_request request = a_request();
    struct lull_metadatum items[3] = {lull_metadatum_text("x-b", "2"),
                                      lull_metadatum_text("x-a", "1"),
                                      lull_metadatum_text("x-b", "3")};
    struct lull_metadata metadata = {items, 3};
    request.timeout_ns = LULL_SECOND;
    request.metadata = &metadata;
    (void)open_with(0, &request);
    run();
    ck_assert_str_eq(read_block(inflater, 1),
                     ":method: POST\n:scheme: http\n:path: /a.B/C\n"
                     ":authority: svc.test:80\nte: trailers\n"
                     "!grpc-timeout: 1000000u\n"
                     "content-type: application/grpc\n"
                     "user-agent: lull-c/0.1.0\n!x-b: 2\n!x-a: 1\n!x-b: 3\n");
    end(inflater);
}
END_TEST

START_TEST(call_may_have_its_own_authority)
{
    nghttp2_hd_inflater *inflater = begin();
    struct h2_request request = a_request();
    request.authority = "other";
    (void)open_with(0, &request);
    run();
    ck_assert_ptr_nonnull(strstr(read_block(inflater, 1), ":authority: other\n"));
    ck_assert_str_eq(h2_transport_last_timeout(t), "");
    end(inflater);
}
END_TEST

/* What a request leaves for the next one is its own authority, and not another call's. */
START_TEST(call_after_one_with_its_own_authority_has_the_channels)
{
    static const char *const authorities[] = {NULL, "other", NULL, NULL, "third", "other", NULL};
    nghttp2_hd_inflater *inflater = begin();
    for (unsigned i = 0; i < sizeof(authorities) / sizeof(authorities[0]); i++) {
        struct h2_request request = a_request();
        char expect[64];
        const char *block;
        request.authority = authorities[i];
        (void)open_with(i, &request);
        run();
        (void)sprintf(expect, "\n:authority: %s\nte: trailers\n", authorities[i] != NULL ? authorities[i] : "svc.test:80");
        block = read_block(inflater, 2 * i + 1);
        ck_assert_msg(strstr(block, expect) != NULL, "row %u: %s", i, block);
    }
    end(inflater);
}
END_TEST

/* The fields that a transport would send. */
static const char *built(struct h2_transport *transport, const struct h2_request *request)
{
    static char text[1024];
    char *to = text;
    nghttp2_nv *fields;
    size_t count;
    ck_assert_int_eq(headers_build(transport, request, &fields, &count), LULL_OK);
    *to = '\0';
    for (size_t i = 0; i < count; i++) {
        to += sprintf(to, "%.*s: %.*s\n", (int)fields[i].namelen, fields[i].name, (int)fields[i].valuelen, fields[i].value);
    }
    return text;
}

/* A server of the same executor answers in between. */
static void build_answer(struct h2_transport *transport)
{
    const struct headers_answer answer = {.http_status = "404", .content_type = "text/plain", .has_grpc_status = true, .grpc_status = 12};
    nghttp2_nv *fields;
    size_t count;
    ck_assert_int_eq(headers_build_answer(transport, &answer, &fields, &count), LULL_OK);
    ck_assert_uint_eq(count, 3);
}

/* They share the memory in which the fields of the request before stand. */
START_TEST(connections_of_an_executor_send_their_own_fields)
{
    struct h2_transport_options options = world_options();
    struct addr addr = {.text = "x"};
    struct endpoint *near, *far;
    struct h2_transport *first, *second;
    nghttp2_hd_inflater *inflater = begin();
    options.scheme = "https";
    options.authority = "else.test:443";
    options.user_agent = "else/1";
    first = t;
    ck_assert_int_eq(endpoint_pipe_new(x, x, &addr, &addr, NULL, &near, &far), 0);
    ck_assert_int_eq(h2_transport_new(x, near, &options, &transport_ops, NULL, &second), LULL_OK);
    for (unsigned i = 0; i < 64; i++) {
        struct h2_request request = a_request();
        char expect[256];
        const bool is_second = (i & 1) != 0;
        const bool has_timeout = (i & 2) != 0;
        request.path = (i & 4) != 0 ? "/a.B/C" : "/longer.Service/Method";
        request.authority = (i & 24) == 24 ? "own" : NULL;
        request.timeout_ns = has_timeout ? LULL_SECOND * (1 + (i >> 5)) : LULL_NEVER;
        (void)sprintf(expect, ":method: POST\n:scheme: %s\n:path: %s\n:authority: %s\nte: trailers\n%s%s%scontent-type: application/grpc\nuser-agent: %s\n",
                      is_second ? "https" : "http", request.path,
                      request.authority != NULL ? "own" : is_second ? "else.test:443" : "svc.test:80",
                      has_timeout ? "grpc-timeout: " : "", has_timeout ? (i >> 5) != 0 ? "2000000u" : "1000000u" : "",
                      has_timeout ? "\n" : "", is_second ? "else/1" : "lull-c/0.1.0");
        for (int again = 0; again < 3; again++) {
            ck_assert_str_eq(built(is_second ? second : first, &request), expect);
            if (again == 1) {
                build_answer(first);
            }
        }
    }
    const struct h2_request last = a_request();
    (void)built(second, &last);
    struct h2_stock *const stock = first->stock;
    ck_assert_ptr_eq(stock->fields_of, second);
    t = second;
    h2_transport_close(second, 0, "the second one");
    run();
    endpoint_close(far);
    ck_assert_ptr_null(stock->fields_of); /* another one may come to stand where it stood */
    t = first;
    told.closed = 0;
    end(inflater);
}
END_TEST

START_TEST(no_deadline_means_no_timeout_field)
{
    nghttp2_hd_inflater *inflater = begin();
    (void)open_call(0);
    run();
    ck_assert_ptr_null(strstr(read_block(inflater, 1), "grpc-timeout"));
    end(inflater);
}
END_TEST

/* RULINGS 23 */
START_TEST(timeout_is_remembered_only_when_it_comes_twice)
{
    static const struct {
        int64_t ns;
        const char *expect;
    } rows[] = {
        {100 * LULL_MS, "!grpc-timeout: 100000u\n"},
        {100 * LULL_MS, "\ngrpc-timeout: 100000u\n"},
        {100 * LULL_MS, "\ngrpc-timeout: 100000u\n"},
        {100000001, "!grpc-timeout: 100001u\n"},
        {LULL_NEVER, "te: trailers\ncontent-type"},
        {100000001, "\ngrpc-timeout: 100001u\n"},
        {1, "!grpc-timeout: 1n\n"},
    };
    nghttp2_hd_inflater *inflater = begin();
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct h2_request request = a_request();
        const char *block;
        request.timeout_ns = rows[i].ns;
        (void)open_with(i, &request);
        if (rows[i].ns == LULL_NEVER) {
            ck_assert_str_eq(h2_transport_last_timeout(t), "");
        } else {
            ck_assert_ptr_nonnull(strstr(rows[i].expect, h2_transport_last_timeout(t)));
        }
        run();
        block = read_block(inflater, 2 * i + 1);
        ck_assert_msg(strstr(block, rows[i].expect) != NULL, "row %u: %s", i, block);
    }
    end(inflater);
}
END_TEST

START_TEST(value_that_varies_is_never_remembered)
{
    nghttp2_hd_inflater *inflater = begin();
    for (unsigned i = 0; i < 4; i++) {
        struct h2_request request = a_request();
        char id[8];
        struct lull_metadatum items[2];
        struct lull_metadata metadata = {items, 2};
        const char *block;
        snprintf(id, sizeof(id), "id%u", i);
        items[0] = lull_metadatum_text("x-request-id", id);
        items[1] = lull_metadatum_text("x-same", "s");
        request.metadata = &metadata;
        (void)open_with(i, &request);
        run();
        block = read_block(inflater, 2 * i + 1);
        ck_assert_ptr_nonnull(strstr(block, "!x-request-id: id"));
        ck_assert_ptr_nonnull(strstr(block, i == 0 ? "!x-same: s\n" : "\nx-same: s\n"));
    }
    end(inflater);
}
END_TEST

/* scenario 245 */
START_TEST(binary_value_is_base64_without_padding)
{
    nghttp2_hd_inflater *inflater = begin();
    struct h2_request request = a_request();
    struct lull_metadatum items[3] = {
        {"a-bin", 5, "\xab\xab\xab", 3}, {"b-bin", 5, "\0", 1}, {"c-bin", 5, NULL, 0}};
    struct lull_metadata metadata = {items, 3};
    request.metadata = &metadata;
    (void)open_with(0, &request);
    run();
    ck_assert_ptr_nonnull(strstr(read_block(inflater, 1), "a-bin: q6ur\n!b-bin: AA\n!c-bin: \n"));
    end(inflater);
}
END_TEST

START_TEST(same_request_takes_few_bytes_the_second_time)
{
    struct sent_frame first;
    struct sent_frame third;
    nghttp2_hd_inflater *inflater = begin();
    for (unsigned i = 0; i < 3; i++) {
        (void)open_call(i);
        run();
    }
    ck_assert(sent_frame(1, 1, 0, &first) && sent_frame(1, 5, 0, &third));
    ck_assert_uint_lt(third.len, 16);
    ck_assert_uint_gt(first.len, 40);
    end(inflater);
}
END_TEST

START_TEST(metadata_beyond_what_nghttp2_sends_ends_the_call_for_good)
{
    nghttp2_hd_inflater *inflater = begin();
    struct h2_request request = a_request();
    char *large = malloc(80001);
    struct lull_metadatum item;
    struct lull_metadata metadata = {&item, 1};
    struct heard *h;
    memset(large, 'v', 80000);
    large[80000] = '\0';
    item = lull_metadatum_text("x-large", large);
    request.metadata = &metadata;
    h = open_with(0, &request);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_LIMIT);
    ck_assert_str_eq(h->end.text, "the request's metadata is too large to be sent: a block of 80234 bytes, at most "
                     "65536");
    ck_assert_uint_eq(sent_count(1, UINT32_MAX), 0);
    ck_assert_uint_eq(sent_count(3, UINT32_MAX), 0);
    (void)open_call(1);
    run();
    say_answer(3);
    run();
    ck_assert_int_eq(calls[1].end.kind, H2_END_FINISHED);
    free(large);
    end(inflater);
}
END_TEST

START_TEST(large_metadata_goes_in_continuations)
{
    nghttp2_hd_inflater *inflater = begin();
    struct h2_request request = a_request();
    char *large = malloc(40001);
    struct lull_metadatum item;
    struct lull_metadata metadata = {&item, 1};
    struct heard *h;
    for (size_t i = 0; i < 40000; i++) {
        large[i] = (char)('~' - (i % 7)); /* long in Huffman's code */
    }
    large[40000] = '\0';
    item = lull_metadatum_text("x-large", large);
    request.metadata = &metadata;
    h = open_with(0, &request);
    run();
    ck_assert_uint_eq(sent_count(1, 1), 1);
    ck_assert_uint_ge(sent_count(9, 1), 1);
    ck_assert_uint_eq(h->sent_last, 1);
    say_answer(1);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    free(large);
    end(inflater);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/headers");
    TCase *tc = tcase_create("headers");
    tcase_add_test(tc, fields_come_in_the_order_of_grpc);
    tcase_add_test(tc, call_may_have_its_own_authority);
    tcase_add_test(tc, call_after_one_with_its_own_authority_has_the_channels);
    tcase_add_test(tc, connections_of_an_executor_send_their_own_fields);
    tcase_add_test(tc, no_deadline_means_no_timeout_field);
    tcase_add_test(tc, timeout_is_remembered_only_when_it_comes_twice);
    tcase_add_test(tc, value_that_varies_is_never_remembered);
    tcase_add_test(tc, binary_value_is_base64_without_padding);
    tcase_add_test(tc, same_request_takes_few_bytes_the_second_time);
    tcase_add_test(tc, metadata_beyond_what_nghttp2_sends_ends_the_call_for_good);
    tcase_add_test(tc, large_metadata_goes_in_continuations);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/headers", suite)
