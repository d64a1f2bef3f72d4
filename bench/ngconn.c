/* SPDX-License-Identifier: MIT */
/* See ngclient.h: a connection, a session on it, and gRPC's message prefixes. */
#include "ngclient.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define OUT_MAX  ((size_t)64 * 1024)
#define OUT_ROOM (OUT_MAX + 32 * 1024)
#define WINDOW   (256 * 1024)       /* what lull has by default */
#define WINDOW_CONNECTION (1024 * 1024)

static uint8_t out[OUT_ROOM]; /* a turn of one connection at a time */

static nghttp2_nv pair(const char *name, const char *value)
{
    nghttp2_nv nv = {(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value),
                     NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};

    return nv;
}

uint8_t *ng_message(size_t size)
{
    uint8_t *message = bench_memory(size + PREFIX);

    message[1] = (uint8_t)(size >> 24);
    message[2] = (uint8_t)(size >> 16);
    message[3] = (uint8_t)(size >> 8);
    message[4] = (uint8_t)size;
    return message;
}

static ssize_t on_read(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length, uint32_t *flags,
                       nghttp2_data_source *source, void *ctx)
{
    struct ngcall *call = source->ptr;
    struct ng *ng = ctx;
    size_t left;

    if (call->repeats && call->body_at == call->body_len) {
        call->body_at = 0;
    }
    left = call->body_len - call->body_at;
    (void)session;
    (void)id;
    (void)buf;
    if (left == 0 && call->is_open) {
        call->waits = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    if (ng->frame_max != 0 && left > ng->frame_max) {
        left = ng->frame_max;
    }
    if (left > length) {
        left = length;
    }
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (!call->is_open && call->body_at + left == call->body_len) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return (ssize_t)left;
}

static int on_send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t length,
                        nghttp2_data_source *source, void *ctx)
{
    struct ngcall *call = source->ptr;
    struct ng *ng = ctx;

    (void)session;
    (void)frame;
    if (ng->out_len + 9 + length > OUT_ROOM) {
        return NGHTTP2_ERR_WOULDBLOCK;
    }
    memcpy(ng->out + ng->out_len, head, 9);
    memcpy(ng->out + ng->out_len + 9, call->body + call->body_at, length);
    ng->out_len += 9 + length;
    call->body_at += length;
    ng->sent += length;
    return 0;
}

/* The rest of a message that began earlier. */
static size_t join(struct ng *ng, struct ngcall *call, const uint8_t *data, size_t len)
{
    size_t used = 0;

    if (call->head_len < PREFIX) {
        used = PREFIX - call->head_len < len ? PREFIX - call->head_len : len;
        memcpy(call->head + call->head_len, data, used);
        call->head_len += (uint32_t)used;
        if (call->head_len < PREFIX) {
            return used;
        }
        call->need = (uint32_t)call->head[1] << 24 | (uint32_t)call->head[2] << 16 | (uint32_t)call->head[3] << 8 | call->head[4];
        call->message_len = 0;
        if (call->need > call->message_room) {
            free(call->message);
            call->message = bench_memory(call->need);
            call->message_room = call->need;
        }
    }
    len -= used;
    if (len > call->need - call->message_len) {
        len = call->need - call->message_len;
    }
    if (len > 0) {
        memcpy(call->message + call->message_len, data + used, len);
        call->message_len += (uint32_t)len;
    }
    if (call->message_len == call->need) {
        call->head_len = 0;
        ng->on_message(ng, call, call->message, call->need);
    }
    return used + len;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *ctx)
{
    struct ng *ng = ctx;
    struct ngcall *call = nghttp2_session_get_stream_user_data(session, id);

    (void)flags;
    while (len > 0) {
        size_t used;

        if (call->head_len == 0 && len >= PREFIX) {
            uint32_t need = (uint32_t)data[1] << 24 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 8 | data[4];

            if (len - PREFIX >= need) {
                ng->on_message(ng, call, data + PREFIX, need);
                data += PREFIX + need;
                len -= PREFIX + need;
                continue;
            }
        }
        used = join(ng, call, data, len);
        data += used;
        len -= used;
    }
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
                     const uint8_t *value, size_t value_len, uint8_t flags, void *ctx)
{
    (void)session;
    (void)frame;
    (void)flags;
    (void)ctx;
    if (name_len == 11 && memcmp(name, "grpc-status", 11) == 0 && !(value_len == 1 && *value == '0')) {
        bench_fail("grpc-status", "not 0");
    }
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct ng *ng = ctx;

    (void)session;
    if (frame->hd.type == NGHTTP2_SETTINGS && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
        ng->is_ready = true;
    }
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
    struct ng *ng = ctx;
    struct ngcall *call = nghttp2_session_get_stream_user_data(session, id);

    if (code != 0) {
        bench_fail("stream", "closed with an error");
    }
    if (call != NULL && ng->on_closed != NULL) {
        ng->on_closed(ng, call);
    }
    return 0;
}

static nghttp2_session *make_session(struct ng *ng)
{
    static nghttp2_session_callbacks *callbacks;
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}, {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW}};
    nghttp2_session *session;

    if (callbacks == NULL) {
        nghttp2_session_callbacks_new(&callbacks);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
        nghttp2_session_callbacks_set_send_data_callback(callbacks, on_send_data);
    }
    if (nghttp2_session_client_new(&session, callbacks, ng) != 0) {
        bench_fail("nghttp2", "no session");
    }
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 2);
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, WINDOW_CONNECTION);
    return session;
}

static uint64_t syscalls_of(void *ctx)
{
    return ((struct ng *)ctx)->syscalls;
}

