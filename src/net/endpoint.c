/* SPDX-License-Identifier: MIT */
#include "net/endpoint.h"

#include <string.h>

#include "base/container.h"
#include "base/strbuf.h"

/* The ready list has reached us. */
static void on_listed(struct lull_task *task, struct lull_executor *executor)
{
    struct endpoint *endpoint = container_of(task, struct endpoint, watch.on_ready);
    unsigned ready = endpoint->watch.ready;

    (void)executor;
    endpoint->watch.ready = LULL_WANT_NONE;
    endpoint_tell(endpoint, ready);
}

void endpoint_init(struct endpoint *endpoint, const struct endpoint_ops *ops,
                   struct lull_executor *executor, const struct addr *peer)
{
    memset(endpoint, 0, sizeof(*endpoint));
    endpoint->ops = ops;
    endpoint->executor = executor;
    endpoint->peer = *peer;
    endpoint->phase_text = "";
    endpoint->watch.fd = -1;
    lull_task_init(&endpoint->watch.on_ready, on_listed);
}

void endpoint_tell(struct endpoint *endpoint, unsigned ready)
{
    /* Between the report and now the owner may have lost interest. */
    ready &= endpoint->watch.want;
    if (ready != LULL_WANT_NONE && !endpoint->is_closed && endpoint->on_ready != NULL) {
        endpoint->on_ready(endpoint, ready);
    }
}

void endpoint_close(struct endpoint *endpoint)
{
    if (endpoint == NULL || endpoint->is_closed) {
        return;
    }
    endpoint->is_closed = true;
    endpoint->on_ready = NULL;
    endpoint->ops->close(endpoint);
}

enum io endpoint_fail(struct endpoint *endpoint, const char *phase_text, int sys_errno)
{
    endpoint->phase_text = phase_text;
    endpoint->sys_errno = sys_errno;
    endpoint->reason_text = NULL;
    return IO_FAIL;
}

enum io endpoint_fail_text(struct endpoint *endpoint, const char *phase_text, const char *reason)
{
    endpoint->phase_text = phase_text;
    endpoint->sys_errno = 0;
    endpoint->reason_text = reason;
    return IO_FAIL;
}

void endpoint_describe(const struct endpoint *endpoint, struct strbuf *sb)
{
    if (endpoint->ops->describe != NULL) {
        strbuf_add(sb, ", ");
        endpoint->ops->describe(endpoint, sb);
    }
}

/* "connection reset by peer (errno 104)" */
static void add_errno(struct strbuf *sb, int sys_errno)
{
    strbuf_errno(sb, sys_errno);
    strbuf_printf(sb, " (errno %d)", sys_errno);
}

void io_error_text(const char *phase_text, const struct addr *peer, int sys_errno, char *into,
                   size_t size)
{
    struct strbuf sb;

    strbuf_init(&sb, into, size);
    if (sys_errno != 0) {
        strbuf_printf(&sb, "%s %s: ", phase_text, peer->text);
        add_errno(&sb, sys_errno);
    }
}

void endpoint_failure_text(const struct endpoint *endpoint, struct strbuf *sb)
{
    strbuf_printf(sb, "%s failed: ", endpoint->phase_text);
    if (endpoint->reason_text != NULL) {
        strbuf_add(sb, endpoint->reason_text);
    } else {
        add_errno(sb, endpoint->sys_errno);
    }
}

void endpoint_error_text(const struct endpoint *endpoint, char *into, size_t size)
{
    struct strbuf sb;

    if (endpoint->reason_text == NULL) {
        io_error_text(endpoint->phase_text, &endpoint->peer, endpoint->sys_errno, into, size);
        return;
    }
    strbuf_init(&sb, into, size);
    strbuf_printf(&sb, "%s %s: %s", endpoint->phase_text, endpoint->peer.text,
                  endpoint->reason_text);
}
