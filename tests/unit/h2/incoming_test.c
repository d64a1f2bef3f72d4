/* SPDX-License-Identifier: MIT */
/* Which header block is a request, and what answers one that is none. */
#include "h2/incoming.h"

#include "tests/support/check_main.h"
#include "tests/unit/h2/serve_world.h"

START_TEST(request_is_told_with_all_that_it_says)
{
    struct block block = bare_request();
    serve_begin();
    serve_greet();
    add_field(&block, "te", "trailers");
    add_field(&block, "grpc-timeout", "250m");
    add_field(&block, "content-type", "application/grpc+proto");
    add_field(&block, "user-agent", "grpc-test/1");
    add_field(&block, "note", "  hello ");
    add_field(&block, "data-bin", "AAEC,AwQ");
    say_block(1, &block, false);
    run();
    ck_assert_uint_eq(requests, 1);
    ck_assert_str_eq(taken[0].path, "/a.B/C");
    ck_assert_str_eq(taken[0].authority, "svc.test:80");
    ck_assert_int_eq(taken[0].timeout_ns, 250 * LULL_MS);
    ck_assert_int_eq(taken[0].id, 1);
    ck_assert_str_eq(taken[0].note, "hello");
    ck_assert_uint_eq(taken[0].pairs, 4); /* user-agent, note, data-bin twice */
    ck_assert(!taken[0].ends);
    ck_assert_uint_eq(h2_transport_streams(t), 1);
    ck_assert_uint_eq(calls[0].data_ends, 0);
    say_frame(0, END_STREAM, 1, MESSAGE_2, 7);
    run();
    ck_assert_uint_eq(calls[0].messages, 1);
    ck_assert_mem_eq(calls[0].message, "\x08\1", 2);
    ck_assert_uint_eq(calls[0].data_ends, 1);
    ck_assert_uint_eq(calls[0].closed, 0); /* the answer is still due */
    serve_end();
}
END_TEST

START_TEST(request_without_timeout_has_none)
{
    serve_begin();
    serve_greet();
    (void)ask(1);
    ck_assert_int_eq(taken[0].timeout_ns, LULL_NEVER);
    ck_assert_uint_eq(taken[0].pairs, 0);
    serve_end();
}
END_TEST

START_TEST(host_stands_in_for_authority)
{
    struct block block = {.len = 0};
    serve_begin();
    serve_greet();
    add_field(&block, ":method", "POST");
    add_field(&block, ":path", "/a");
    add_field(&block, ":scheme", "http");
    add_field(&block, "host", "other.test");
    add_field(&block, "te", "trailers");
    add_field(&block, "content-type", "application/grpc");
    say_block(1, &block, true);
    run();
    ck_assert_uint_eq(requests, 1);
    ck_assert_str_eq(taken[0].authority, "other.test");
    ck_assert_uint_eq(taken[0].pairs, 0);
    ck_assert(taken[0].ends);
    ck_assert_uint_eq(calls[0].data_ends, 1);
    serve_end();
}
END_TEST

/* ---- answers that no owner sees */

static const struct {
    const char *name, *value; /* of one field more, or instead */
    int drop;                 /* 1: te, 2: content-type */
    const char *http_status, *grpc_status;
} answers[] = {
    {NULL, NULL, 2, "415", "13"},
    {"content-type", "text/plain", 2, "415", "13"},
    {"content-type", "application/grpcx", 2, "415", "13"},
    {"content-type", "application/json", 2, "415", "13"},
    {NULL, NULL, 1, "400", "13"},
    {"te", "gzip", 1, "400", "13"},
    {"grpc-timeout", "1x", 0, "200", "13"},
    {"grpc-timeout", "", 0, "200", "13"},
    {"grpc-timeout", "-1S", 0, "200", "13"},
    {"grpc-timeout", "123456789S", 0, "200", "13"},
    {"data-bin", "!!!", 0, "200", "13"},
};

