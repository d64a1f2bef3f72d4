/* SPDX-License-Identifier: MIT */
/*
 * src/server/server_call_stream.c: messages one by one, held back by the application, in all four kinds of calls; the client of the kinds
 * is src/channel's.
 */
#include <stdlib.h>
#include <string.h>

#include "exec/executor.h"
#include "server/server.h"
#include "tests/support/check_main.h"
#include "tests/unit/server/rig.h"

static struct rig rig;
static struct raw raw;
static uint8_t zeros[16000];

/* ---- held back */

static void begin(enum app_way way, bool pauses)
{
    rig_init(&rig);
    rig.way = way;
    rig.pauses = pauses;
    rig_open(&rig);
    rig_join(&rig, &raw);
}

static void stop(void)
{
    raw_fini(&raw);
    rig_fini(&rig);
}

/* Credit that came for a stream, 0: the connection. */
static uint64_t credited(uint32_t stream)
{
    const struct raw_frame *f;
    uint64_t sum = 0;
    for (size_t n = 0; (f = raw_find_on(&raw, FRAME_WINDOW_UPDATE, stream, n)) != NULL; n++) {
        sum += (uint64_t)f->head[0] << 24 | (uint64_t)f->head[1] << 16 | (uint64_t)f->head[2] << 8 |
               f->head[3];
    }
    return sum;
}

START_TEST(a_paused_call_is_not_credited_and_the_connection_is)
{
    begin(APP_HOLDS, true);
    raw_request(&raw, 1, RIG_METHOD, false, NULL);
    const uint64_t stream_before = credited(1);
    const uint64_t connection_before = credited(0);
    for (int i = 0; i < 16; i++) {
        raw_message(&raw, 1, zeros, 16000, false); /* within the window of 256 KiB */
    }
    ck_assert_uint_eq(credited(1), stream_before);
    for (int i = 0; i < 32; i++) { /* a stream that is read goes on */
        if (i == 0) {
            rig.pauses = false;
            raw_request(&raw, 3, RIG_METHOD, false, NULL);
        }
        raw_message(&raw, 3, zeros, 16000, false);
    }
    ck_assert_uint_eq(rig.calls[1].messages, 32);
    ck_assert_uint_ge(credited(0), connection_before + 256 * 1024);
    ck_assert_uint_ge(credited(3), 256 * 1024);
    lull_server_call_resume(rig.calls[0].call);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.calls[0].messages, 16);
    ck_assert_uint_ge(credited(1), stream_before + 128 * 1024);
    stop();
}
END_TEST

START_TEST(a_message_in_many_pieces_is_one)
{
    begin(APP_HOLDS, false);
    raw_request(&raw, 1, RIG_METHOD, false, NULL);
    const char *bytes = "\0\0\0\0\x0bhello world\0\0\0\0\0\0\0\0\0\1!";
    for (size_t i = 0; i < 27; i++) {
        raw_frame(&raw, FRAME_DATA, 0, 1, bytes + i, 1);
    }
    ck_assert_uint_eq(rig.calls[0].messages, 3);
    ck_assert_uint_eq(rig.calls[0].bytes, 12);
    ck_assert_str_eq(rig.calls[0].last, "!");
    stop();
}
END_TEST

START_TEST(a_burst_of_messages_is_told_in_order_and_whole)
{
    uint8_t burst[6 * 200];
    begin(APP_ECHOES, false);
    raw_request(&raw, 1, RIG_METHOD, false, NULL);
    for (unsigned i = 0; i < 200; i++) {
        memcpy(burst + 6 * i, "\0\0\0\0\1", 5);
        burst[6 * i + 5] = (uint8_t)('a' + i % 26);
    }
    raw_frame(&raw, FRAME_DATA, FRAME_END_STREAM, 1, burst, sizeof(burst));
    ck_assert_uint_eq(rig.calls[0].messages, 200);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_FINISHED);
    ck_assert(raw_has_field(&raw, 1, 1, "grpc-status: 0"));
    stop();
}
END_TEST

START_TEST(trailers_of_a_client_are_a_half_close)
{
    begin(APP_ECHOES, false);
    raw_request(&raw, 1, RIG_METHOD, false, NULL);
    raw_message(&raw, 1, "x", 1, false);
    raw_frame(&raw, FRAME_HEADERS, FRAME_END_HEADERS | FRAME_END_STREAM, 1, "\0\1a\1b", 5);
    ck_assert_uint_eq(rig.calls[0].half_closed, 1);
    ck_assert_uint_eq(rig.closed, 1);
    stop();
}
END_TEST

/* ---- the four kinds, by the client of src/channel */

struct streaming {
    struct lull_call *call;
    unsigned headers, messages, closed;
    uint64_t bytes;
    char last[64];
    enum lull_code code;
};

