/* SPDX-License-Identifier: MIT */
/* accept4 is not in POSIX. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "net/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#ifdef __linux__
#include <linux/sockios.h>
#endif
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/invariant.h"
#include "net/endpoint.h"

#ifndef MSG_MORE
#define MSG_MORE 0
#endif

/* Counts the call and turns its result into 0 or an errno. Both names of "not now" are one. */
static int outcome(struct lull_counters *counters, int result)
{
    counters->syscalls++;
    if (result >= 0) {
        return 0;
    }
    return errno == EWOULDBLOCK ? EAGAIN : errno;
}

static int set_option(struct lull_counters *counters, int fd, int level, int name, int value)
{
    return outcome(counters, setsockopt(fd, level, name, &value, sizeof(value)));
}

int sys_socket(struct lull_counters *counters, int family, int *fd)
{
    *fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return outcome(counters, *fd);
}

int sys_socketpair(struct lull_counters *counters, int fds[2])
{
    return outcome(counters,
                   socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds));
}

int sys_connect(struct lull_counters *counters, int fd, const struct addr *to)
{
    int err = outcome(counters, connect(fd, (const struct sockaddr *)&to->storage, to->len));

    /* An interrupted connect goes on by itself (POSIX, connect); calling it again would say
     * EALREADY. */
    return err == EINTR ? EINPROGRESS : err;
}

int sys_socket_error(struct lull_counters *counters, int fd)
{
    int waiting = 0;
    socklen_t len = sizeof(waiting);
    int err = outcome(counters, getsockopt(fd, SOL_SOCKET, SO_ERROR, &waiting, &len));

    return err != 0 ? err : waiting;
}

int sys_is_connected(struct lull_counters *counters, int fd)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof(peer);

    return outcome(counters, getpeername(fd, (struct sockaddr *)&peer, &len));
}

int sys_read(struct lull_counters *counters, int fd, void *into, size_t capacity, size_t *got)
{
    *got = 0;
    for (;;) {
        ssize_t n = recv(fd, into, capacity, 0);

        counters->reads++;
        int err = outcome(counters, n < 0 ? -1 : 0);
        if (err == 0) {
            *got = (size_t)n;
        }
        if (err != EINTR) {
            return err;
        }
    }
}

int sys_writev(struct lull_counters *counters, int fd, const struct io_piece *pieces, size_t count,
               bool more_follows, size_t *wrote)
{
    const int flags = more_follows ? MSG_NOSIGNAL | MSG_MORE : MSG_NOSIGNAL;
    struct iovec parts[IO_PIECES_MAX];
    struct msghdr message = {.msg_iov = parts};

    LULL_INVARIANT(count <= IO_PIECES_MAX, "more pieces than one write takes");
    for (size_t i = 0; i < count; i++) {
        /* iovec has no const; sendmsg only reads. */
        parts[i].iov_base = (void *)(uintptr_t)pieces[i].data;
        parts[i].iov_len = pieces[i].len;
    }
    message.msg_iovlen = (unsigned short)count; /* size_t for glibc, int for musl */
    *wrote = 0;
    for (;;) {
        /* One piece is the usual case: 150 ns less on the way through the kernel. */
        ssize_t n = count == 1 ? send(fd, pieces[0].data, pieces[0].len, flags) : sendmsg(fd, &message, flags);

        counters->writes++;
        int err = outcome(counters, n < 0 ? -1 : 0);
        if (err == 0) {
            *wrote = (size_t)n;
        }
        if (err != EINTR) {
            return err;
        }
    }
}

void sys_close(struct lull_counters *counters, int fd)
{
    /* Not repeated when interrupted: Linux has freed the number by then, and another thread may
     * have it. */
    (void)outcome(counters, close(fd));
}

