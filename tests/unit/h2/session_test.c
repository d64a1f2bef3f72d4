/* SPDX-License-Identifier: MIT */
/* The session's making and its memory: every allocation of a small life fails once. */
#include "h2/session.h"

#include "lull/recycler.h"

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"
#include "tests/unit/h2/frames.h"

START_TEST(blocks_are_counted_and_come_back)
{
    struct counting_allocator memory;
    struct h2_transport_options options = world_options();
    struct lull_counters counters = {.size = sizeof(counters)};
    counting_init(&memory);
    world_begin_as(&options, (struct pipe_options){0}, &memory.base);
    (void)world_ready(1);
    lull_executor_counters(x, &counters);
    ck_assert_uint_gt(t->session.blocks, 4);
    ck_assert_uint_gt(counters.pool_claims, 4);
    ck_assert_uint_eq(counters.allocations, (uint64_t)memory.asked);
    say_answer(1);
    run();
    world_end();
    ck_assert_int_eq(memory.live, 0);
}
END_TEST

static void setup(struct counting_allocator *memory)
{
    struct h2_transport_options options = world_options();
    counting_init(memory);
    world_begin_as(&options, (struct pipe_options){.capacity_bytes = 600}, &memory->base);
    run();
}

/* A life whose i-th allocation from here on fails, if it comes so far. Whatever fails, every stream and the transport end once. */
static long live(struct counting_allocator *memory, long fail_at)
{
    struct h2_request request = a_request();
    uint8_t *big = calloc(1, 9000);
    long used;
    setup(memory);
    memory->asked = 0;
    memory->fail_from = fail_at;
    SAY(F1);
    run();
    request.message = lull_slice_static(big, 9000); /* more than the pipe takes */
    for (unsigned i = 0; i < 3 && t != NULL && h2_transport_can_open(t); i++) {
        h2_stream_init(&calls[i].stream, &stream_ops, 1000000);
        calls_open++;
        if (h2_transport_open(t, &calls[i].stream, &request) != LULL_OK) {
            calls_open--;
        }
        run();
    }
    if (t != NULL && calls[0].stream.transport != NULL) {
        SAY(F6);
        say_frame(0, 0, 1, "\0\0\0\2\1abc", 8);
        run();
    }
    if (t != NULL && calls[1].stream.transport != NULL) {
        h2_stream_reset(&calls[1].stream, 8);
        run();
    }
    used = memory->asked;
    memory->fail_from = -1;
    world_end();
    ck_assert_int_eq(memory->live, 0);
    free(big);
    return used;
}

START_TEST(each_allocation_may_fail)
{
    struct counting_allocator memory;
    const long all = live(&memory, -1);
    unsigned lost = 0;
    ck_assert_int_gt(all, 10);
    for (long i = 0; i < all; i++) {
        (void)live(&memory, i);
        lost += told.end.kind == H2_LOST_NOMEM;
    }
    ck_assert_uint_gt(lost, 3);
}
END_TEST

START_TEST(making_may_fail_and_leaves_the_endpoint)
{
    struct counting_allocator memory;
    struct h2_transport_options options = world_options();
    int rc = LULL_RC_NOMEM;
    counting_init(&memory);
    world_begin_as(&options, (struct pipe_options){0}, &memory.base);
    h2_transport_close(t, 0, "the first one");
    run();
    for (long i = 0; rc != LULL_OK; i++) {
        struct endpoint *a;
        struct endpoint *b;
        struct addr addr = {.text = "x"};
        ck_assert_int_lt((int)i, 100);
        ck_assert_int_eq(endpoint_pipe_new(x, x, &addr, &addr, NULL, &a, &b), 0);
        memory.asked = 0;
        memory.fail_from = i;
        rc = h2_transport_new(x, a, &options, &transport_ops, NULL, &t);
        memory.fail_from = -1;
        if (rc != LULL_OK) {
            ck_assert_int_eq(rc, LULL_RC_NOMEM);
            ck_assert(a->on_ready == NULL);
            endpoint_close(a);
        } else {
            told.closed = 0;
        }
        endpoint_close(b);
        run();
    }
    world_end();
    ck_assert_int_eq(memory.live, 0);
}
END_TEST

/* What another session may leave in the frame buffer that all of them write into. */
static enum io scribbling_writev(struct endpoint *endpoint, const struct io_piece *pieces, size_t count, size_t *wrote)
{
    memset(t->stock->frame, 0xa5, sizeof(t->stock->frame));
    return counted_writev(endpoint, pieces, count, wrote);
}

