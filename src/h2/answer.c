/* SPDX-License-Identifier: MIT */
/*
 * Answering. See answer.h.
 */
#include "h2/answer.h"

#include <string.h>

#include "base/invariant.h"
#include "base/mem.h"
#include "h2/inner.h"

/* Trailers that are more than a status, while they wait. */
struct answer {
    struct metadata_list trailers;
    char message[]; /* grpc-message, not encoded */
};

void answer_drop(struct h2_stream *stream)
{
    struct answer *answer = stream->answer;
    if (answer != NULL) {
        metadata_list_fini(&answer->trailers);
        mem_release(executor_allocator(stream->transport->executor), answer);
        stream->answer = NULL;
    }
}

void answer_plain(struct h2_transport *t, int32_t id, const struct headers_answer *answer)
{
    nghttp2_nv *fields;
    size_t count;
    if (headers_build_answer(t, answer, &fields, &count) != LULL_OK ||
        nghttp2_submit_response(t->session.nghttp2, id, fields, count, NULL) != 0) {
        t->is_out_of_memory = true;
    }
}

void answer_on_ended(struct h2_transport *t, int32_t id)
{
    if (nghttp2_session_get_stream_remote_close(t->session.nghttp2, id) == 0 &&
        nghttp2_submit_rst_stream(t->session.nghttp2, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR) !=
            0) {
        t->is_out_of_memory = true;
    }
}

/* ---- trailers that wait */

/* Keeps a copy. A bare status needs none. Too large is said now, not when its turn comes. */
static int keep(struct h2_stream *stream, const char *message, const struct lull_metadata *trailers)
{
    const struct lull_allocator *allocator = executor_allocator(stream->transport->executor);
    const size_t len = message == NULL ? 0 : strlen(message);
    const struct headers_answer what = {
        .has_grpc_status = true, .grpc_message = message, .metadata = trailers};
    struct answer *answer;
    if (len == 0 && (trailers == NULL || trailers->count == 0)) {
        return LULL_OK;
    }
    if (headers_answer_bytes(&what) > HEADERS_BLOCK_MAX_BYTES) {
        return LULL_RC_LIMIT;
    }
    answer = mem_alloc(allocator, sizeof(*answer) + len + 1);
    if (answer == NULL) {
        return LULL_RC_NOMEM;
    }
    executor_counters(stream->transport->executor)->allocations++;
    metadata_list_init(&answer->trailers, allocator, 0);
    if (len != 0) {
        memcpy(answer->message, message, len);
    }
    answer->message[len] = '\0';
    stream->answer = answer;
    if (metadata_list_add_all(&answer->trailers, trailers) != LULL_OK) {
        answer_drop(stream);
        return LULL_RC_NOMEM;
    }
    return LULL_OK;
}

static int submit_trailers(struct h2_stream *stream, const char *message,
                           const struct lull_metadata *trailers)
{
    struct h2_transport *t = stream->transport;
    const struct headers_answer what = {.has_grpc_status = true,
                                        .grpc_status = stream->grpc_status,
                                        .grpc_message = message,
                                        .metadata = trailers};
    nghttp2_nv *fields;
    size_t count;
    int rc = headers_build_answer(t, &what, &fields, &count);
    if (rc == LULL_OK &&
        nghttp2_submit_trailer(t->session.nghttp2, stream->id, fields, count) != 0) {
        rc = LULL_RC_NOMEM;
    }
    return rc;
}

static int submit_head(struct h2_stream *stream, const struct headers_answer *what, bool ends)
{
    struct h2_transport *t = stream->transport;
    const nghttp2_data_provider body = {{0}, send_read_data};
    nghttp2_nv *fields;
    size_t count;
    int rc = headers_build_answer(t, what, &fields, &count);
    if (rc == LULL_OK && nghttp2_submit_response(t->session.nghttp2, stream->id, fields, count,
                                                 ends ? NULL : &body) != 0) {
        rc = LULL_RC_NOMEM;
    }
    return rc;
}

static int submit_only(struct h2_stream *stream, const char *message,
                       const struct lull_metadata *trailers)
{
    const struct headers_answer only = {.http_status = "200",
                                        .content_type = "application/grpc",
                                        .has_grpc_status = true,
                                        .grpc_status = stream->grpc_status,
                                        .grpc_message = message,
                                        .metadata = trailers};
    return submit_head(stream, &only, true);
}

void answer_fault(struct h2_stream *stream, unsigned grpc_status, const char *text)
{
    stream->grpc_status = grpc_status;
    if ((stream->has_responded ? submit_trailers(stream, text, NULL)
                               : submit_only(stream, text, NULL)) != LULL_OK) {
        stream->transport->is_out_of_memory = true;
    }
}

void answer_on_last_data(struct h2_stream *stream)
{
    struct lull_metadata view = {0};
    if (stream->answer != NULL) {
        view = metadata_list_view(&stream->answer->trailers);
    }
    if (submit_trailers(stream, stream->answer == NULL ? NULL : stream->answer->message, &view) !=
        LULL_OK) {
        stream->transport->is_out_of_memory = true;
    }
    answer_drop(stream);
}

/* ---- an owner's verbs */

static int judge(const struct h2_stream *stream)
{
    if (stream->transport == NULL || stream->has_local_end) {
        return LULL_RC_CLOSED;
    }
    LULL_INVARIANT(stream->transport->server_ops != NULL, "a client answers");
    LULL_INVARIANT(!stream->transport->session.is_busy,
                   "an answer is given while nghttp2 is on the stack");
    return stream->has_trailers ? LULL_RC_STATE : LULL_OK;
}

int h2_stream_respond(struct h2_stream *stream, const struct lull_metadata *headers)
{
    const struct headers_answer what = {
        .http_status = "200", .content_type = "application/grpc", .metadata = headers};
    int rc = judge(stream);
    if (rc == LULL_OK && stream->has_responded) {
        rc = LULL_RC_STATE;
    }
    if (rc == LULL_OK) {
        rc = submit_head(stream, &what, false);
    }
    if (rc == LULL_OK) {
        stream->has_responded = true;
        executor_post_flush(stream->transport->executor, &stream->transport->flush);
    }
    return rc;
}

int h2_stream_trailers(struct h2_stream *stream, unsigned grpc_status, const char *grpc_message,
                       const struct lull_metadata *trailers)
{
    int rc = judge(stream);
    if (rc != LULL_OK) {
        return rc;
    }
    stream->grpc_status = grpc_status;
    if (!stream->has_responded) {
        rc = submit_only(stream, grpc_message, trailers);
    } else if (stream->out.bytes == 0) {
        rc = submit_trailers(stream, grpc_message, trailers);
    } else {
        rc = keep(stream, grpc_message, trailers);
    }
    if (rc == LULL_OK) {
        stream->has_trailers = true;
        stream->out.ends = true;
        outbox_seal(&stream->out);
        executor_post_flush(stream->transport->executor, &stream->transport->flush);
    }
    return rc;
}

int h2_stream_cut_short(struct h2_stream *stream, unsigned grpc_status, const char *grpc_message)
{
    const int rc = judge(stream);
    if (rc == LULL_RC_CLOSED) {
        return rc;
    }
    if (stream->has_trailers && stream->out.bytes == 0) {
        return LULL_OK;
    }
    if (outbox_has_begun(&stream->out)) {
        return LULL_RC_STATE;
    }
    outbox_clear(stream->transport, &stream->out);
    answer_drop(stream);
    stream->has_trailers = false;
    return h2_stream_trailers(stream, grpc_status, grpc_message, NULL);
}
