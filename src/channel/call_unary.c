/* SPDX-License-Identifier: MIT */
/*
 * Unary calls. See call_unary.h.
 */
#include "channel/call_unary.h"

#include "base/rc.h"
#include "base/slice.h"
#include "channel/call.h"
#include "channel/call_start.h"

void call_unary_collect(struct lull_call *call, struct lull_slice message)
{
    if (call->response.messages == 1) {
        call->message = message;
    } else {
        lull_slice_unref(message);
    }
}

static void on_closed(struct lull_call *call, const struct lull_status *status,
                      const struct lull_metadata *trailers, void *ctx)
{
    bool is_ok = status->code == LULL_CODE_OK;
    struct lull_unary_result result = {
        .size = sizeof(result),
        .status = *status,
        .headers = call_arena_view(call->arena, &call->arena->headers),
        .trailers = *trailers,
        .message = is_ok ? call->message : lull_slice_static(NULL, 0),
    };
    call->done(call, &result, ctx);
}

static const struct lull_call_handler unary_handler = {
    .size = sizeof(unary_handler),
    .on_closed = on_closed,
};

int lull_call_unary(struct lull_channel *channel, const struct lull_call_options *options,
                    struct lull_slice request, lull_unary_fn done, void *ctx,
                    struct lull_call **out, struct lull_error *error)
{
    if (done == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "done is NULL");
    }
    struct lull_call_options room;
    int rc = call_options_settle(&options, &room, error);
    if (rc == LULL_OK) {
        rc = call_check(channel, options, error);
    }
    if (rc != LULL_OK) {
        return rc;
    }
    if (slice_points_nowhere(request)) {
        return rc_fail(error, LULL_RC_INVALID, "request's data is NULL, its length %zu",
                       request.len);
    }
    if (request.len > channel->options.max_send_message_bytes) {
        return rc_fail(error, LULL_RC_LIMIT,
                       "request of %zu bytes, above max_send_message_bytes %u", request.len,
                       channel->options.max_send_message_bytes);
    }
    struct call_unary_start unary = {.done = done, .request = request};
    return call_start(channel, options, &unary_handler, ctx, &unary, out, error);
}
