/* SPDX-License-Identifier: MIT */
/*
 * Pulling and writing. See send.h.
 */
#include "h2/send.h"

#include <string.h>

#include "base/status.h"
#include "base/strbuf.h"
#include "h2/answer.h"
#include "h2/inner.h"
#include "h2/unsent.h"

/* A frame as nghttp2 makes it: 9 bytes of head, a pad length, 16 KiB. */
#define FRAME_HEAD_BYTES ((size_t)9)
#define FRAME_MAX_BYTES  (FRAME_HEAD_BYTES + 1 + 16384)

/* So little of a stream's queue goes with the write that has the rest of it: of a full queue, the small message that made it full. */
#define TAIL_BYTES ((size_t)1024)

/* Pieces that one frame may add: of 16 KiB three runs can be 4 KiB long and so not copied, each with something before it. */
#define FRAME_PIECES 7

/* Writes in one flush; what is left goes in the turn's next one, so that others get theirs. */
#define ROUNDS_MAX 16

/* One gathered write. */
struct batch {
    struct io_piece pieces[IO_PIECES_MAX];
    struct lull_slice held[IO_PIECES_MAX]; /* the payload's reference behind pieces[i] */
    size_t count;
    uint8_t *buffer; /* the executor's */
    size_t buffer_len;
    size_t total;
    bool is_paused; /* mem_send said 0 because we asked it to stop, not because there is no more */
    bool is_full;
    bool has_tail; /* of the stream that was last asked, so little is left */
};

void send_init(struct send_state *send)
{
    memset(send, 0, sizeof(*send));
    list_init(&send->headers_waiting);
    list_init(&send->request_waiting);
    list_init(&send->writable);
}

void send_fini(struct send_state *send)
{
    unsent_free(send->unsent);
    send->unsent = NULL;
}

/* ---- pulling */

static bool has_room(const struct batch *batch)
{
    const size_t most = EXECUTOR_BUFFER_BYTES + (batch->has_tail ? TAIL_BYTES : 0);
    return batch->total < most &&
           EXECUTOR_BUFFER_BYTES - batch->buffer_len >= FRAME_MAX_BYTES &&
           batch->count + FRAME_PIECES <= IO_PIECES_MAX;
}

static void add_piece(struct batch *batch, const void *data, size_t len, struct lull_slice held)
{
    batch->pieces[batch->count].data = data;
    batch->pieces[batch->count].len = len;
    batch->held[batch->count++] = held;
    batch->total += len;
}

/* So many bytes were put behind what is in the write buffer; neighbours there are one piece. The caller has asked has_room. */
static void add_copied(struct batch *batch, size_t len)
{
    const uint8_t *at = batch->buffer + batch->buffer_len;
    batch->buffer_len += len;
    if (batch->count > 0) {
        struct io_piece *last = &batch->pieces[batch->count - 1];
        if ((const uint8_t *)last->data + last->len == at) {
            last->len += len;
            batch->total += len;
            return;
        }
    }
    add_piece(batch, at, len, lull_slice_static(NULL, 0));
}

static void add_copy(struct batch *batch, const void *data, size_t len)
{
    memcpy(batch->buffer + batch->buffer_len, data, len);
    add_copied(batch, len);
}

static void drop_batch(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        lull_slice_unref(batch->held[i]);
    }
    batch->count = 0;
}

static void note_block(struct send_state *send, const uint8_t *chunk, size_t len)
{
    /* Every chunk starts with a frame's head. */
    if (len >= FRAME_HEAD_BYTES &&
        (chunk[3] == NGHTTP2_HEADERS || chunk[3] == NGHTTP2_CONTINUATION)) {
        send->is_within_block = (chunk[4] & NGHTTP2_FLAG_END_HEADERS) == 0;
    }
}

void send_on_headers(struct h2_stream *stream)
{
    if (stream->headers_pulled) {
        return; /* trailers */
    }
    stream->headers_pulled = true;
    stream->transport->send.headers_of = stream;
}

static void mark_request_end(struct send_state *send, struct h2_stream *stream)
{
    stream->request_end_at = send->pulled_bytes;
    list_push_back(&send->request_waiting, &stream->request_link);
}

void send_on_request_end(struct h2_stream *stream, bool is_counted)
{
    struct send_state *send = &stream->transport->send;
    stream->request_pulled = true;
    if (is_counted) {
        mark_request_end(send, stream);
    } else {
        send->request_of = stream;
    }
}

/* The chunk at hand is counted: whose request it was part of now knows where that ends. */
static void mark_ends(struct send_state *send)
{
    if (send->headers_of != NULL) {
        send->headers_of->headers_end_at = send->pulled_bytes;
        list_push_back(&send->headers_waiting, &send->headers_of->headers_link);
        send->headers_of = NULL;
    }
    if (send->request_of != NULL) {
        mark_request_end(send, send->request_of);
        send->request_of = NULL;
    }
}

