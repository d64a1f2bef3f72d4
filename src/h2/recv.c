/* SPDX-License-Identifier: MIT */
/*
 * Reading and feeding. See recv.h.
 */
#include "h2/recv.h"

#include <string.h>

#include "base/cold.h"
#include "base/strbuf.h"
#include "h2/flow.h"
#include "h2/inner.h"

/* As many as gRPC's servers bear (grpc-core: MAX_PENDING_INDUCED_FRAMES). */
#define ANSWERS_MAX 10000

/* What is read at a time of a connection with many streams. */
#define READ_FEW_BYTES ((size_t)16 * 1024)

/* Reads after a failed write: more than a peer can have under way in a window of any sense. */
#define REST_READS_MAX 256

/* It has read little in this turn, and goes on in the next. */
static bool has_had_its_share(const struct h2_transport *t)
{
    return t->open > MANY_STREAMS && t->recv.read_turn == executor_turn_number(t->executor);
}

static void read_again(struct lull_task *task, struct lull_executor *executor)
{
    struct h2_transport *t = container_of(task, struct h2_transport, recv.again);
    if (has_had_its_share(t)) {
        executor_post_ready(executor, task);
    } else {
        recv_read(t);
    }
}

void recv_init(struct h2_transport *t)
{
    memset(&t->recv, 0, sizeof(t->recv));
    t->recv.magic_left = transport_is_server(t) ? PREFACE_MAGIC_BYTES : 0;
    lull_task_init(&t->recv.again, read_again);
}

/* ---- feeding */

static void feed_session(struct h2_transport *t, const uint8_t *bytes, size_t len)
{
    ssize_t fed;
    if (len == 0 || t->recv.error != 0) {
        return;
    }
    t->session.is_busy = true;
    fed = nghttp2_session_mem_recv(t->session.nghttp2, bytes, len);
    t->session.is_busy = false;
    if (fed < 0) {
        t->recv.error = (int)fed;
    } else {
        flow_on_fed(t);
    }
}

static int32_t frame_stream(const uint8_t head[9])
{
    return (int32_t)((uint32_t)(head[5] & 0x7f) << 24 | (uint32_t)head[6] << 16 |
                     (uint32_t)head[7] << 8 | head[8]);
}

/*
 * A frame's head is whole. True: it is DATA that nghttp2 must not see before we have looked at its stream.
 */
static bool is_doubtful(struct h2_transport *t, const uint8_t head[9])
{
    struct recv_state *recv = &t->recv;
    const int32_t id = frame_stream(head);
    recv->payload_left = (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2];
    recv->head_len = 0;
    if (head[3] == NGHTTP2_HEADERS) {
        recv->headers_id = id;
    }
    return t->headless > 0 && head[3] == NGHTTP2_DATA && id != recv->headers_id &&
           id != recv->data_id;
}

/*
 * All before the DATA frame has been fed. nghttp2 skips the DATA of a stream that has been reset. When it gave up on what came
 * before, memory or bytes, the HEADERS may be what it gave up on: then the connection is lost, and no stream is to blame.
 */
static void look_at_stream(struct h2_transport *t, int32_t id)
{
    struct h2_stream *stream = NULL;
    if (id != 0 && t->recv.error == 0 && !session_is_condemned(t)) {
        stream = nghttp2_session_get_stream_user_data(t->session.nghttp2, id);
    }
    if (stream == NULL) {
        return;
    }
    if (stream->headers_seen == 0) {
        stream_fail(stream, H2_END_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, "DATA before HEADERS");
    } else {
        t->recv.data_id = id;
    }
}

/* A head that came in parts is put together; returns the bytes of it that are here. */
static size_t keep_head(struct recv_state *recv, const uint8_t *bytes, size_t left)
{
    const size_t missing = sizeof(recv->head) - recv->head_len;
    const size_t len = missing < left ? missing : left;
    memcpy(recv->head + recv->head_len, bytes, len);
    recv->head_len = (uint8_t)(recv->head_len + len);
    return len;
}