int sys_set_nodelay(struct lull_counters *counters, int fd)
{
    return set_option(counters, fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

int sys_set_keepalive(struct lull_counters *counters, int fd, int idle_s, int interval_s,
                      int probes)
{
    int err;

    if (idle_s == 0) {
        return set_option(counters, fd, SOL_SOCKET, SO_KEEPALIVE, 0);
    }
    err = set_option(counters, fd, IPPROTO_TCP, TCP_KEEPIDLE, idle_s);
    if (err == 0) {
        err = set_option(counters, fd, IPPROTO_TCP, TCP_KEEPINTVL, interval_s);
    }
    if (err == 0) {
        err = set_option(counters, fd, IPPROTO_TCP, TCP_KEEPCNT, probes);
    }
    if (err == 0) {
        err = set_option(counters, fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    }
    return err;
}

int sys_set_user_timeout(struct lull_counters *counters, int fd, unsigned timeout_ms)
{
    return outcome(counters,
                   setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms)));
}

bool sys_has_unacknowledged(struct lull_counters *counters, int fd)
{
#ifdef SIOCOUTQ
    int bytes = 0;
    return outcome(counters, ioctl(fd, SIOCOUTQ, &bytes)) == 0 && bytes > 0;
#else
    (void)counters;
    (void)fd;
    return false;
#endif
}

/* Newer than many headers; the number is the kernel's for good. */
#if defined(__linux__) && !defined(TCP_RTO_MAX_MS)
#define TCP_RTO_MAX_MS 44
#endif

int sys_set_resend_limit(struct lull_counters *counters, int fd, unsigned limit_ms)
{
#ifdef TCP_RTO_MAX_MS
    return set_option(counters, fd, IPPROTO_TCP, TCP_RTO_MAX_MS, (int)limit_ms);
#else
    (void)counters;
    (void)fd;
    (void)limit_ms;
    return ENOPROTOOPT;
#endif
}

int sys_bind(struct lull_counters *counters, int fd, const struct addr *to)
{
    if (to->storage.ss_family != AF_UNIX) {
        int err = set_option(counters, fd, SOL_SOCKET, SO_REUSEADDR, 1);
        if (err != 0) {
            return err;
        }
    }
    return outcome(counters, bind(fd, (const struct sockaddr *)&to->storage, to->len));
}

int sys_listen(struct lull_counters *counters, int fd, int backlog)
{
    return outcome(counters, listen(fd, backlog));
}

int sys_accept(struct lull_counters *counters, int listener, int *fd, struct addr *peer)
{
    struct sockaddr_storage from;
    socklen_t len;
    int err;

    do {
        len = sizeof(from);
        *fd = accept4(listener, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        err = outcome(counters, *fd);
    } while (err == EINTR);
    if (err == 0 && peer != NULL) {
        addr_from_sockaddr(peer, (const struct sockaddr *)&from, len);
    }
    return err;
}

int sys_getsockname(struct lull_counters *counters, int fd, struct addr *out)
{
    struct sockaddr_storage own;
    socklen_t len = sizeof(own);
    int err = outcome(counters, getsockname(fd, (struct sockaddr *)&own, &len));

    if (err == 0) {
        addr_from_sockaddr(out, (const struct sockaddr *)&own, len);
    }
    return err;
}

void sys_unlink(struct lull_counters *counters, const struct addr *at)
{
    const struct sockaddr_un *sun = (const struct sockaddr_un *)&at->storage;

    /* addr_from_unix ends a path with a NUL; an abstract name begins with one. */
    if (sun->sun_family == AF_UNIX && sun->sun_path[0] != '\0') {
        (void)outcome(counters, unlink(sun->sun_path));
    }
}

int sys_look_at(int fd, struct sys_socket_facts *facts)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof(facts->type);
    int is_listening = 0;

    memset(facts, 0, sizeof(*facts));
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &facts->type, &len) != 0) {
        return errno;
    }
    len = sizeof(is_listening);
    /* Not every kind of socket knows the word; one that does not cannot listen. */
    facts->is_listening =
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &len) == 0 && is_listening != 0;
    len = sizeof(peer);
    if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0) {
        facts->is_connected = true;
        addr_from_sockaddr(&facts->peer, (const struct sockaddr *)&peer, len);
        return 0;
    }
    return errno == ENOTCONN || facts->type != SOCK_STREAM ? 0 : errno;
}

static int add_flag(struct lull_counters *counters, int fd, int get, int set, int flag)
{
    const int flags = fcntl(fd, get);
    int err = outcome(counters, flags);

    if (err == 0 && (flags & flag) == 0) {
        err = outcome(counters, fcntl(fd, set, flags | flag));
    }
    return err;
}

int sys_set_nonblocking(struct lull_counters *counters, int fd)
{
    return add_flag(counters, fd, F_GETFL, F_SETFL, O_NONBLOCK);
}

int sys_set_cloexec(struct lull_counters *counters, int fd)
{
    return add_flag(counters, fd, F_GETFD, F_SETFD, FD_CLOEXEC);
}

uint32_t sys_interface_index(const char *name)
{
    return if_nametoindex(name);
}
