/* SPDX-License-Identifier: MIT */
/*
 * Streams of all three kinds against Python's grpcio: a thousand messages each way, back-pressure in both directions, half-close, status
 * and trailers; and streams that end before their time.
 *
 * Decides: what is sent, and what has to come back. streams_test.sh starts the server (grpcio_server.py) and runs it. A program of
 * somebody else: public headers and the shared library, no internal name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/peers/client.h"
#include "tests/support/check_main.h"

enum { MESSAGES = 1000, MESSAGE_MAX_BYTES = 6000 };

static struct client client;

static void set_up(void)
{
    client_begin(&client, NULL);
    client_open(&client, "PEER_TARGET");
}

/* A server whose windows are 64 KiB and stay so. */
static void set_up_narrow(void)
{
    client_begin(&client, NULL);
    client_open(&client, "PEER_NARROW_TARGET");
}

static void tear_down(void)
{
    ck_assert_msg(client.dials <= 1, "%u dials: the connection did not stand", client.dials);
    client_close(&client);
}

/* As make_message of grpcio_server.py. */
static size_t make_message(unsigned number, uint8_t bytes[MESSAGE_MAX_BYTES])
{
    size_t len = 8 + (size_t)(number * 37U) % (MESSAGE_MAX_BYTES - 8);
    char digits[9];
    (void)snprintf(digits, sizeof(digits), "%08u", number);
    memcpy(bytes, digits, 8);
    for (size_t i = 8; i < len; i++) {
        bytes[i] = (uint8_t)((i * 31U + number) & 0xff);
    }
    return len;
}

static bool is_message(struct lull_slice message, unsigned number)
{
    uint8_t bytes[MESSAGE_MAX_BYTES];
    size_t len = make_message(number, bytes);
    return message.len == len && memcmp(message.data, bytes, len) == 0;
}

static bool is_text(struct lull_slice message, const char *text)
{
    return message.len == strlen(text) && memcmp(message.data, text, message.len) == 0;
}

/* ---- both directions of a stream, counted */

struct talk {
    struct stream stream;
    /* out */
    unsigned to_send, sent;
    uint64_t sent_bytes;
    bool half_closes; /* behind the last one */
    bool is_refused;  /* on_writable is to come */
    unsigned refusals, writables;
    int last_rc;
    /* in */
    unsigned in_order;
    bool has_bye;
    bool has_verdict; /* of a server that took our messages: all in order */
    bool has_wrong;
    unsigned cancel_after; /* so many messages; 0: never */
};

static int send_one(struct talk *talk, unsigned number)
{
    uint8_t bytes[MESSAGE_MAX_BYTES];
    size_t len = make_message(number, bytes);
    struct lull_slice message;
    ck_assert_int_eq(lull_slice_copy(NULL, bytes, len, &message), LULL_OK);
    int rc = lull_call_send(talk->stream.call, message);
    lull_slice_unref(message);
    talk->sent_bytes += rc == LULL_OK ? len : 0;
    return rc;
}

/* Sends until it is told to wait, or all is sent. */
static void send_on(struct talk *talk)
{
    while (talk->sent < talk->to_send) {
        talk->last_rc = send_one(talk, talk->sent);
        if (talk->last_rc == LULL_RC_AGAIN) {
            talk->is_refused = true;
            talk->refusals++;
        }
        if (talk->last_rc != LULL_OK) {
            return;
        }
        talk->sent++;
    }
    if (talk->half_closes) {
        ck_assert_int_eq(lull_call_half_close(talk->stream.call), LULL_OK);
        ck_assert_int_eq(send_one(talk, 0), LULL_RC_STATE);
    }
}

static void on_writable(struct stream *stream)
{
    struct talk *talk = stream->ctx;
    ck_assert_msg(talk->is_refused, "on_writable without a refusal");
    talk->is_refused = false;
    talk->writables++;
    send_on(talk);
}

static void on_message(struct stream *stream, struct lull_slice message)
{
    struct talk *talk = stream->ctx;
    ck_assert_msg(!talk->has_bye, "a message behind the last one");
    if (is_message(message, talk->in_order)) {
        talk->in_order++;
    } else if (is_text(message, "bye")) {
        talk->has_bye = true;
    } else {
        talk->has_wrong = true;
    }
    if (talk->cancel_after > 0 && talk->in_order == talk->cancel_after) {
        lull_call_cancel(stream->call);
    }
}

static void talk_start(struct talk *talk, const char *method, int64_t timeout_ns)
{
    talk->stream.ctx = talk;
    talk->stream.on_message = on_message;
    talk->stream.on_writable = on_writable;
    stream_start(&talk->stream, &client, method, timeout_ns);
}

