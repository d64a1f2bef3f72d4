/* SPDX-License-Identifier: MIT */
/*
 * 10 000 seeded mutations of a client's bytes, in random pieces, said to a server whose owner answers, holds back and resets at random:
 * every stream ends once, the transport ends once, nothing asserts and nothing is left. Run it under a sanitizer.
 */
#include "tests/support/check_main.h"
#include "tests/support/rounds.h"
#include "tests/unit/h2/mutate.h"
#include "tests/unit/h2/serve_world.h"

#define ROUNDS  1000
#define LIVES   10000
#define BATCHES (LIVES / ROUNDS)

/* A greeting, requests of many shapes, PING, window updates, a reset, GOAWAY. */
static size_t valid(uint8_t *to)
{
    struct block block = good_request();
    struct block other = bare_request();
    uint8_t *at = to;
    add_field(&block, "note", "mutated");
    add_field(&block, "grpc-timeout", "5S");
    add_field(&other, "content-type", "text/plain");
    memcpy(at, MAGIC F1 F1A F2, sizeof(MAGIC F1 F1A F2) - 1);
    at += sizeof(MAGIC F1 F1A F2) - 1;
    for (uint32_t id = 1; id <= 9; id += 2) {
        if (id == 5) {
            at += put_frame(at, 1, END_BOTH, id, other.bytes, other.len);
            continue;
        }
        at +=
            put_frame(at, 1, id == 3 ? 0 : END_HEADERS, id, block.bytes, id == 3 ? 30 : block.len);
        if (id == 3) {
            at += put_frame(at, 9, END_HEADERS, id, block.bytes + 30, block.len - 30);
        }
        at += put_frame(at, 0, id == 7 ? 8 : 0, id, id == 7 ? "\2\0\0\0\0\2hi\0\0" : MESSAGE_2,
                        id == 7 ? 10 : 7);
        at += put_frame(at, 0, id == 9 ? 0 : END_STREAM, id, "\0\0\0\0\0\0\0\0\0\3abc", 13);
    }
    at += put_frame(at, 3, 0, 9, "\0\0\0\x08", 4);
    at += put_frame(at, 8, 0, 0, "\0\0\x10\0", 4);
    at += put_frame(at, 7, 0, 0, "\0\0\0\0\0\0\0\0bye", 11);
    return (size_t)(at - to);
}

static void answer_some(void)
{
    for (unsigned i = 0; i < requests; i++) {
        struct h2_stream *stream = &calls[i].stream;
        if (calls[i].closed != 0) {
            continue;
        }
        switch (below(8)) {
        case 0:
            (void)h2_stream_respond(stream, NULL);
            break;
        case 1:
            (void)h2_stream_send(stream, lull_slice_static("answer", 6), false);
            break;
        case 2:
            (void)h2_stream_trailers(stream, 0, below(2) == 0 ? "text" : NULL, NULL);
            break;
        case 3:
            h2_stream_consumed(stream, below(10));
            break;
        case 4:
            if (below(5) == 0) {
                h2_stream_reset(stream, 2);
            }
            break;
        default:
            break;
        }
    }
    if (t != NULL && below(60) == 0) {
        (void)h2_transport_shutdown(t, "age");
    }
}

static void live(uint64_t seed)
{
    uint8_t bytes[STREAM_MAX];
    size_t said = 0;
    size_t len;
    state = seed;
    serve_begin();
    holds_back = seed % 2 == 0;
    len = valid(bytes);
    len = mutate(bytes, len);
    while (said < len && t != NULL) {
        size_t chunk = 1 + below(below(4) == 0 ? 600 : 30);
        chunk = chunk < len - said ? chunk : len - said;
        say(bytes + said, chunk);
        said += chunk;
        run();
        refuses = below(30) == 0;
        answer_some();
    }
    if (below(2) == 0) {
        hang_up();
    }
    serve_end();
}

START_TEST(mutated_bytes_end_everything_once)
{
    for (uint64_t i = 0; i < test_rounds(ROUNDS, 50); i++) {
        live((uint64_t)_i * ROUNDS + i);
    }
}
END_TEST

START_TEST(bytes_without_a_mutation_are_in_order)
{
    uint8_t bytes[STREAM_MAX];
    serve_begin();
    say(bytes, valid(bytes));
    run();
    ck_assert_uint_eq(requests, 4);
    ck_assert_uint_eq(calls[2].messages, 3);
    ck_assert_int_eq(calls[3].end.kind, H2_END_RESET);
    ck_assert_uint_eq(told.goaways, 1);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_str_eq(taken[i].note, "mutated");
        ck_assert_uint_eq(calls[i].data_ends, 1);
        ck_assert_int_eq(h2_stream_trailers(&calls[i].stream, 0, NULL, NULL), LULL_OK);
    }
    run();
    ck_assert_int_eq(told.end.kind, H2_LOST_GOAWAY);
    serve_end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/mutation_serving");
    TCase *tc = tcase_create("mutation_serving");
    tcase_set_timeout(tc, 600);
    tcase_add_test(tc, bytes_without_a_mutation_are_in_order);
    tcase_add_loop_test(tc, mutated_bytes_end_everything_once, 0, BATCHES);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/mutation_serving", suite)