#define ANSWERS ((int)(sizeof(answers) / sizeof(answers[0])))

START_TEST(request_that_is_wrong_gets_a_plain_answer)
{
    struct block block = bare_request();
    struct fields fields;
    serve_begin();
    serve_greet();
    if (answers[_i].drop != 1) {
        add_field(&block, "te", "trailers");
    }
    if (answers[_i].drop != 2) {
        add_field(&block, "content-type", "application/grpc");
    }
    if (answers[_i].name != NULL) {
        add_field(&block, answers[_i].name, answers[_i].value);
    }
    say_block(1, &block, false);
    run();
    ck_assert_uint_eq(requests, 0);
    fields = next_fields(1);
    ck_assert(fields.ends);
    ck_assert_str_eq(fields.status, answers[_i].http_status);
    ck_assert_str_eq(fields.grpc_status, answers[_i].grpc_status);
    ck_assert_str_ne(fields.grpc_message, "");
    if (strcmp(fields.status, "200") == 0) {
        ck_assert_str_eq(fields.content_type, "application/grpc");
    }
    /* It was still sending: it is told to stop, without blame. */
    ck_assert_uint_eq(sent_count(3, 1), 1);
    /* And the connection is as good as ever. */
    (void)ask(3);
    serve_end();
}
END_TEST

START_TEST(answer_to_a_whole_request_needs_no_reset)
{
    struct block block = bare_request();
    serve_begin();
    serve_greet();
    say_block(1, &block, true);
    run();
    ck_assert_str_eq(next_fields(1).status, "415");
    ck_assert_uint_eq(sent_count(3, 1), 0);
    serve_end();
}
END_TEST

static void say_pseudo(const char *method, const char *path)
{
    struct block block = {.len = 0};
    add_field(&block, ":method", method);
    add_field(&block, ":scheme", "http");
    add_field(&block, ":path", path);
    add_field(&block, "te", "trailers");
    add_field(&block, "content-type", "application/grpc");
    say_block(1, &block, true);
    run();
    ck_assert_uint_eq(requests, 0);
}

START_TEST(method_other_than_post_is_not_allowed)
{
    struct fields fields;
    serve_begin();
    serve_greet();
    say_pseudo("GET", "/");
    fields = next_fields(1);
    ck_assert_str_eq(fields.status, "405");
    ck_assert_str_eq(fields.allow, "POST");
    serve_end();
}
END_TEST

START_TEST(path_without_slash_is_unimplemented)
{
    struct fields fields;
    serve_begin();
    serve_greet();
    say_pseudo("POST", "a.B/C");
    fields = next_fields(1);
    ck_assert_str_eq(fields.status, "200");
    ck_assert_str_eq(fields.grpc_status, "12");
    serve_end();
}
END_TEST

/* ---- malformed HTTP/2: RFC 9113 section 8.1.1 */

static const char *const malformed[][2] = {
    {":method", "POST"},       {":status", "200"},  {":protocol", "x"},
    {"Upper", "case"},         {"", "nameless"},    {"with space", "x"},
    {"connection", "close"},   {"upgrade", "h2c"},  {"transfer-encoding", "chunked"},
    {"keep-alive", "timeout"}, {":path", "/other"}, {"proxy-connection", "x"},
};

#define MALFORMED ((int)(sizeof(malformed) / sizeof(malformed[0])))

START_TEST(malformed_request_is_reset)
{
    struct block block = good_request();
    struct sent_frame frame;
    serve_begin();
    serve_greet();
    add_field(&block, malformed[_i][0], malformed[_i][1]);
    say_block(1, &block, false);
    run();
    ck_assert_uint_eq(requests, 0);
    ck_assert(sent_frame(3, 1, 0, &frame));
    ck_assert_uint_eq(get32(frame.payload), 1);
    ck_assert_uint_eq(sent_count(1, 1), 0);
    (void)ask(3);
    serve_end();
}
END_TEST