static void on_headers(struct lull_call *call, const struct lull_metadata *headers, void *ctx)
{
    (void)call;
    (void)headers;
    ((struct streaming *)ctx)->headers++;
}

static void on_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    struct streaming *s = ctx;
    (void)call;
    s->messages++;
    s->bytes += message.len;
    snprintf(s->last, sizeof(s->last), "%.*s", (int)(message.len < 60 ? message.len : 60),
             message.len == 0 ? "" : (const char *)message.data);
}

static void on_closed(struct lull_call *call, const struct lull_status *status,
                      const struct lull_metadata *trailers, void *ctx)
{
    struct streaming *s = ctx;
    (void)call;
    (void)trailers;
    s->closed++;
    s->code = status->code;
    lull_call_unref(s->call);
    s->call = NULL;
}

static void start(struct streaming *s)
{
    struct lull_call_options options;
    struct lull_call_handler handler;
    struct lull_error error;
    memset(s, 0, sizeof(*s));
    lull_call_options_init(&options, RIG_METHOD);
    lull_call_handler_init(&handler);
    handler.on_headers = on_headers;
    handler.on_message = on_message;
    handler.on_closed = on_closed;
    ck_assert_msg(lull_call_start(rig.channel, &options, &handler, s, &s->call, &error) == LULL_OK,
                  "%s", error.text);
}

static void expect(const struct streaming *s, unsigned messages, enum lull_code code)
{
    ck_assert_uint_eq(s->closed, 1);
    ck_assert_int_eq(s->code, code);
    ck_assert_uint_eq(s->messages, messages);
}

START_TEST(a_client_stream_of_a_thousand_messages)
{
    struct streaming s;
    rig_start(&rig, APP_HOLDS);
    start(&s);
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(lull_call_send(s.call, lull_slice_static(zeros, 100)), LULL_OK);
        rig_settle(&rig);
    }
    ck_assert_int_eq(lull_call_half_close(s.call), LULL_OK);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.calls[0].messages, 1000);
    ck_assert_uint_eq(rig.calls[0].half_closed, 1);
    ck_assert_int_eq(lull_server_call_send(rig.calls[0].call, lull_slice_static("1000", 4)),
                     LULL_OK);
    ck_assert_int_eq(lull_server_call_finish(rig.calls[0].call, LULL_CODE_OK, NULL, NULL), LULL_OK);
    rig_settle(&rig);
    expect(&s, 1, LULL_CODE_OK);
    ck_assert_str_eq(s.last, "1000");
    rig_fini(&rig);
}
END_TEST

START_TEST(a_server_stream_of_a_thousand_messages)
{
    struct streaming s;
    rig_start(&rig, APP_HOLDS);
    start(&s);
    ck_assert_int_eq(lull_call_send(s.call, lull_slice_static("go", 2)), LULL_OK);
    ck_assert_int_eq(lull_call_half_close(s.call), LULL_OK);
    rig_settle(&rig);
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(lull_server_call_send(rig.calls[0].call, lull_slice_static(zeros, 1000)),
                         LULL_OK);
        rig_settle(&rig);
    }
    ck_assert_int_eq(lull_server_call_finish(rig.calls[0].call, LULL_CODE_OK, NULL, NULL), LULL_OK);
    rig_settle(&rig);
    expect(&s, 1000, LULL_CODE_OK);
    ck_assert_uint_eq(s.bytes, 1000000);
    rig_fini(&rig);
}
END_TEST

/* scenario 259 */
START_TEST(a_ping_pong_of_messages)
{
    struct streaming s;
    rig_start(&rig, APP_ECHOES);
    start(&s);
    for (unsigned i = 1; i <= 500; i++) {
        char text[16];
        struct lull_slice message;
        const int len = snprintf(text, sizeof(text), "ball %u", i);
        ck_assert_int_eq(lull_slice_copy(NULL, text, (size_t)len, &message), LULL_OK);
        ck_assert_int_eq(lull_call_send(s.call, message), LULL_OK);
        lull_slice_unref(message);
        rig_settle(&rig);
        ck_assert_uint_eq(s.messages, i);
        ck_assert_str_eq(s.last, text);
    }
    ck_assert_int_eq(lull_call_half_close(s.call), LULL_OK);
    rig_settle(&rig);
    expect(&s, 500, LULL_CODE_OK);
    rig_fini(&rig);
}
END_TEST

/* scenario 260 */
START_TEST(a_stream_without_messages)
{
    struct streaming s;
    rig_start(&rig, APP_ECHOES);
    start(&s);
    ck_assert_int_eq(lull_call_half_close(s.call), LULL_OK);
    rig_settle(&rig);
    expect(&s, 0, LULL_CODE_OK);
    ck_assert_uint_eq(rig.calls[0].messages, 0);
    rig_fini(&rig);
}
END_TEST

