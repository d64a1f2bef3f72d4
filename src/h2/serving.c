/* SPDX-License-Identifier: MIT */
/*
 * The server's role as an object. See serving.h.
 */
#include "h2/serving.h"

#include "base/invariant.h"
#include "h2/inner.h"

int h2_transport_new_server(struct lull_executor *executor, struct endpoint *endpoint,
                            const struct h2_transport_options *options,
                            const struct h2_server_ops *ops, void *owner, struct h2_transport **out)
{
    return transport_start(executor, endpoint, options, &ops->transport, ops, owner, out);
}

int h2_transport_shutdown(struct h2_transport *transport, const char *why)
{
    LULL_INVARIANT(transport->server_ops != NULL, "a client shuts down");
    LULL_INVARIANT(!transport->session.is_busy, "a shutdown while nghttp2 is on the stack");
    return transport->is_lost ? LULL_OK : goaway_start(transport, why);
}

int h2_transport_shutdown_now(struct h2_transport *transport)
{
    LULL_INVARIANT(!transport->session.is_busy, "a shutdown while nghttp2 is on the stack");
    return transport->is_lost ? LULL_OK : goaway_finish(transport);
}

void serving_on_fault(struct h2_transport *t, int32_t stream_id, uint32_t code)
{
    if (transport_is_server(t) && t->server_ops->on_reset != NULL) {
        t->server_ops->on_reset(t, stream_id, code, lull_executor_now(t->executor));
    }
}

void h2_transport_set_silent(struct h2_transport *transport, bool is_silent)
{
    struct h2_transport *t = transport;
    int failed;
    LULL_INVARIANT(!t->session.is_busy, "silence while nghttp2 is on the stack");
    if (t->is_lost || t->is_silent == is_silent) {
        return;
    }
    t->is_silent = is_silent;
    failed = endpoint_want(t->endpoint, is_silent ? (unsigned)LULL_WANT_NONE
                                        : t->send.unsent != NULL
                                            ? (unsigned)LULL_WANT_READ | LULL_WANT_WRITE
                                            : (unsigned)LULL_WANT_READ);
    if (failed != 0) {
        transport_lose_errno(t, failed, "the connection cannot be watched");
        return;
    }
    if (!is_silent) {
        executor_post_ready(t->executor, &t->recv.again);
        executor_post_flush(t->executor, &t->flush);
    }
}

uint64_t h2_transport_answers_sent(const struct h2_transport *transport)
{
    return transport->send.answers;
}
