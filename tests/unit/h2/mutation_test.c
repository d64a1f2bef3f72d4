/* SPDX-License-Identifier: MIT */
/*
 * 20 000 seeded mutations of a server's bytes, in random pieces: whatever comes, every stream ends once, the transport ends once,
 * nothing asserts and nothing is left. Run it under a sanitizer.
 */
#include "tests/support/check_main.h"
#include "tests/support/rounds.h"
#include "tests/unit/h2/frames.h"
#include "tests/unit/h2/mutate.h"

#define ROUNDS  2000
#define LIVES   20000
#define BATCHES (LIVES / ROUNDS)
#define OPENED  6

/* SETTINGS, answers of many shapes on streams 1 to 11, PING, window updates, GOAWAY. */
static size_t valid(uint8_t *to)
{
    static const char begin[] = F1 F1A F2 F6 F7 F8;
    static const char grown[] = "\0\0\4\x08\0\0\0\0\0\0\0\4\0" F9;
    uint8_t *at = to;
    memcpy(at, begin, sizeof(begin) - 1);
    at += sizeof(begin) - 1;
    memcpy(at, grown, sizeof(grown) - 1);
    at += sizeof(grown) - 1;
    for (uint32_t id = 3; id <= 9; id += 2) {
        at += put_frame(at, 1, id == 5 ? 0 : END_HEADERS, id, HEADERS_OK, sizeof(HEADERS_OK) - 1);
        if (id == 5) {
            at += put_frame(at, 9, END_HEADERS, id, "\0\5x-bin\4q6ur", 12);
        }
        at += put_frame(at, 0, id == 7 ? 8 : 0, id, id == 7 ? "\2\0\0\0\0\2hi\0\0" : MESSAGE_2,
                        id == 7 ? 10 : 7);
        at += put_frame(at, 0, 0, id, "\0\0\0\0\0\0\0\0\0\3abc", 13);
        at += put_frame(at, 1, END_BOTH, id, TRAILERS_OK, sizeof(TRAILERS_OK) - 1);
    }
    at += put_frame(at, 7, 0, 0, "\0\0\0\x0b\0\0\0\0bye", 11);
    at += put_frame(at, 3, 0, 11, "\0\0\0\7", 4);
    return (size_t)(at - to);
}

static void live(uint64_t seed)
{
    uint8_t bytes[STREAM_MAX];
    size_t len;
    size_t said = 0;
    const bool after_settings = seed % 3 != 0;
    state = seed;
    world_begin();
    len = valid(bytes);
    if (after_settings) {
        (void)world_ready(OPENED);
    }
    len = mutate(bytes, len);
    if (after_settings) {
        for (unsigned i = 0; i < OPENED; i++) {
            calls[i].reset_in_op = below(10) == 0;
            calls[i].wants_raw = below(10) == 0;
        }
    }
    while (said < len && t != NULL) {
        size_t chunk = 1 + below(below(4) == 0 ? 400 : 20);
        chunk = chunk < len - said ? chunk : len - said;
        say(bytes + said, chunk);
        said += chunk;
        run();
        if (t != NULL && after_settings && below(50) == 0) {
            h2_stream_reset(&calls[below(OPENED)].stream, 8);
        }
    }
    if (below(2) == 0) {
        hang_up();
    }
    world_end();
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
    size_t len;
    world_begin();
    (void)world_ready(OPENED);
    len = valid(bytes);
    say(bytes, len);
    run();
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_int_eq(calls[i].end.kind, H2_END_FINISHED);
        ck_assert_str_eq(calls[i].grpc_status, "0");
    }
    ck_assert_uint_eq(calls[4].messages, 3);
    ck_assert_int_eq(calls[5].end.kind, H2_END_UNPROCESSED);
    ck_assert_int_eq(told.end.kind, H2_LOST_GOAWAY);
    world_end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/mutation");
    TCase *tc = tcase_create("mutation");
    tcase_set_timeout(tc, 600);
    tcase_add_test(tc, bytes_without_a_mutation_are_in_order);
    tcase_add_loop_test(tc, mutated_bytes_end_everything_once, 0, BATCHES);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/mutation", suite)