void ng_init(struct ng *ng, const struct bench_args *args, bool polls)
{
    memset(ng, 0, sizeof(*ng));
    ng->args = *args;
    ng->polls = polls;
    ng->meter.syscalls = syscalls_of;
    ng->meter.syscalls_ctx = ng;
    ng->out = out;
    if (args->ca != NULL) {
        ng->tls_ctx = bench_tls_client(args->ca);
        if (ng->tls_ctx == NULL) {
            bench_missing("built without OpenSSL");
        }
    }
}

void ng_open(struct ng *ng)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN};
    int on = 1;

    address.sin_port = htons((uint16_t)ng->args.port);
    ng->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (strncmp(ng->args.mode, "big", 3) == 0) {
        bench_unpaced(ng->fd);
    }
    if (ng->fd < 0 || connect(ng->fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        bench_fail("connect", NULL);
    }
    setsockopt(ng->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (ng->tls_ctx != NULL) {
        ng->tls = bench_tls_open(ng->tls_ctx, ng->fd, false);
        if (bench_tls_handshake(ng->tls) != 1) {
            bench_fail("TLS", "the handshake failed");
        }
    }
    if (ng->polls) {
        fcntl(ng->fd, F_SETFL, O_NONBLOCK);
        ng->poll_fd = epoll_create1(EPOLL_CLOEXEC);
        epoll_ctl(ng->poll_fd, EPOLL_CTL_ADD, ng->fd, &event);
    }
    ng->session = make_session(ng);
    ng->out_len = ng->out_at = 0;
    ng->is_ready = false;
}

void ng_close(struct ng *ng)
{
    nghttp2_session_del(ng->session);
    if (ng->tls != NULL) {
        bench_tls_close(ng->tls);
        ng->tls = NULL;
    }
    if (ng->polls) {
        close(ng->poll_fd);
    }
    close(ng->fd);
}

void ng_start(struct ng *ng, struct ngcall *call, const char *path)
{
    nghttp2_nv headers[] = {pair(":method", "POST"),
                            pair(":scheme", ng->tls != NULL ? "https" : "http"),
                            pair(":path", path),
                            pair(":authority", "127.0.0.1"),
                            pair("te", "trailers"),
                            pair("content-type", "application/grpc"),
                            pair("user-agent", "bench"),
                            pair("grpc-timeout", "10S")}; /* field=1 */
    nghttp2_data_provider provider = {{.ptr = call}, on_read};

    call->ng = ng;
    call->body_at = 0;
    call->head_len = 0;
    call->waits = false;
    call->id = nghttp2_submit_request(ng->session, NULL, headers, ng->args.field ? 8 : 7, &provider, call);
    if (call->id < 0) {
        bench_fail("nghttp2", nghttp2_strerror(call->id));
    }
}

void ng_more(struct ng *ng, struct ngcall *call)
{
    call->body_at = 0;
    if (call->waits) {
        call->waits = false;
        nghttp2_session_resume_data(ng->session, call->id);
    }
}

/* False: the socket takes no more now. */
static bool put(struct ng *ng)
{
    while (ng->out_at < ng->out_len) {
        ssize_t n = ng->tls != NULL ? bench_tls_write(ng->tls, ng->out + ng->out_at, ng->out_len - ng->out_at)
                                    : write(ng->fd, ng->out + ng->out_at, ng->out_len - ng->out_at);

        ng->syscalls++;
        if (n < 0) {
            if (errno == EAGAIN) {
                return false;
            }
            bench_fail("write", NULL);
        }
        ng->out_at += (size_t)n;
    }
    ng->out_at = ng->out_len = 0;
    return true;
}

static bool flush(struct ng *ng)
{
    for (;;) {
        if (!put(ng)) {
            return false;
        }
        while (ng->out_len < OUT_MAX) {
            const uint8_t *bytes;
            ssize_t n = nghttp2_session_mem_send(ng->session, &bytes);

            if (n < 0) {
                bench_fail("nghttp2", nghttp2_strerror((int)n));
            }
            if (n == 0) {
                break;
            }
            memcpy(ng->out + ng->out_len, bytes, (size_t)n);
            ng->out_len += (size_t)n;
        }
        if (ng->out_len == 0) {
            return true;
        }
    }
}

static void wait_for(struct ng *ng, bool writes)
{
    struct epoll_event event = {.events = writes ? EPOLLIN | EPOLLOUT : EPOLLIN};

    if (writes) {
        epoll_ctl(ng->poll_fd, EPOLL_CTL_MOD, ng->fd, &event);
        ng->syscalls++;
    }
    epoll_wait(ng->poll_fd, &event, 1, -1);
    ng->syscalls++;
    if (writes) {
        event.events = EPOLLIN;
        epoll_ctl(ng->poll_fd, EPOLL_CTL_MOD, ng->fd, &event);
        ng->syscalls++;
    }
}

void ng_turn(struct ng *ng)
{
    static uint8_t input[64 * 1024];
    bool is_flushed = flush(ng);

    if (ng->polls) {
        wait_for(ng, !is_flushed);
    }
    do {
        ssize_t n = ng->tls != NULL ? bench_tls_read(ng->tls, input, sizeof(input)) : read(ng->fd, input, sizeof(input));

        ng->syscalls++;
        if (n < 0 && errno == EAGAIN) {
            return;
        }
        if (n <= 0) {
            bench_fail("read", n == 0 ? "the server closed" : NULL);
        }
        if (nghttp2_session_mem_recv(ng->session, input, (size_t)n) != n) {
            bench_fail("nghttp2", "what came is no HTTP/2");
        }
    } while (ng->tls != NULL && bench_tls_pending(ng->tls));
}