/* Feeds nghttp2, in as large pieces as can be. */
static void feed_frames(struct h2_transport *t, const uint8_t *bytes, size_t len)
{
    struct recv_state *recv = &t->recv;
    size_t at = recv->magic_left < len ? recv->magic_left : len;
    size_t fed = 0;
    recv->magic_left -= at;
    while (at < len) {
        if (recv->payload_left == 0) {
            const size_t start = at;
            const uint8_t *head = bytes + at;
            if (recv->head_len > 0 || len - at < sizeof(recv->head)) {
                at += keep_head(recv, head, len - at);
                if (recv->head_len < sizeof(recv->head)) {
                    break;
                }
                head = recv->head;
            } else {
                at += sizeof(recv->head);
            }
            if (is_doubtful(t, head)) {
                const int32_t id = frame_stream(head);
                feed_session(t, bytes + fed, start - fed);
                fed = start;
                look_at_stream(t, id);
            }
        }
        const size_t skip = recv->payload_left < len - at ? recv->payload_left : len - at;
        recv->payload_left -= (uint32_t)skip;
        at += skip;
    }
    feed_session(t, bytes + fed, len - fed);
}

static enum preface judge_first(const struct h2_transport *t, bool is_all, char *text, size_t size)
{
    const struct recv_state *recv = &t->recv;
    return transport_is_server(t)
               ? preface_judge_client(recv->first, recv->first_len, is_all, text, size)
               : preface_judge(recv->first, recv->first_len, is_all, text, size);
}

static void lose_wrong(struct h2_transport *t, const char *text)
{
    /* A client that does not speak HTTP/2 has no use for frames. */
    if (!transport_is_server(t)) {
        goaway_write(t, NGHTTP2_PROTOCOL_ERROR, "SETTINGS expected");
    }
    transport_lose(t, H2_LOST_PROTOCOL, 0, text);
}

/* The first bytes are kept until they can be judged. */
static void greet(struct h2_transport *t, const uint8_t *bytes, size_t len)
{
    struct recv_state *recv = &t->recv;
    const size_t before = recv->first_len;
    const size_t room = PREFACE_BYTES - before;
    const size_t kept = len < room ? len : room;
    char text[sizeof(t->end.text)];
    memcpy(recv->first + before, bytes, kept);
    recv->first_len += kept;
    switch (judge_first(t, false, text, sizeof(text))) {
    case PREFACE_MORE:
        return;
    case PREFACE_WRONG:
        lose_wrong(t, text);
        return;
    case PREFACE_GOOD:
        recv->is_greeted = true;
        feed_frames(t, recv->first, before);
        feed_frames(t, bytes, len);
    }
}

LULL_COLD static void lose_fatal(struct h2_transport *t)
{
    const int error = t->recv.error;
    char text[sizeof(t->end.text)];
    struct strbuf sb;
    if (t->is_out_of_memory || error == NGHTTP2_ERR_NOMEM) {
        transport_lose(t, H2_LOST_NOMEM, 0, "no memory for HTTP/2 input");
        return;
    }
    strbuf_init(&sb, text, sizeof(text));
    strbuf_printf(&sb, "the peer broke HTTP/2: %s", nghttp2_strerror(error));
    goaway_write(t,
                 error == NGHTTP2_ERR_FLOODED ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_PROTOCOL_ERROR,
                 nghttp2_strerror(error));
    transport_lose(t, H2_LOST_PROTOCOL, 0, text);
}

/*
 * nghttp2 bounds the ACKs that wait for the socket; resets of streams that it refuses by itself it does not. Reading goes on
 * meanwhile, for a WINDOW_UPDATE may be among it: so it is the peer that goes, when he has us queue answers and takes none. What
 * we queue ourselves does not count.
 */
static bool is_flooded(const struct h2_transport *t)
{
    return t->recv.answers > ANSWERS_MAX &&
           nghttp2_session_get_outbound_queue_size(t->session.nghttp2) > ANSWERS_MAX;
}

static void lose_flooded(struct h2_transport *t)
{
    static const char why[] = "too many answers that the peer does not read";
    goaway_write(t, NGHTTP2_ENHANCE_YOUR_CALM, why);
    transport_lose(t, H2_LOST_PROTOCOL, 0, why);
}