/* As it ends, and what came in on it. */
static void talk_end(struct talk *talk, enum lull_code code, const char *text, const char *trailers)
{
    stream_end(&talk->stream, &client, code);
    ck_assert_str_eq(talk->stream.text, text);
    ck_assert_str_eq(talk->stream.trailers, trailers);
    ck_assert_msg(!talk->has_wrong, "message %u is wrong", talk->in_order);
}

/* A method that takes one message and sends many. */
static void talk_ask(struct talk *talk, const char *request)
{
    ck_assert_int_eq(lull_call_send(talk->stream.call, lull_slice_static(request, strlen(request))),
                     LULL_OK);
    ck_assert_int_eq(lull_call_half_close(talk->stream.call), LULL_OK);
}

/* ---- what the server has seen */

static int64_t stat(const char *name)
{
    struct answer answer;
    client_ask(&client, "/lull.test.Peer/Stats", "", 0, &answer);
    ck_assert_msg(answer.code == LULL_CODE_OK, "%s", (char *)answer.bytes);
    char wanted[32];
    (void)snprintf(wanted, sizeof(wanted), " %s ", name);
    const char *found = strstr((char *)answer.bytes, wanted);
    ck_assert_msg(found != NULL, "no %s in '%s'", name, (char *)answer.bytes);
    return strtoll(found + strlen(wanted), NULL, 10);
}

static void wait_for_stat(const char *name, int64_t value)
{
    for (unsigned i = 0; stat(name) != value; i++) {
        ck_assert_msg(i < 1000, "%s is not %" PRId64, name, value);
        client_drive_for(&client, 10 * LULL_MS);
    }
}

static void expect_echo(void)
{
    struct answer answer;
    client_ask(&client, "/lull.test.Peer/Echo", "still here", 10, &answer);
    ck_assert_int_eq(answer.code, LULL_CODE_OK);
    ck_assert_str_eq((char *)answer.bytes, "still here");
}

/* ---- a thousand messages */

static void on_verdict(struct stream *stream, struct lull_slice message)
{
    struct talk *talk = stream->ctx;
    talk->has_verdict = is_text(message, "1000 in order");
}

static void start_collecting(struct talk *talk, const char *method)
{
    talk->to_send = MESSAGES;
    talk->half_closes = true;
    talk_start(talk, method, CLIENT_LIMIT_NS);
    talk->stream.on_message = on_verdict;
    send_on(talk);
}

START_TEST(a_client_stream_of_a_thousand_messages_arrives_in_order)
{
    struct talk talk = {0};
    start_collecting(&talk, "/lull.test.Peer/Collect");
    ck_assert_uint_eq(talk.refusals, 1); /* so far: 64 KiB are less than three million bytes */
    talk_end(&talk, LULL_CODE_OK, "", "x-count=1000 ");
    ck_assert_uint_eq(talk.sent, MESSAGES);
    ck_assert_uint_eq(talk.stream.messages, 1);
    ck_assert(talk.has_verdict);
    ck_assert_uint_eq(talk.writables, talk.refusals);
}
END_TEST

START_TEST(a_server_stream_of_a_thousand_messages_arrives_in_order)
{
    struct talk talk = {0};
    talk_start(&talk, "/lull.test.Peer/Count", CLIENT_LIMIT_NS);
    talk_ask(&talk, "1000");
    talk_end(&talk, LULL_CODE_OK, "all of them", "x-count=1000 ");
    ck_assert_uint_eq(talk.stream.headers, 1);
    ck_assert_uint_eq(talk.in_order, MESSAGES);
    ck_assert_uint_eq(talk.stream.messages, MESSAGES);
}
END_TEST

START_TEST(a_thousand_messages_go_out_and_come_back_in_order)
{
    struct talk talk = {.to_send = MESSAGES, .half_closes = true};
    talk_start(&talk, "/lull.test.Peer/Chat", CLIENT_LIMIT_NS);
    send_on(&talk);
    talk_end(&talk, LULL_CODE_OK, "", "x-count=1000 ");
    ck_assert_uint_eq(talk.in_order, MESSAGES);
    ck_assert(talk.has_bye);
    ck_assert_uint_eq(talk.stream.messages, MESSAGES + 1);
    ck_assert_uint_ge(talk.refusals, 1);
    ck_assert_uint_eq(talk.writables, talk.refusals);
}
END_TEST

START_TEST(ten_streams_at_once_on_one_connection_keep_their_messages_apart)
{
    static struct talk talks[10];
    memset(talks, 0, sizeof(talks));
    for (unsigned i = 0; i < 10; i++) {
        talks[i].to_send = 100;
        talks[i].half_closes = true;
        talk_start(&talks[i], "/lull.test.Peer/Chat", CLIENT_LIMIT_NS);
        send_on(&talks[i]);
    }
    for (unsigned i = 0; i < 10; i++) {
        talk_end(&talks[i], LULL_CODE_OK, "", "x-count=100 ");
        ck_assert_uint_eq(talks[i].in_order, 100);
        ck_assert(talks[i].has_bye);
    }
}
END_TEST