START_TEST(pseudo_header_that_comes_twice_is_malformed)
{
    struct block block = bare_request();
    serve_begin();
    serve_greet();
    add_field(&block, _i == 0 ? ":path" : _i == 1 ? ":method" : ":protocol", "POST");
    add_field(&block, "te", "trailers");
    add_field(&block, "content-type", "application/grpc");
    say_block(1, &block, false);
    run();
    ck_assert_uint_eq(requests, 0);
    ck_assert_uint_eq(sent_count(3, 1), 1);
    serve_end();
}
END_TEST

START_TEST(request_without_a_pseudo_header_is_reset)
{
    static const char *const names[3][2] = {
        {":method", "POST"}, {":scheme", "http"}, {":path", "/a"}};
    struct block block = {.len = 0};
    serve_begin();
    serve_greet();
    for (int i = 0; i < 3; i++) {
        if (i != _i) {
            add_field(&block, names[i][0], names[i][1]);
        }
    }
    add_field(&block, "te", "trailers");
    add_field(&block, "content-type", "application/grpc");
    say_block(1, &block, false);
    run();
    ck_assert_uint_eq(requests, 0);
    ck_assert_uint_eq(sent_count(3, 1), 1);
    serve_end();
}
END_TEST

/* Each pair weighs 32 bytes more than it looks. */
START_TEST(metadata_over_the_limit_gets_a_status)
{
    struct h2_transport_options options = world_options();
    struct block block = good_request();
    struct fields fields;
    options.max_metadata_bytes = 1024;
    serve_begin_as(&options, (struct pipe_options){.capacity_bytes = 1024 * 1024});
    serve_greet();
    for (int i = 0; i < 20; i++) {
        add_field(&block, "note", "0123456789");
    }
    say_block(1, &block, true);
    run();
    ck_assert_uint_eq(requests, 0);
    fields = next_fields(1);
    ck_assert_str_eq(fields.status, "200");
    ck_assert_str_eq(fields.grpc_status, "8");
    (void)ask(3);
    block = bare_request();
    for (int i = 0; i < 20; i++) {
        add_field(&block, "note", "0123456789");
    }
    say_block(5, &block, true);
    run();
    ck_assert_str_eq(next_fields(5).status, "431");
    serve_end();
}
END_TEST

/* Names in upper case would be a fault of their own. */
START_TEST(field_that_has_no_room_is_not_looked_at)
{
    struct h2_transport_options options = world_options();
    struct block block = good_request();
    options.max_metadata_bytes = 1024;
    serve_begin_as(&options, (struct pipe_options){.capacity_bytes = 1024 * 1024});
    serve_greet();
    for (int i = 0; i < 20; i++) {
        add_field(&block, "note", "0123456789");
    }
    add_field(&block, "NOTE", "01234567890123456789012345678901234567890123456789");
    say_block(1, &block, true);
    run();
    ck_assert_uint_eq(requests, 0);
    ck_assert_str_eq(next_fields(1).grpc_status, "8");
    (void)ask(3);
    serve_end();
}
END_TEST

START_TEST(owner_that_refuses_says_refused_stream)
{
    const struct block block = good_request();
    struct sent_frame frame;
    serve_begin();
    serve_greet();
    refuses = true;
    say_block(1, &block, false);
    say_frame(0, END_STREAM, 1, MESSAGE_2, 7);
    run();
    ck_assert_uint_eq(refused, 1);
    ck_assert_uint_eq(h2_transport_streams(t), 0);
    ck_assert(sent_frame(3, 1, 0, &frame));
    ck_assert_uint_eq(get32(frame.payload), 7);
    refuses = false;
    (void)ask(3);
    serve_end();
}
END_TEST