/* What the bytes have led to, now that nghttp2 is off the stack. */
static void settle(struct h2_transport *t)
{
    if (t->is_lost) {
        return;
    }
    if (t->recv.error != 0 || t->is_out_of_memory) {
        lose_fatal(t);
    } else if (is_flooded(t)) {
        lose_flooded(t);
    } else if (session_is_condemned(t)) {
        send_flush(t); /* its GOAWAY says why */
        transport_lose(t, H2_LOST_PROTOCOL, 0, "the peer broke HTTP/2");
    } else if (nghttp2_session_want_write(t->session.nghttp2) != 0) {
        executor_post_flush(t->executor, &t->flush);
    } else {
        transport_finish_if_drained(t);
    }
}

/* `before`: what waited before this read. */
static void count_answers(struct h2_transport *t, size_t before)
{
    if (t->is_lost) {
        return;
    }
    const size_t queued = nghttp2_session_get_outbound_queue_size(t->session.nghttp2);
    if (t->send.unsent == NULL) {
        t->recv.answers = 0;
    } else if (queued > before) {
        t->recv.answers += queued - before;
    }
}

static void on_bytes(struct h2_transport *t, const uint8_t *bytes, size_t len)
{
    const struct lull_instant now = lull_executor_now(t->executor);
    const size_t queued = nghttp2_session_get_outbound_queue_size(t->session.nghttp2);
    t->recv.bytes += len;
    t->ops->on_read(t, now);
    keepalive_glue_on_read(t, now);
    if (t->recv.is_greeted) {
        feed_frames(t, bytes, len);
    } else {
        greet(t, bytes, len);
    }
    count_answers(t, queued);
    settle(t);
}

/* ---- reading */

/*
 * Of a connection with many streams little is read at a time: the answers to 600 calls fit into one large read, and the calls that they
 * belong to, 5 KB each, into no cache, from which they would go before their callbacks have run.
 */
static size_t read_bytes(const struct h2_transport *t)
{
    return t->open > MANY_STREAMS ? READ_FEW_BYTES : EXECUTOR_BUFFER_BYTES;
}

/* IO_OK: something came and was fed. */
static enum io read_once(struct h2_transport *t, size_t most, size_t *got)
{
    uint8_t *buffer = executor_read_buffer(t->executor);
    enum io io;
    *got = 0;
    if (buffer == NULL) {
        transport_lose(t, H2_LOST_NOMEM, 0, "no memory for the read buffer");
        return IO_AGAIN;
    }
    t->recv.read_turn = executor_turn_number(t->executor);
    io = endpoint_read(t->endpoint, buffer, most, got);
    if (io == IO_OK && *got > 0) {
        on_bytes(t, buffer, *got);
    }
    return io;
}

static void on_eof(struct h2_transport *t)
{
    char text[sizeof(t->end.text)];
    if (!t->recv.is_greeted && judge_first(t, true, text, sizeof(text)) == PREFACE_WRONG) {
        transport_lose(t, H2_LOST_PROTOCOL, 0, text);
        return;
    }
    transport_lose(t, H2_LOST_EOF, 0,
                   t->has_settings ? "the peer closed the connection"
                                   : "the peer closed the connection before its SETTINGS");
}

void recv_read(struct h2_transport *t)
{
    const size_t most = read_bytes(t);
    size_t got;
    if (t->is_lost || t->is_silent) {
        return;
    }
    switch (read_once(t, most, &got)) {
    case IO_OK:
        if (got == most && !t->is_lost) {
            executor_post_ready(t->executor, &t->recv.again);
        }
        break;
    case IO_AGAIN:
        break;
    case IO_EOF:
        on_eof(t);
        break;
    case IO_FAIL:
        transport_lose_endpoint(t);
        break;
    }
}

void recv_rest(struct h2_transport *t)
{
    size_t got;
    for (int i = 0; i < REST_READS_MAX && !t->is_lost; i++) {
        if (read_once(t, EXECUTOR_BUFFER_BYTES, &got) != IO_OK) {
            return;
        }
    }
}

void recv_on_ready(struct endpoint *endpoint, unsigned ready)
{
    struct h2_transport *t = endpoint->owner;
    if (t->is_lost || t->is_silent) {
        return;
    }
    if ((ready & LULL_WANT_WRITE) != 0) {
        send_on_writable(t);
    }
    if ((ready & LULL_WANT_READ) != 0 && !(t->recv.again.queued && has_had_its_share(t))) {
        recv_read(t);
    }
}
