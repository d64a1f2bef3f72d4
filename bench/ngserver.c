/* SPDX-License-Identifier: MIT */
/*
 * The server of the benchmarks: as little as can answer, on nghttp2 and epoll, one thread. `ngserver CA_FILE` prints "PORT TLS_PORT RAW_PORT"
 * (0: there is none) and serves until its standard input ends.
 */
#define _GNU_SOURCE
#include "ngserver.h"

#include "common.h"
#include "tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct connection {
    int fd;
    bool is_listener, is_input, is_shaken;
    struct bench_tls_ctx *tls_ctx; /* of a listener */
    struct bench_tls *tls;
    nghttp2_session *session;
    uint8_t *rest; /* what the socket did not take */
    size_t rest_len, rest_at;
    uint32_t events;
};

struct gather gather;
static int poll_fd;
static uint8_t input[256 * 1024];

static void watch(struct connection *connection, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = connection};

    if (connection->events != events) {
        epoll_ctl(poll_fd, connection->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, connection->fd, &event);
        connection->events = events;
    }
}

static void let_go(struct connection *connection)
{
    if (connection->session != NULL) {
        nghttp2_session_del(connection->session);
    }
    if (connection->tls != NULL) {
        bench_tls_close(connection->tls);
    }
    close(connection->fd);
    free(connection->rest);
    free(connection);
}

static ssize_t put(struct connection *connection, const uint8_t *bytes, size_t len)
{
    size_t at = 0;

    while (at < len) {
        ssize_t n = connection->tls != NULL ? bench_tls_write(connection->tls, bytes + at, len - at)
                                            : write(connection->fd, bytes + at, len - at);

        if (n < 0) {
            return errno == EAGAIN ? (ssize_t)at : -1;
        }
        at += (size_t)n;
    }
    return (ssize_t)at;
}

/* What is left of the last turn goes first. False: the connection is over. */
static bool put_rest(struct connection *connection)
{
    ssize_t n;

    if (connection->rest_at == connection->rest_len) {
        return true;
    }
    n = put(connection, connection->rest + connection->rest_at, connection->rest_len - connection->rest_at);
    if (n < 0) {
        return false;
    }
    connection->rest_at += (size_t)n;
    return true;
}

static bool fill(struct connection *connection)
{
    gather.len = 0;
    while (gather.len < GATHER_MAX) {
        const uint8_t *bytes;
        ssize_t n = nghttp2_session_mem_send(connection->session, &bytes);

        if (n < 0) {
            return false;
        }
        if (n == 0) {
            break;
        }
        memcpy(gather.bytes + gather.len, bytes, (size_t)n);
        gather.len += (size_t)n;
    }
    return true;
}

static bool flush(struct connection *connection)
{
    if (!put_rest(connection)) {
        return false;
    }
    while (connection->rest_at == connection->rest_len) {
        ssize_t n;

        if (!fill(connection)) {
            return false;
        }
        if (gather.len == 0) {
            break;
        }
        n = put(connection, gather.bytes, gather.len);
        if (n < 0) {
            return false;
        }
        if ((size_t)n < gather.len) {
            if (connection->rest == NULL) {
                connection->rest = bench_memory(GATHER_ROOM);
            }
            connection->rest_len = gather.len - (size_t)n;
            connection->rest_at = 0;
            memcpy(connection->rest, gather.bytes + n, connection->rest_len);
        }
    }
    watch(connection, connection->rest_at < connection->rest_len ? EPOLLIN | EPOLLOUT : EPOLLIN);
    return nghttp2_session_want_read(connection->session) || nghttp2_session_want_write(connection->session);
}

/* One read, or over TLS all that was decrypted. False: the connection is over. */
static bool take(struct connection *connection)
{
    for (;;) {
        ssize_t n = connection->tls != NULL ? bench_tls_read(connection->tls, input, sizeof(input))
                                            : read(connection->fd, input, sizeof(input));

        if (n <= 0) {
            return n < 0 && errno == EAGAIN;
        }
        if (nghttp2_session_mem_recv(connection->session, input, (size_t)n) != n) {
            return false;
        }
        if (connection->tls == NULL) {
            return true;
        }
    }
}