/* ---- half-close */

START_TEST(half_close_ends_our_side_only)
{
    struct talk talk = {.to_send = 1};
    talk_start(&talk, "/lull.test.Peer/Chat", CLIENT_LIMIT_NS);
    send_on(&talk);
    client_drive_until(&client, &talk.stream.messages, 1);
    client_drive_for(&client, 100 * LULL_MS);
    ck_assert(!talk.has_bye); /* it waits for more of us */
    ck_assert_int_eq(lull_call_half_close(talk.stream.call), LULL_OK);
    talk_end(&talk, LULL_CODE_OK, "", "x-count=1 ");
    ck_assert(talk.has_bye);
}
END_TEST

START_TEST(a_stream_without_a_message_ends_ok)
{
    struct talk talk = {.half_closes = true};
    talk_start(&talk, "/lull.test.Peer/Chat", CLIENT_LIMIT_NS);
    send_on(&talk);
    talk_end(&talk, LULL_CODE_OK, "", "x-count=0 ");
    ck_assert(talk.has_bye);
    ck_assert_uint_eq(talk.stream.messages, 1);
}
END_TEST

/* ---- back-pressure */

START_TEST(a_server_that_does_not_read_holds_our_sending_back)
{
    struct talk talk = {0};
    struct answer answer;
    start_collecting(&talk, "/lull.test.Peer/Late");
    client_drive_for(&client, 300 * LULL_MS);
    unsigned sent = talk.sent;
    ck_assert(talk.is_refused);
    ck_assert_uint_lt(sent, MESSAGES);
    ck_assert_uint_lt(talk.sent_bytes, 1024 * 1024); /* a window and a queue, of three million */
    client_drive_for(&client, 200 * LULL_MS);
    ck_assert_uint_eq(talk.sent, sent); /* and there it stays */
    ck_assert_uint_eq(talk.stream.closed, 0);

    client_ask(&client, "/lull.test.Peer/Go", "", 0, &answer); /* the connection is not blocked */
    ck_assert_int_eq(answer.code, LULL_CODE_OK);
    talk_end(&talk, LULL_CODE_OK, "", "x-count=1000 ");
    ck_assert(talk.has_verdict);
    ck_assert_uint_ge(talk.writables, 1);
}
END_TEST

START_TEST(a_pause_of_ours_holds_the_server_back)
{
    struct talk talk = {0};
    talk_start(&talk, "/lull.test.Peer/Count", CLIENT_LIMIT_NS);
    lull_call_pause(talk.stream.call);
    talk_ask(&talk, "1000");
    client_drive_for(&client, 300 * LULL_MS);
    int64_t yielded = stat("yielded");
    ck_assert_int_ge(yielded, 1);
    ck_assert_int_lt(yielded,
                     MESSAGES / 2); /* 256 KiB of three million bytes, and what it keeps itself */
    client_drive_for(&client, 200 * LULL_MS);
    ck_assert_int_eq(stat("yielded"), yielded);
    ck_assert_uint_eq(talk.stream.messages, 0);

    lull_call_resume(talk.stream.call);
    talk_end(&talk, LULL_CODE_OK, "all of them", "x-count=1000 ");
    ck_assert_uint_eq(talk.in_order, MESSAGES);
}
END_TEST

/* ---- before their time */

START_TEST(a_stream_cancelled_midway_ends_once_and_the_server_hears_of_it)
{
    struct talk talk = {.to_send = MESSAGES, .cancel_after = 100};
    int64_t cut = stat("cut");
    talk_start(&talk, "/lull.test.Peer/Chat", CLIENT_LIMIT_NS);
    send_on(&talk);
    talk_end(&talk, LULL_CODE_CANCELLED, talk.stream.text, "");
    ck_assert_int_eq(talk.stream.reason, LULL_REASON_CANCELLED);
    ck_assert_uint_eq(talk.in_order, 100); /* none behind it */
    ck_assert_uint_eq(talk.stream.messages, 100);
    wait_for_stat("cut", cut + 1);
    expect_echo();
    ck_assert_uint_eq(talk.stream.closed, 1);
}
END_TEST