static ssize_t pull_chunk(struct h2_transport *t, struct batch *batch)
{
    const uint8_t *chunk;
    ssize_t len;
    batch->is_paused = false;
    t->session.is_busy = true;
    len = nghttp2_session_mem_send(t->session.nghttp2, &chunk);
    t->session.is_busy = false;
    if (len <= 0) {
        return len;
    }
    if ((size_t)len > FRAME_MAX_BYTES) {
        return NGHTTP2_ERR_BUFFER_ERROR;
    }
    add_copy(batch, chunk, (size_t)len);
    t->send.pulled_bytes += (size_t)len;
    note_block(&t->send, chunk, (size_t)len);
    return len;
}

/* A server's notice that it goes (goaway.h) stands where a frame may stand, behind the SETTINGS that open a connection. */
static bool put_notice(struct h2_transport *t, struct batch *batch)
{
    uint8_t frame[GOAWAY_NOTICE_BYTES];
    if (!t->goaway.is_notice_due || t->send.pulled_bytes == 0 || t->send.is_within_block) {
        return false;
    }
    const size_t len = goaway_take_notice(t, frame);
    add_copy(batch, frame, len);
    t->send.pulled_bytes += len;
    ping_on_notice_framed(t);
    return true;
}

/* A client's preface is the first thing that goes; session.c took it from nghttp2. */
static void put_preface(struct h2_transport *t, struct batch *batch)
{
    if (t->send.pulled_bytes == 0 && !transport_is_server(t)) {
        add_copy(batch, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
        t->send.pulled_bytes = NGHTTP2_CLIENT_MAGIC_LEN;
    }
}

/* Fills the batch. 0 or nghttp2's error. */
static int pull(struct h2_transport *t, struct batch *batch)
{
    ssize_t len;
    put_preface(t, batch);
    do {
        if (!has_room(batch)) {
            batch->is_full = true;
            return 0;
        }
        if (put_notice(t, batch)) {
            len = 1;
            continue;
        }
        len = pull_chunk(t, batch);
        mark_ends(&t->send);
    } while (len > 0 || (len == 0 && batch->is_paused));
    return (int)len;
}

/* Frames have some of the queue: is there room for the owner again? */
static void note_room(struct h2_transport *t, struct h2_stream *stream)
{
    t->send.batch->has_tail = stream->out.bytes > 0 && stream->out.bytes <= TAIL_BYTES;
    if (stream->out.was_full && stream->out.bytes < H2_STREAM_ROOM_BYTES) {
        stream->out.was_full = false;
        list_push_back(&t->send.writable, &stream->writable_link);
    }
}

/* Only says how much: send_put_data, which nghttp2 calls next, puts it where it goes, so that it is copied once. */
ssize_t send_read_data(nghttp2_session *session, int32_t stream_id, uint8_t *into, size_t length,
                       uint32_t *data_flags, nghttp2_data_source *source, void *user)
{
    struct h2_transport *t = user;
    struct h2_stream *stream = transport_stream(t, stream_id);
    size_t give;
    (void)session;
    (void)source;
    (void)into;
    if (stream == NULL) {
        return NGHTTP2_ERR_DEFERRED;
    }
    give = stream->out.bytes < length ? stream->out.bytes : length;
    /* (A server's trailers have gone already, when nothing was queued.) */
    if (give == 0 && (!stream->out.ends || transport_is_server(t))) {
        stream->out.waits = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    if (give == stream->out.bytes && stream->out.ends) {
        *data_flags |= NGHTTP2_DATA_FLAG_EOF;
        if (transport_is_server(t)) {
            *data_flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
            answer_on_last_data(stream);
        }
    }
    *data_flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    return (ssize_t)give;
}

/* The rest of a frame, in which a message is long: it is written from where it is. */
static void put_long(struct h2_transport *t, struct h2_stream *stream, size_t left)
{
    struct batch *batch = t->send.batch;
    while (left > 0) {
        const struct outbox_run run = outbox_run(&stream->out, left);
        if (run.is_payload && run.len >= OUTBOX_LONG_BYTES) {
            add_piece(batch, run.data, run.len, lull_slice_ref(run.payload));
        } else {
            add_copy(batch, run.data, run.len);
        }
        outbox_take(t, &stream->out, run.len);
        left -= run.len;
    }
}

/* There is room, for pull() has asked, and this asks before nghttp2 makes the next frame. */
int send_put_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head,
                  size_t length, nghttp2_data_source *source, void *user)
{
    struct h2_transport *t = user;
    struct h2_stream *stream = transport_stream(t, frame->hd.stream_id);
    struct batch *batch = t->send.batch;
    (void)session;
    (void)source;
    if (stream == NULL) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    uint8_t *const to = batch->buffer + batch->buffer_len;
    memcpy(to, head, FRAME_HEAD_BYTES);
    size_t len = outbox_copy_short(t, &stream->out, to + FRAME_HEAD_BYTES, length);
    add_copied(batch, FRAME_HEAD_BYTES + len);
    if (len < length) {
        put_long(t, stream, length - len);
    }
    note_room(t, stream);
    t->send.pulled_bytes += FRAME_HEAD_BYTES + length;
    batch->is_paused = !has_room(batch);
    return batch->is_paused ? NGHTTP2_ERR_PAUSE : 0;
}

void send_on_own_goaway(struct h2_transport *t, const nghttp2_goaway *frame)
{
    struct strbuf sb;
    if (transport_is_server(t) && frame->error_code == NGHTTP2_NO_ERROR) {
        goaway_on_sent(t);
        return;
    }
    t->send.has_given_up = true;
    strbuf_init(&sb, t->send.give_up_text, sizeof(t->send.give_up_text));
    strbuf_printf(&sb, "the peer broke HTTP/2: %s", status_h2_error_name(frame->error_code));
    if (frame->opaque_data_len > 0) {
        strbuf_add(&sb, ", ");
        strbuf_add_bytes(&sb, frame->opaque_data, frame->opaque_data_len);
    }
}

/* ---- writing */

void send_forget(struct h2_transport *t, struct h2_stream *stream)
{
    list_remove(&stream->headers_link);
    list_remove(&stream->request_link);
    list_remove(&stream->writable_link);
    if (t->send.headers_of == stream) {
        t->send.headers_of = NULL;
    }
    if (t->send.request_of == stream) {
        t->send.request_of = NULL;
    }
}

static void tell_sent(struct h2_stream *stream, bool is_last)
{
    stream->request_sent = is_last;
    stream->ops->on_sent(stream, is_last);
}

/* Told here and not where frames are made, for there nghttp2 is on the stack. */
static void tell_room(struct h2_transport *t)
{
    struct list_node *node;
    while ((node = list_pop_front(&t->send.writable)) != NULL) {
        struct h2_stream *stream = LIST_ENTRY(node, struct h2_stream, writable_link);
        if (stream->ops->on_writable != NULL) {
            stream->ops->on_writable(stream);
        }
    }
}

/* The socket took bytes: streams whose HEADERS, or whose last byte, are among them are told. */
static void on_written(struct h2_transport *t, size_t wrote)
{
    const uint64_t at = t->send.written_bytes += wrote;
    struct list_node *node;
    while ((node = list_first(&t->send.headers_waiting)) != NULL) {
        struct h2_stream *stream = LIST_ENTRY(node, struct h2_stream, headers_link);
        if (stream->headers_end_at > at) {
            break;
        }
        list_remove(node);
        stream->headers_sent = true;
        tell_sent(stream, list_is_linked(&stream->request_link) && stream->request_end_at <= at);
    }
    while ((node = list_first(&t->send.request_waiting)) != NULL) {
        struct h2_stream *stream = LIST_ENTRY(node, struct h2_stream, request_link);
        if (stream->request_end_at > at) {
            break;
        }
        list_remove(node);
        if (!stream->request_sent) {
            tell_sent(stream, true);
        }
    }
    tell_room(t);
}

static void set_want(struct h2_transport *t)
{
    const unsigned want =
        LULL_WANT_READ | (t->send.unsent != NULL ? (unsigned)LULL_WANT_WRITE : 0u);
    const int failed = endpoint_want(t->endpoint, want);
    if (failed != 0) {
        transport_lose_errno(t, failed, "the connection cannot be watched");
    }
}

/*
 * A server may have answered, closed and so made our write fail: what it sent is still there and counts (RULINGS 19).
 */
static void on_write_failed(struct h2_transport *t)
{
    const int sys_errno = t->endpoint->sys_errno;
    char text[sizeof(t->end.text)];
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    endpoint_failure_text(t->endpoint, &sb);
    keepalive_glue_explain(t, sys_errno, &sb);
    t->send.is_broken = true;
    recv_rest(t);
    transport_finish_if_drained(t);
    transport_lose(t, H2_LOST_ERRNO, sys_errno, text);
}

/* Offers the rest of an earlier write. True: nothing is left of it. */
static bool write_unsent(struct h2_transport *t)
{
    size_t wrote;
    const enum io io = unsent_write(t->send.unsent, t->endpoint, &wrote);
    if (io == IO_FAIL || io == IO_EOF) {
        on_write_failed(t);
        return false;
    }
    on_written(t, wrote);
    if (!unsent_is_empty(t->send.unsent)) {
        t->send.is_blocked = true;
        return false;
    }
    unsent_free(t->send.unsent);
    t->send.unsent = NULL;
    set_want(t);
    if (!t->is_lost && h2_transport_can_open(t)) {
        t->ops->on_capacity(t);
    }
    return !t->is_lost;
}

/*
 * A long message is several writes, each a little longer than what a packet holds (of the loopback, 64 KiB) or not a multiple of it: the
 * rest would go as a small packet of its own, and wake the peer for it. True: the socket took all of it.
 */
static bool write_batch(struct h2_transport *t, struct batch *batch)
{
    size_t wrote = 0;
    const bool has_more = batch->is_full && nghttp2_session_want_write(t->session.nghttp2) != 0;
    const enum io io =
        (has_more ? endpoint_writev_more : endpoint_writev)(t->endpoint, batch->pieces, batch->count, &wrote);
    if (io == IO_FAIL || io == IO_EOF) {
        drop_batch(batch);
        on_write_failed(t);
        return false;
    }
    wrote = io == IO_OK ? wrote : 0;
    t->send.is_held = has_more && wrote == batch->total; /* of less the system keeps nothing back */
    if (wrote == batch->total) {
        drop_batch(batch);
        on_written(t, wrote);
        return true;
    }
    t->send.unsent = unsent_new(executor_allocator(t->executor), executor_counters(t->executor),
                                batch->pieces, batch->held, batch->count, wrote);
    on_written(t, wrote);
    if (t->send.unsent == NULL) {
        transport_lose(t, H2_LOST_NOMEM, 0, "no memory for unsent output");
        return false;
    }
    t->send.is_blocked = true;
    set_want(t);
    return false;
}

static void lose_by_session(struct h2_transport *t, int error)
{
    if (error == NGHTTP2_ERR_NOMEM || t->is_out_of_memory) {
        transport_lose(t, H2_LOST_NOMEM, 0, "no memory for HTTP/2 output");
    } else {
        transport_lose(t, H2_LOST_PROTOCOL, 0, nghttp2_strerror(error));
    }
}

/* There was no more after all: a window has run out. */
static void push_held(struct h2_transport *t)
{
    if (t->send.is_held) {
        t->send.is_held = false;
        endpoint_push(t->endpoint);
    }
}

/* Pulls one write's worth and writes it. True: go on, there may be more. */
static bool send_round(struct h2_transport *t)
{
    struct batch batch;
    int error;
    if (t->send.is_blocked || (t->send.unsent != NULL && !write_unsent(t))) {
        return false;
    }
    batch.count = 0;
    batch.buffer_len = 0;
    batch.total = 0;
    batch.is_full = false;
    batch.has_tail = false;
    batch.buffer = executor_write_buffer(t->executor);
    if (batch.buffer == NULL) {
        transport_lose(t, H2_LOST_NOMEM, 0, "no memory for the write buffer");
        return false;
    }
    t->send.batch = &batch;
    error = pull(t, &batch);
    t->send.batch = NULL;
    if (error != 0 || t->is_out_of_memory) {
        drop_batch(&batch);
        lose_by_session(t, error);
        return false;
    }
    if (batch.count == 0) {
        push_held(t);
        return false;
    }
    return write_batch(t, &batch) && batch.is_full;
}

void send_on_writable(struct h2_transport *t)
{
    t->send.is_blocked = false;
    executor_post_flush(t->executor, &t->flush);
}

void send_flush(struct h2_transport *t)
{
    int rounds = 0;
    if (t->send.is_broken || t->is_silent) {
        return;
    }
    while (!t->is_lost && send_round(t)) {
        if (++rounds == ROUNDS_MAX) {
            executor_post_flush(t->executor, &t->flush);
            return;
        }
    }
    if (t->send.has_given_up) {
        transport_lose(t, H2_LOST_PROTOCOL, 0, t->send.give_up_text);
    }
    transport_finish_if_drained(t);
}

bool send_is_through(const struct h2_transport *t)
{
    return t->send.is_broken ||
           (t->send.unsent == NULL && nghttp2_session_want_write(t->session.nghttp2) == 0);
}

void send_last(struct h2_transport *t, const uint8_t *bytes, size_t len)
{
    struct io_piece piece = {bytes, len};
    size_t wrote;
    if (t->is_silent || t->send.pulled_bytes == 0 || t->send.is_broken || t->send.is_within_block) {
        return;
    }
    if (t->send.unsent != NULL && (unsent_write(t->send.unsent, t->endpoint, &wrote) != IO_OK ||
                                   !unsent_is_empty(t->send.unsent))) {
        return;
    }
    (void)endpoint_writev(t->endpoint, &piece, 1, &wrote);
}
