/* SPDX-License-Identifier: MIT */
#include "net/dial_fd.h"

#include <errno.h>
#include <string.h>

#include "base/container.h"
#include "base/rc.h"
#include "base/strbuf.h"
#include "exec/executor.h"
#include "net/endpoint_tcp.h"
#include "net/sys.h"

void dial_fd_name(int fd, char name[DIAL_FD_NAME_BYTES])
{
    struct strbuf sb;

    strbuf_init(&sb, name, DIAL_FD_NAME_BYTES);
    strbuf_printf(&sb, "fd:%d", fd);
}

/* "fd:7 (127.0.0.1:80)"; the other end of a socketpair, or of whoever bound to nothing, has no name. */
static void name_peer(int fd, struct addr *peer)
{
    char own[ADDR_TEXT_BYTES];
    struct strbuf sb;

    strbuf_init(&sb, own, sizeof(own));
    strbuf_add(&sb, peer->text);
    const bool has_name = own[0] != '\0' && strcmp(own, "unix:") != 0;

    dial_fd_name(fd, peer->text);
    if (has_name) {
        const size_t len = strlen(peer->text);

        strbuf_init(&sb, peer->text + len, sizeof(peer->text) - len);
        strbuf_printf(&sb, " (%s)", own);
    }
}

static const char *type_text(int type)
{
    switch (type) {
    case SOCK_DGRAM:
        return "of datagrams";
    case SOCK_SEQPACKET:
        return "of packets";
    default:
        return "of another kind";
    }
}

int dial_fd_check(int fd, struct addr *peer, struct lull_error *error)
{
    struct sys_socket_facts facts;
    const int err = sys_look_at(fd, &facts);

    if (err == EBADF) {
        return rc_fail(error, LULL_RC_INVALID, "fd %d is not open", fd);
    }
    if (err == ENOTSOCK) {
        return rc_fail(error, LULL_RC_INVALID, "fd %d is no socket", fd);
    }
    if (err != 0) {
        return rc_fail(error, LULL_RC_INVALID, "fd %d cannot be looked at: errno %d", fd, err);
    }
    if (facts.type != SOCK_STREAM) {
        return rc_fail(error, LULL_RC_INVALID, "fd %d is a socket %s: a stream is needed", fd, type_text(facts.type));
    }
    if (facts.is_listening) {
        return rc_fail(error, LULL_RC_INVALID, "fd %d listens: a connection that it has accepted is needed", fd);
    }
    if (!facts.is_connected) {
        return rc_fail(error, LULL_RC_INVALID,
                       "fd %d is not connected: its connect was not asked for, is not over, or has failed", fd);
    }
    *peer = facts.peer;
    name_peer(fd, peer);
    return LULL_OK;
}

/* It may be one that blocks: that is a property of the description, and changed when nobody else is to use it any more. */
static int dial_once(struct lull_dialer *base, struct lull_loop *loop, struct lull_executor *executor,
                     const struct addr *to, struct endpoint **out)
{
    struct dialer_fd *dialer = container_of(base, struct dialer_fd, base);
    int err = dialer->fd < 0 ? EBADF : sys_set_nonblocking(executor_counters(executor), dialer->fd);

    if (err == 0) {
        err = endpoint_tcp_adopt(loop, executor, dialer->fd, to, out);
    }
    if (err == 0) {
        dialer->fd = -1;
    }
    return err;
}

static const struct dialer_ops once_ops = {.dial = dial_once};

void dialer_fd_init(struct dialer_fd *dialer)
{
    dialer->base.ops = &once_ops;
    dialer->fd = -1;
}

void dialer_fd_take(struct dialer_fd *dialer, struct lull_executor *executor, int fd)
{
    dialer->fd = fd;
    /* Best effort, as all that only keeps a descriptor from strangers. */
    (void)sys_set_cloexec(executor_counters(executor), fd);
}

void dialer_fd_drop(struct dialer_fd *dialer, struct lull_executor *executor)
{
    if (dialer->fd >= 0) {
        sys_close(executor_counters(executor), dialer->fd);
        dialer->fd = -1;
    }
}
