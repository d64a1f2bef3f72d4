/* SPDX-License-Identifier: MIT */
/* endpoint_pipe against an oracle, from seeds, and without memory. */
#include "net/endpoint_pipe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/rounds.h"
#include "tests/unit/net/pipe_world.h"

/* ---- random transfers against an oracle: two arrays of bytes */

#define STREAM_BYTES 20000

struct stream {
    struct endpoint *from, *to;
    uint8_t bytes[STREAM_BYTES];
    size_t written, read;
    bool is_held;
};

static uint64_t state;
static size_t stream_bytes;

static size_t below(size_t bound)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(state >> 33) % bound;
}

static void random_write(struct stream *s, size_t capacity, size_t chunk)
{
    struct io_piece pieces[4];
    size_t count = 1 + below(4), offered = 0, wrote, room;
    enum io io;

    for (size_t i = 0; i < count; i++) {
        size_t left = stream_bytes - s->written - offered;

        pieces[i].len = below((left < 50 ? left : 50) + 1);
        pieces[i].data = s->bytes + s->written + offered;
        offered += pieces[i].len;
    }
    room = capacity - (s->written - s->read);
    room = room < chunk ? room : chunk;
    io = endpoint_writev(s->from, pieces, count, &wrote);
    ck_assert_uint_eq(wrote, offered < room ? offered : room);
    ck_assert_int_eq(io, wrote == 0 && offered > 0 ? IO_AGAIN : IO_OK);
    s->written += wrote;
}

static void random_read(struct stream *s, size_t chunk)
{
    uint8_t into[64];
    size_t ask = 1 + below(sizeof(into)), got, most;
    enum io io = endpoint_read(s->to, into, ask, &got);

    most = ask < chunk ? ask : chunk;
    most = s->written - s->read < most ? s->written - s->read : most;
    if (s->is_held || most == 0) {
        ck_assert_int_eq(io, IO_AGAIN);
        return;
    }
    ck_assert_int_eq(io, IO_OK);
    ck_assert_uint_eq(got, most);
    ck_assert_mem_eq(into, s->bytes + s->read, got);
    s->read += got;
}

START_TEST(random_transfers_match_the_oracle_to_the_byte)
{
    static struct stream streams[2];
    size_t capacity, read_chunk, write_chunk;

    stream_bytes = test_rounds(STREAM_BYTES, 1000);
    state = (uint64_t)_i + 1; /* the seed is the loop's number */
    capacity = 1 + below(200);
    read_chunk = 1 + below(80);
    write_chunk = 1 + below(80);
    begin((struct pipe_options){.capacity_bytes = capacity,
                                .read_chunk_bytes = read_chunk,
                                .write_chunk_bytes = write_chunk});
    memset(streams, 0, sizeof(streams));
    for (size_t i = 0; i < 2; i++) {
        streams[i].from = i == 0 ? a : b;
        streams[i].to = i == 0 ? b : a;
        for (size_t at = 0; at < stream_bytes; at++) {
            streams[i].bytes[at] = (uint8_t)below(256);
        }
    }
    while (streams[0].read < stream_bytes || streams[1].read < stream_bytes) {
        struct stream *s = &streams[below(2)];

        if (below(40) == 0) {
            s->is_held = !s->is_held;
            endpoint_pipe_hold(s->from, s->is_held);
        }
        if (below(2) == 0) {
            random_write(s, capacity, write_chunk);
        } else {
            random_read(s, read_chunk);
        }
        ck_assert_uint_eq(endpoint_pipe_in_flight(s->from), s->written - s->read);
        ck_assert_uint_eq(endpoint_pipe_bytes_written(s->from), s->written);
        ck_assert_uint_eq(endpoint_pipe_bytes_read(s->to), s->read);
    }
    end();
}
END_TEST

/* ---- no memory */

struct failing {
    struct lull_allocator base;
    int left; /* blocks until there are no more */
    int blocks;
};

static void *failing_alloc(void *ctx, size_t size)
{
    struct failing *failing = (struct failing *)ctx;

    if (failing->left == 0) {
        return NULL;
    }
    failing->left--;
    failing->blocks++;
    return malloc(size);
}

static void *failing_resize(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    return realloc(memory, size);
}

static void failing_release(void *ctx, void *memory)
{
    ((struct failing *)ctx)->blocks -= memory != NULL;
    free(memory);
}

START_TEST(a_pipe_without_memory_is_not_made)
{
    struct failing failing = {{failing_alloc, failing_resize, failing_release, NULL}, 100, 0};
    struct lull_executor_options options;
    int blocks, err = ENOMEM;

    failing.base.ctx = &failing;
    lull_executor_options_init(&options);
    options.allocator = &failing.base;
    ck_assert_int_eq(lull_executor_new(&options, &x), LULL_OK);
    blocks = failing.blocks;
    memset(&a_addr, 0, sizeof(a_addr));
    for (int most = 0; err != 0; most++) {
        ck_assert_int_lt(most, 10);
        failing.left = most;
        err = endpoint_pipe_new(x, x, &a_addr, &a_addr, NULL, &a, &b);
        ck_assert(err == 0 || err == ENOMEM);
        ck_assert(err == 0 || failing.blocks == blocks);
    }
    ck_assert_int_eq(lull_executor_enter(x), LULL_OK);
    endpoint_close(a);
    endpoint_close(b);
    lull_executor_leave(x);
    ck_assert_int_eq(lull_executor_turn_now(x), LULL_OK);
    ck_assert_int_eq(failing.blocks, blocks);
    lull_executor_free(x);
    ck_assert_int_eq(failing.blocks, 0);
}
END_TEST

static Suite *endpoint_pipe_transfer_suite(void)
{
    Suite *suite = suite_create("endpoint_pipe_transfer");
    TCase *cases = tcase_create("endpoint_pipe_transfer");

    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, random_transfers_match_the_oracle_to_the_byte, 0, 16);
    tcase_add_test(cases, a_pipe_without_memory_is_not_made);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("endpoint_pipe_transfer", endpoint_pipe_transfer_suite)