static bool shake(struct connection *connection)
{
    int rc = bench_tls_handshake(connection->tls);

    if (rc == 1) {
        connection->is_shaken = true;
        return true;
    }
    watch(connection, rc == -1 ? EPOLLIN | EPOLLOUT : EPOLLIN);
    return rc >= -1;
}

static void ready(struct connection *connection, uint32_t events)
{
    bool goes_on = true;

    if (connection->tls != NULL && !connection->is_shaken) {
        goes_on = shake(connection);
        if (goes_on && !connection->is_shaken) {
            return;
        }
    }
    if (goes_on && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
        goes_on = take(connection);
    }
    if (!goes_on || !flush(connection)) {
        let_go(connection);
    }
}

static void meet(struct connection *listener)
{
    int on = 1;
    int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct connection *connection;

    if (fd < 0) {
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    connection = bench_memory(sizeof(*connection));
    connection->fd = fd;
    connection->session = calls_session_new();
    if (connection->session == NULL) {
        bench_fail("nghttp2", "no session");
    }
    if (listener->tls_ctx != NULL) {
        connection->tls = bench_tls_open(listener->tls_ctx, fd, true);
    }
    watch(connection, EPOLLIN);
    if (connection->tls == NULL && !flush(connection)) { /* SETTINGS do not wait for the client's */
        let_go(connection);
    }
}

static int listen_any(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 || listen(fd, 4096) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        bench_fail("listen", NULL);
    }
    *port = ntohs(address.sin_port);
    bench_unpaced(fd); /* what it accepts takes after it */
    return fd;
}

/* 64 bytes in, 64 bytes out, blocking: a process of its own, for one connection at a time. */
static _Noreturn void serve_raw(int listener)
{
    char bytes[64];
    int on = 1;

    for (;;) {
        int fd = accept(listener, NULL, NULL);
        ssize_t n;

        if (fd < 0) {
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
            if (write(fd, bytes, (size_t)n) != n) {
                break;
            }
        }
        close(fd);
    }
}

static int start_raw(pid_t *child)
{
    int port;
    int fd = listen_any(&port);

    *child = fork();
    if (*child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        serve_raw(fd);
    }
    close(fd);
    return port;
}

static int start_listener(struct bench_tls_ctx *ctx)
{
    struct connection *listener = bench_memory(sizeof(*listener));
    int port;

    listener->fd = listen_any(&port);
    fcntl(listener->fd, F_SETFL, O_NONBLOCK);
    listener->is_listener = true;
    listener->tls_ctx = ctx;
    watch(listener, EPOLLIN);
    return port;
}

/* True when standard input ended. */
static bool turn(void)
{
    struct epoll_event events[256];
    int n = epoll_wait(poll_fd, events, 256, -1);
    int i;

    for (i = 0; i < n; i++) {
        struct connection *connection = events[i].data.ptr;

        if (connection->is_input) {
            char byte;

            if (read(STDIN_FILENO, &byte, 1) <= 0) {
                return true;
            }
        } else if (connection->is_listener) {
            meet(connection);
        } else {
            ready(connection, events[i].events);
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    struct connection standard_input = {.fd = STDIN_FILENO, .is_input = true};
    struct bench_tls_ctx *tls;
    int port, raw_port, tls_port = 0;
    pid_t raw;

    if (argc != 2) {
        bench_fail("usage", "ngserver CA_FILE");
    }
    signal(SIGPIPE, SIG_IGN);
    bench_all_files();
    raw_port = start_raw(&raw);
    gather.bytes = bench_memory(GATHER_ROOM);
    poll_fd = epoll_create1(EPOLL_CLOEXEC);
    watch(&standard_input, EPOLLIN);
    port = start_listener(NULL);
    tls = bench_tls_server(argv[1]);
    if (tls != NULL) {
        tls_port = start_listener(tls);
    }
    printf("%d %d %d\n", port, tls_port, raw_port);
    fflush(stdout);
    while (!turn()) {
    }
    kill(raw, SIGKILL);
    return 0;
}