/* scenarios 266, 267 */
START_TEST(a_stream_is_taken_back_after_its_first_answer)
{
    struct streaming s;
    rig_start(&rig, APP_ECHOES);
    start(&s);
    ck_assert_int_eq(lull_call_send(s.call, lull_slice_static("a", 1)), LULL_OK);
    rig_settle(&rig);
    ck_assert_uint_eq(s.messages, 1);
    lull_call_cancel(s.call);
    rig_settle(&rig);
    expect(&s, 1, LULL_CODE_CANCELLED);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_CANCELLED);
    rig_fini(&rig);
}
END_TEST

/* Both applications stop reading: nobody's memory grows, and all of it arrives once they go on. */
START_TEST(back_pressure_reaches_the_other_end)
{
    struct streaming s;
    unsigned sent = 0;
    rig_init(&rig);
    rig.way = APP_HOLDS;
    rig.pauses = true;
    rig_open(&rig);
    start(&s);
    for (int quiet = 0; quiet < 5;) {
        const int rc = lull_call_send(s.call, lull_slice_static(zeros, 10000));
        if (rc == LULL_OK) {
            sent++;
            quiet = 0;
        } else {
            ck_assert_int_eq(rc, LULL_RC_AGAIN);
            quiet++;
        }
        ck_assert_uint_lt(sent, 1000);
        rig_settle(&rig);
    }
    /* The window, what begins in it, and the queue. */
    ck_assert_uint_ge(sent * 10005, 256 * 1024);
    ck_assert_uint_le(sent * 10005, 256 * 1024 + 2 * 10005 + 64 * 1024 + 10005);
    ck_assert_uint_eq(rig.calls[0].messages, 0);
    lull_server_call_resume(rig.calls[0].call);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.calls[0].messages, sent);
    lull_call_cancel(s.call);
    rig_settle(&rig);
    ck_assert_uint_eq(s.closed, 1);
    rig_fini(&rig);
}
END_TEST

/* ---- what a paused call keeps in memory */

/*
 * RULINGS 22. A client fills the window of a paused call with messages of `_i` bytes. What holds them is blocks of at most BLOCK bytes:
 * a slab that many messages share, and what queues them.
 */
START_TEST(small_messages_to_a_paused_call_take_memory_of_the_windows_order)
{
    enum { WINDOW = 256 * 1024, EACH = 16000, BLOCK = 640 };
    static uint8_t bytes[EACH];
    static struct rig small_rig;
    static struct raw client;
    const size_t size = 5 + (size_t)_i, number = EACH / size;
    size_t sent = 0;
    uint64_t before, blocks;
    memset(bytes, 0, sizeof(bytes));
    for (size_t i = 0; i < number; i++) {
        bytes[i * size + 4] = (uint8_t)_i;
    }
    rig_init(&small_rig);
    small_rig.options.trace.event = NULL;
    small_rig.pauses = true;
    rig_open(&small_rig);
    rig_join(&small_rig, &client);
    raw_request(&client, 1, RIG_METHOD, false, NULL);
    rig_settle(&small_rig);
    before = executor_counters(small_rig.server->executor)->allocations;
    for (; sent + number * size <= WINDOW; sent += number * size) {
        raw_frame(&client, FRAME_DATA, 0, 1, bytes, number * size);
        rig_settle(&small_rig);
    }
    blocks = executor_counters(small_rig.server->executor)->allocations - before;
    ck_assert_uint_gt(blocks * BLOCK, WINDOW / 2);
    ck_assert_uint_lt(blocks * BLOCK, 4 * WINDOW);
    ck_assert_uint_eq(small_rig.calls[0].messages, 0);
    lull_server_call_resume(small_rig.calls[0].call);
    rig_settle(&small_rig);
    ck_assert_uint_eq(small_rig.calls[0].messages, sent / size);
    ck_assert_uint_eq(small_rig.calls[0].bytes, sent / size * (size_t)_i);
    raw_fini(&client);
    rig_fini(&small_rig);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("server/server_call_stream");
    TCase *t = tcase_create("server_call_stream");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_paused_call_is_not_credited_and_the_connection_is);
    tcase_add_test(t, a_message_in_many_pieces_is_one);
    tcase_add_test(t, a_burst_of_messages_is_told_in_order_and_whole);
    tcase_add_test(t, trailers_of_a_client_are_a_half_close);
    tcase_add_test(t, a_client_stream_of_a_thousand_messages);
    tcase_add_test(t, a_server_stream_of_a_thousand_messages);
    tcase_add_test(t, a_ping_pong_of_messages);
    tcase_add_test(t, a_stream_without_messages);
    tcase_add_test(t, a_stream_is_taken_back_after_its_first_answer);
    tcase_add_test(t, back_pressure_reaches_the_other_end);
    tcase_add_loop_test(t, small_messages_to_a_paused_call_take_memory_of_the_windows_order, 0, 4);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("server/server_call_stream", suite)