/* Blocks of several frames, payload that is copied and payload that is not, and a pipe that takes little at a time. Its output is kept. */
static size_t speak(bool scribbles, char *large, uint8_t *into)
{
    struct h2_transport_options options = world_options();
    struct h2_request request = a_request();
    struct lull_metadatum item = lull_metadatum_text("x-large", large);
    struct lull_metadata metadata = {&item, 1};
    size_t len;
    world_begin_as(&options, (struct pipe_options){.capacity_bytes = 20000}, NULL);
    if (scribbles) {
        counted_ops.writev = scribbling_writev;
        memset(t->stock->frame, 0xa5, sizeof(t->stock->frame));
    }
    SAY(F1);
    run();
    request.metadata = &metadata;
    for (unsigned i = 0; i < 6; i++) {
        request.message = lull_slice_static(large, i % 2 == 0 ? 3000 : 40000);
        (void)open_with(i, &request);
    }
    for (unsigned i = 0; i < 200; i++) {
        run_turn();
        if (scribbles) {
            memset(t->stock->frame, 0x5a, sizeof(t->stock->frame));
        }
    }
    for (uint32_t id = 1; id < 12; id += 2) {
        say_answer(id);
        run();
    }
    len = out_len;
    memcpy(into, out, len);
    world_end();
    return len;
}

START_TEST(frame_buffer_is_shared_and_nothing_in_it_is_read_again)
{
    char *large = malloc(40001);
    uint8_t *once = malloc(2 * OUT_MAX);
    size_t len;
    for (size_t i = 0; i < 40000; i++) {
        large[i] = (char)('~' - (i % 7)); /* long in Huffman's code */
    }
    large[40000] = '\0';
    len = speak(false, large, once);
    ck_assert_uint_gt(len, 300000);
    ck_assert_uint_eq(speak(true, large, once + OUT_MAX), len);
    ck_assert_mem_eq(once, once + OUT_MAX, len);
    free(once);
    free(large);
}
END_TEST

/* The second connection of an executor asks for little. */
START_TEST(sessions_of_an_executor_have_one_frame_buffer)
{
    struct counting_allocator memory;
    struct h2_transport_options options = world_options();
    struct addr addr = {.text = "x"};
    struct endpoint *a, *b;
    struct h2_transport *second;
    struct h2_stock *stock;
    counting_init(&memory);
    world_begin_as(&options, (struct pipe_options){0}, &memory.base);
    stock = t->stock;
    ck_assert_uint_eq(stock->share.users, 1);
    ck_assert_ptr_eq(t->session.frame, stock->frame);
    ck_assert_int_eq(endpoint_pipe_new(x, x, &addr, &addr, NULL, &a, &b), 0);
    ck_assert_int_eq(h2_transport_new(x, a, &options, &transport_ops, NULL, &second), LULL_OK);
    ck_assert_ptr_eq(second->stock, stock);
    ck_assert_ptr_eq(second->session.frame, stock->frame);
    ck_assert_uint_eq(stock->share.users, 2);
    (void)world_ready(1);
    say_answer(1);
    run();
    ck_assert_int_eq(calls[0].end.kind, H2_END_FINISHED);
    h2_transport_close(t, 0, "the first one");
    run();
    ck_assert_uint_eq(stock->share.users, 1);
    t = second;
    told.closed = 0;
    h2_transport_close(second, 0, "the second one");
    run();
    ck_assert_uint_eq(stock->share.users, 0);
    ck_assert_ptr_eq(*executor_share(x, EXECUTOR_SHARE_CONNECTIONS), &stock->share);
    struct lull_recycler_stats slabs = {.size = sizeof(slabs)};
    ck_assert_ptr_nonnull(stock->small);
    lull_recycler_stats(stock->small, &slabs);
    ck_assert_uint_gt(slabs.claims, 0);
    ck_assert_uint_eq(slabs.kept, 0); /* they may be many */
    executor_trim(x);
    ck_assert_ptr_null(*executor_share(x, EXECUTOR_SHARE_CONNECTIONS));
    endpoint_close(b);
    world_end();
    ck_assert_int_eq(memory.live, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/session");
    TCase *tc = tcase_create("session");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, blocks_are_counted_and_come_back);
    tcase_add_test(tc, each_allocation_may_fail);
    tcase_add_test(tc, making_may_fail_and_leaves_the_endpoint);
    tcase_add_test(tc, frame_buffer_is_shared_and_nothing_in_it_is_read_again);
    tcase_add_test(tc, sessions_of_an_executor_have_one_frame_buffer);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/session", suite)