/* The same requests whatever pieces they come in. */
START_TEST(request_cut_anywhere_is_the_same_request)
{
    struct block block = good_request();
    uint8_t bytes[8192];
    size_t len = 0;
    add_field(&block, "note", "split");
    memcpy(bytes, MAGIC F1 F1A, sizeof(MAGIC F1 F1A) - 1);
    len += sizeof(MAGIC F1 F1A) - 1;
    len += put_frame(bytes + len, 1, END_HEADERS, 1, block.bytes, block.len);
    len += put_frame(bytes + len, 0, END_STREAM, 1, MESSAGE_2, 7);
    len += put_frame(bytes + len, 1, END_HEADERS, 3, block.bytes, block.len);
    len += put_frame(bytes + len, 0, 0, 3, MESSAGE_2, 7);
    len += put_frame(bytes + len, 0, END_STREAM, 3, "", 0);
    for (size_t cut = 0; cut <= len; cut++) {
        serve_begin();
        if (cut > 0) {
            say(bytes, cut);
            run();
        }
        if (cut < len) {
            say(bytes + cut, len - cut);
            run();
        }
        ck_assert_uint_eq(told.settings, 1);
        ck_assert_uint_eq(requests, 2);
        for (int i = 0; i < 2; i++) {
            ck_assert_str_eq(taken[i].note, "split");
            ck_assert_uint_eq(calls[i].messages, 1);
            ck_assert_uint_eq(calls[i].data_ends, 1);
            ck_assert_uint_eq(calls[i].closed, 0);
        }
        serve_end();
    }
}
END_TEST

/* A block that goes on in CONTINUATION frames, and one that nghttp2 gives up within: the next one is read as what it is. */
START_TEST(block_in_pieces_is_one_request)
{
    struct block block = good_request();
    serve_begin();
    serve_greet();
    add_field(&block, "note", "long");
    say_frame(1, 0, 1, block.bytes, 20);
    say_frame(9, 0, 1, block.bytes + 20, 30);
    say_frame(9, END_HEADERS, 1, block.bytes + 50, block.len - 50);
    run();
    ck_assert_uint_eq(requests, 1);
    ck_assert_str_eq(taken[0].note, "long");
    serve_end();
}
END_TEST

START_TEST(trailers_of_a_request_end_it)
{
    struct block block = {.len = 0};
    serve_begin();
    serve_greet();
    block = good_request();
    say_block(1, &block, false);
    block.len = 0;
    add_field(&block, "note", "x");
    say_block(1, &block, true);
    run();
    ck_assert_uint_eq(calls[0].data_ends, 1);
    ck_assert_uint_eq(calls[0].trailers, 0);
    ck_assert_uint_eq(calls[0].closed, 0);
    serve_end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/incoming");
    TCase *tc = tcase_create("incoming");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, request_is_told_with_all_that_it_says);
    tcase_add_test(tc, request_without_timeout_has_none);
    tcase_add_test(tc, host_stands_in_for_authority);
    tcase_add_loop_test(tc, request_that_is_wrong_gets_a_plain_answer, 0, ANSWERS);
    tcase_add_test(tc, answer_to_a_whole_request_needs_no_reset);
    tcase_add_test(tc, method_other_than_post_is_not_allowed);
    tcase_add_test(tc, path_without_slash_is_unimplemented);
    tcase_add_loop_test(tc, malformed_request_is_reset, 0, MALFORMED);
    tcase_add_loop_test(tc, pseudo_header_that_comes_twice_is_malformed, 0, 3);
    tcase_add_loop_test(tc, request_without_a_pseudo_header_is_reset, 0, 3);
    tcase_add_test(tc, metadata_over_the_limit_gets_a_status);
    tcase_add_test(tc, field_that_has_no_room_is_not_looked_at);
    tcase_add_test(tc, owner_that_refuses_says_refused_stream);
    tcase_add_test(tc, request_cut_anywhere_is_the_same_request);
    tcase_add_test(tc, block_in_pieces_is_one_request);
    tcase_add_test(tc, trailers_of_a_request_end_it);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/incoming", suite)