START_TEST(a_deadline_midway_ends_the_stream_when_it_is_due)
{
    struct talk talk = {0};
    int64_t cut = stat("cut");
    struct lull_instant from = lull_executor_now(lull_loop_executor(client.loop));
    talk_start(&talk, "/lull.test.Peer/Drip", 400 * LULL_MS);
    talk_ask(&talk, "");
    talk_end(&talk, LULL_CODE_DEADLINE_EXCEEDED, talk.stream.text, "");
    int64_t took_ns = lull_instant_diff(lull_executor_now(lull_loop_executor(client.loop)), from);
    /* The server was told the deadline and goes by a clock that steps in milliseconds: it may be first by one. */
    bool is_ours = talk.stream.reason == LULL_REASON_DEADLINE;
    ck_assert_msg(is_ours || talk.stream.reason == LULL_REASON_SERVER, "%s", talk.stream.line);
    ck_assert_int_ge(took_ns, (is_ours ? 400 : 395) * LULL_MS);
    ck_assert_int_lt(took_ns, 4 * LULL_SECOND);
    ck_assert_uint_ge(talk.in_order, 2); /* it was midway */
    wait_for_stat("cut", cut + 1);
    expect_echo();
}
END_TEST

START_TEST(a_server_that_ends_with_an_error_is_believed_while_we_still_send)
{
    struct talk talk = {.to_send = MESSAGES};
    talk_start(&talk, "/lull.test.Peer/Enough", CLIENT_LIMIT_NS);
    send_on(&talk);
    talk_end(&talk, LULL_CODE_FAILED_PRECONDITION, "five are enough", "x-count=5 ");
    ck_assert_int_eq(talk.stream.reason, LULL_REASON_SERVER);
    ck_assert_uint_eq(talk.in_order, 5); /* what it sent before the error came first */
    ck_assert_uint_eq(talk.stream.messages, 5);
    ck_assert_uint_lt(talk.sent, MESSAGES);
    expect_echo();
}
END_TEST

START_TEST(sending_after_the_servers_end_is_refused)
{
    struct talk talk = {.to_send = 5};
    talk_start(&talk, "/lull.test.Peer/Enough", CLIENT_LIMIT_NS);
    send_on(&talk);
    client_drive_until(&client, &talk.stream.closed, 1);
    ck_assert_int_eq(send_one(&talk, 5), LULL_RC_CLOSED);
    ck_assert_int_eq(lull_call_half_close(talk.stream.call), LULL_RC_CLOSED);
    talk_end(&talk, LULL_CODE_FAILED_PRECONDITION, "five are enough", "x-count=5 ");
}
END_TEST

START_TEST(messages_before_an_error_come_before_it)
{
    struct talk talk = {0};
    talk_start(&talk, "/lull.test.Peer/FailAfter", CLIENT_LIMIT_NS);
    talk_ask(&talk, "");
    talk_end(&talk, LULL_CODE_ABORTED, "after three", "x-count=3 ");
    ck_assert_uint_eq(talk.in_order, 3);
}
END_TEST

static Suite *streams_suite(void)
{
    Suite *suite = suite_create("streams");
    TCase *wide = tcase_create("streams on grpcio");
    TCase *t = tcase_create("streams on grpcio with narrow windows");
    tcase_set_timeout(wide, 120);
    tcase_add_checked_fixture(wide, set_up, tear_down);
    tcase_add_test(wide, a_client_stream_of_a_thousand_messages_arrives_in_order);
    tcase_add_test(wide, a_server_stream_of_a_thousand_messages_arrives_in_order);
    tcase_add_test(wide, a_thousand_messages_go_out_and_come_back_in_order);
    suite_add_tcase(suite, wide);
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up_narrow, tear_down);
    tcase_add_test(t, a_client_stream_of_a_thousand_messages_arrives_in_order);
    tcase_add_test(t, a_server_stream_of_a_thousand_messages_arrives_in_order);
    tcase_add_test(t, a_thousand_messages_go_out_and_come_back_in_order);
    tcase_add_test(t, ten_streams_at_once_on_one_connection_keep_their_messages_apart);
    tcase_add_test(t, half_close_ends_our_side_only);
    tcase_add_test(t, a_stream_without_a_message_ends_ok);
    tcase_add_test(t, a_server_that_does_not_read_holds_our_sending_back);
    tcase_add_test(t, a_pause_of_ours_holds_the_server_back);
    tcase_add_test(t, a_stream_cancelled_midway_ends_once_and_the_server_hears_of_it);
    tcase_add_test(t, a_deadline_midway_ends_the_stream_when_it_is_due);
    tcase_add_test(t, a_server_that_ends_with_an_error_is_believed_while_we_still_send);
    tcase_add_test(t, sending_after_the_servers_end_is_refused);
    tcase_add_test(t, messages_before_an_error_come_before_it);
    suite_add_tcase(suite, t);
    return suite;
}

LULL_TEST_MAIN("streams", streams_suite)
