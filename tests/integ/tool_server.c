/* SPDX-License-Identifier: MIT */
/*
 * A small gRPC server for the tests of the tool: one connection at a time, frames by hand, the same answer to every
 * request.
 *
 *   tool_server echo          the request's message, metadata x-head and x-tail-bin, status 0
 *   tool_server fail          status 5 with a message of UTF-8, a newline, an escape and a percent sign
 *   tool_server mute          takes the request and never answers
 *
 * Decides: nothing about HTTP/2 but what these answers need (RFC 9113, HPACK literals of RFC 7541); requests stay
 * below the first window of 65 535 bytes. Prints "port N" and serves until it is killed. Must not know:
 * the library, which must not be tested with itself.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DATA = 0, HEADERS = 1, SETTINGS = 4, PING = 6 };
enum { ACK = 1, END_STREAM = 1, END_HEADERS = 4 };
enum { HEAD_BYTES = 9, PREFACE_BYTES = 24, MESSAGE_MAX_BYTES = 65535, FRAME_MAX_BYTES = 16384 };

/* One connection. */
struct peer {
    int fd;
    const char *mode;
    uint8_t request[MESSAGE_MAX_BYTES]; /* with its gRPC prefix: that is what goes back */
    size_t request_len;
};

static bool read_exactly(struct peer *peer, uint8_t *bytes, size_t len)
{
    while (len > 0) {
        ssize_t got = recv(peer->fd, bytes, len, 0);
        if (got <= 0) {
            return false;
        }
        bytes += got;
        len -= (size_t)got;
    }
    return true;
}

static bool send_frame(struct peer *peer, uint8_t type, uint8_t flags, uint32_t stream,
                       const void *payload, size_t len)
{
    uint8_t frame[HEAD_BYTES + FRAME_MAX_BYTES];
    frame[0] = 0;
    frame[1] = (uint8_t)(len >> 8);
    frame[2] = (uint8_t)len;
    frame[3] = type;
    frame[4] = flags;
    for (int i = 0; i < 4; i++) {
        frame[5 + i] = (uint8_t)(stream >> (24 - 8 * i));
    }
    if (len > 0) {
        memcpy(frame + HEAD_BYTES, payload, len);
    }
    size_t whole = HEAD_BYTES + len;
    return send(peer->fd, frame, whole, MSG_NOSIGNAL) == (ssize_t)whole;
}

/* Appends a header field: literal, not indexed, both names and values below 127 bytes (RFC 7541 section 6.2.2). */
static size_t put_field(uint8_t *block, size_t at, const char *name, const char *value)
{
    size_t name_len = strlen(name);
    size_t value_len = strlen(value);
    block[at++] = 0;
    block[at++] = (uint8_t)name_len;
    memcpy(block + at, name, name_len);
    at += name_len;
    block[at++] = (uint8_t)value_len;
    memcpy(block + at, value, value_len);
    return at + value_len;
}

static bool answer_fail(struct peer *peer, uint32_t stream)
{
    uint8_t block[512];
    size_t len = put_field(block, 0, ":status", "200");
    len = put_field(block, len, "content-type", "application/grpc");
    len = put_field(block, len, "grpc-status", "5");
    len = put_field(block, len, "grpc-message", "no %F0%9F%A6%8A here:%0A\t%1B[1m 100%25");
    return send_frame(peer, HEADERS, END_HEADERS | END_STREAM, stream, block, len);
}

static bool answer_echo(struct peer *peer, uint32_t stream)
{
    uint8_t block[512];
    size_t len = put_field(block, 0, ":status", "200");
    len = put_field(block, len, "content-type", "application/grpc");
    len = put_field(block, len, "x-head", "one");
    len = put_field(block, len, "x-head", "two");
    if (!send_frame(peer, HEADERS, END_HEADERS, stream, block, len)) {
        return false;
    }
    for (size_t done = 0; done < peer->request_len; done += FRAME_MAX_BYTES) {
        size_t rest = peer->request_len - done;
        if (!send_frame(peer, DATA, 0, stream, peer->request + done,
                        rest < FRAME_MAX_BYTES ? rest : FRAME_MAX_BYTES)) {
            return false;
        }
    }
    len = put_field(block, 0, "grpc-status", "0");
    len = put_field(block, len, "x-tail-bin", "AP8");
    return send_frame(peer, HEADERS, END_HEADERS | END_STREAM, stream, block, len);
}

static bool answer(struct peer *peer, uint32_t stream)
{
    if (strcmp(peer->mode, "mute") == 0) {
        return true;
    }
    bool sent =
        strcmp(peer->mode, "fail") == 0 ? answer_fail(peer, stream) : answer_echo(peer, stream);
    peer->request_len = 0;
    return sent;
}

static bool take_frame(struct peer *peer)
{
    uint8_t head[HEAD_BYTES];
    static uint8_t payload[FRAME_MAX_BYTES];
    if (!read_exactly(peer, head, sizeof(head))) {
        return false;
    }
    size_t len = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
    uint32_t stream =
        (uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8];
    if (len > sizeof(payload) || !read_exactly(peer, payload, len)) {
        return false;
    }
    if ((head[3] == SETTINGS || head[3] == PING) && (head[4] & ACK) == 0) {
        return send_frame(peer, head[3], ACK, 0, payload, head[3] == PING ? len : 0);
    }
    if (head[3] == DATA) {
        if (len > sizeof(peer->request) - peer->request_len) {
            return false;
        }
        memcpy(peer->request + peer->request_len, payload, len);
        peer->request_len += len;
    }
    if ((head[3] == DATA || head[3] == HEADERS) && (head[4] & END_STREAM) != 0) {
        return answer(peer, stream);
    }
    return true;
}

static void serve(int fd, const char *mode)
{
    static struct peer peer;
    uint8_t preface[PREFACE_BYTES];
    memset(&peer, 0, sizeof(peer));
    peer.fd = fd;
    peer.mode = mode;
    if (read_exactly(&peer, preface, sizeof(preface)) &&
        send_frame(&peer, SETTINGS, 0, 0, NULL, 0)) {
        while (take_frame(&peer)) {
        }
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_in addr;
    socklen_t addr_len = sizeof(addr);
    memset(&addr, 0, sizeof(addr));
    addr.sin_family = AF_INET;
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (argc != 2 || listener < 0 || bind(listener, (struct sockaddr *)&addr, sizeof(addr)) != 0 ||
        listen(listener, 16) != 0 ||
        getsockname(listener, (struct sockaddr *)&addr, &addr_len) != 0) {
        perror("tool_server");
        return 1;
    }
    (void)printf("port %d\n", ntohs(addr.sin_port));
    (void)fflush(stdout);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd >= 0) {
            serve(fd, argv[1]);
            (void)close(fd);
        }
    }
}
