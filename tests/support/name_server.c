/* SPDX-License-Identifier: MIT */
#include "tests/support/name_server.h"

#include <arpa/inet.h>
#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/must.h"

/* RFC 1035 sections 3.2.2 and 4.1.1, RFC 3596. */
#define HEADER_BYTES 12
#define TYPE_A       1
#define TYPE_AAAA    28
#define TRUNCATED    0x0200
#define RESPONSE     0x8580 /* with authority, recursion wanted and there */

#define SERVFAIL 2
#define NXDOMAIN 3
#define REFUSED  5

#define MANY 60

struct question {
    char name[256];
    char label[64]; /* the first */
    const char *rest;
    uint16_t type;
    size_t end; /* behind the question */
};

/* ---- sockets */

static int open_socket(struct name_server *server, int type)
{
    const int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int one = 1;
    socklen_t len = sizeof(server->at);

    ck_assert_int_ge(fd, 0);
    if (type == SOCK_STREAM) {
        ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
    }
    if (bind(fd, (const struct sockaddr *)&server->at, len) != 0) {
        close(fd);
        return -1;
    }
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&server->at, &len), 0);
    return fd;
}

bool name_server_init(struct name_server *server, unsigned id, const char *zone, uint16_t port)
{
    memset(server, 0, sizeof(*server));
    for (size_t i = 0; i < NAME_SERVER_CONNS; i++) {
        server->conns[i].fd = -1;
    }
    server->id = id;
    server->zone = zone;
    /* What one protocol has free the other may not. */
    for (int tries = port == 0 ? 100 : 1; tries > 0; tries--) {
        server->at = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
        server->at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + id - 1);
        server->tcp = open_socket(server, SOCK_STREAM);
        server->udp = server->tcp < 0 ? -1 : open_socket(server, SOCK_DGRAM);
        if (server->udp >= 0) {
            ck_assert_int_eq(listen(server->tcp, NAME_SERVER_CONNS), 0);
            server->port = ntohs(server->at.sin_port);
            return true;
        }
        if (server->tcp >= 0) {
            close(server->tcp);
        }
    }
    return false;
}

static void drop_conn(struct name_server *server, size_t i)
{
    close(server->conns[i].fd);
    server->conns[i].fd = -1;
    server->conns[i].in.len = 0;
}

void name_server_fini(struct name_server *server)
{
    for (size_t i = 0; i < NAME_SERVER_CONNS; i++) {
        if (server->conns[i].fd >= 0) {
            drop_conn(server, i);
        }
    }
    close(server->udp);
    close(server->tcp);
}

size_t name_server_fds(const struct name_server *server, struct pollfd *out)
{
    size_t count = 0;

    out[count++] = (struct pollfd){.fd = server->udp, .events = POLLIN};
    out[count++] = (struct pollfd){.fd = server->tcp, .events = POLLIN};
    for (size_t i = 0; i < NAME_SERVER_CONNS; i++) {
        if (server->conns[i].fd >= 0) {
            out[count++] = (struct pollfd){.fd = server->conns[i].fd, .events = POLLIN};
        }
    }
    return count;
}

/* ---- messages */

static void put(struct name_message *m, const void *bytes, size_t len)
{
    MUST(m->len + len <= sizeof(m->bytes));
    memcpy(m->bytes + m->len, bytes, len);
    m->len += len;
}

static void put16(struct name_message *m, unsigned value)
{
    put(m, (uint8_t[]){(uint8_t)(value >> 8), (uint8_t)value}, 2);
}

/* False: no question. c-ares asks one at a time, without pointers. */
static bool read_question(const struct name_message *m, struct question *q)
{
    size_t at = HEADER_BYTES;
    size_t len = 0;

    while (at < m->len && m->bytes[at] != 0) {
        const size_t label = m->bytes[at];

        if (label > 63 || at + 1 + label > m->len || len + label + 1 >= sizeof(q->name)) {
            return false;
        }
        for (size_t i = 0; i < label; i++) {
            q->name[len++] = (char)tolower(m->bytes[at + 1 + i]);
        }
        q->name[len++] = '.';
        at += 1 + label;
    }
    if (len == 0 || at + 5 > m->len) {
        return false;
    }
    q->name[len] = '\0';
    q->rest = strchr(q->name, '.') + 1;
    snprintf(q->label, sizeof(q->label), "%.*s", (int)(q->rest - q->name) - 1, q->name);
    q->type = (uint16_t)(m->bytes[at + 1] << 8 | m->bytes[at + 2]);
    q->end = at + 5;
    return true;
}

/* The header, and the question once more. */
static void begin(const struct name_message *ask, const struct question *q, unsigned flags,
                  unsigned records, struct name_message *out)
{
    out->len = 0;
    put(out, ask->bytes, 2);
    put16(out, RESPONSE | flags);
    put16(out, 1);
    put16(out, records);
    put16(out, 0);
    put16(out, 0);
    put(out, ask->bytes + HEADER_BYTES, q->end - HEADER_BYTES);
}

/* A record of the question's own name. */
static void put_record(struct name_message *out, unsigned type, const uint8_t *data, size_t len)
{
    put16(out, 0xc000 | HEADER_BYTES);
    put16(out, type);
    put16(out, 1);
    put16(out, 0);
    put16(out, 1);
    put16(out, (unsigned)len);
    put(out, data, len);
}

static void put_addr(const struct name_server *server, unsigned type, unsigned last,
                     struct name_message *out)
{
    if (type == TYPE_A) {
        put_record(out, type, (uint8_t[]){10, 0, (uint8_t)server->id, (uint8_t)last}, 4);
    } else {
        put_record(out, type, (uint8_t[16]){0xfd, [15] = (uint8_t)server->id}, 16);
    }
}

static void answer_one(const struct name_server *server, const struct name_message *ask,
                       const struct question *q, bool is_there, struct name_message *out)
{
    begin(ask, q, 0, is_there, out);
    if (is_there) {
        put_addr(server, q->type, 1, out);
    }
}

static void answer_many(const struct name_server *server, const struct name_message *ask,
                        const struct question *q, bool is_tcp, struct name_message *out)
{
    const unsigned records = q->type == TYPE_A ? MANY : 0;

    begin(ask, q, is_tcp || records == 0 ? 0 : TRUNCATED, is_tcp ? records : 0, out);
    for (unsigned i = 1; is_tcp && i <= records; i++) {
        put_addr(server, TYPE_A, i, out);
    }
}

static void answer_here(const struct name_server *server, const struct name_message *ask,
                        const struct question *q, struct name_message *out)
{
    begin(ask, q, 0, q->type == TYPE_A ? 1 : 0, out);
    if (q->type == TYPE_A) {
        put_record(out, TYPE_A, (const uint8_t *)&server->at.sin_addr, 4);
    }
}

static void answer_order(const struct name_server *server, const struct name_message *ask,
                         const struct question *q, struct name_message *out)
{
    begin(ask, q, 0, q->type == TYPE_A ? 2 : 0, out);
    if (q->type == TYPE_A) {
        put_addr(server, TYPE_A, 1, out);
        put_record(out, TYPE_A, (const uint8_t[]){127, 0, 0, 1}, 4);
    }
}

/* ---- noise */

/* 0 to below - 1 (splitmix64). */
static unsigned any(struct name_server *server, unsigned below)
{
    uint64_t x = server->chance += 0x9e3779b97f4a7c15U;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return (unsigned)((x ^ x >> 31) % below);
}

static void put_noise(struct name_server *server, size_t len, struct name_message *out)
{
    for (size_t i = 0; i < len; i++) {
        put(out, (uint8_t[]){(uint8_t)any(server, 256)}, 1);
    }
}

static void change(struct name_server *server, size_t from, unsigned times, struct name_message *m)
{
    for (unsigned i = 0; i < times; i++) {
        m->bytes[from + any(server, (unsigned)(m->len - from))] = (uint8_t)any(server, 256);
    }
}

static void answer_noise(struct name_server *server, const struct name_message *ask,
                         const struct question *q, struct name_message *out)
{
    answer_one(server, ask, q, true, out);
    switch (any(server, 7)) {
    case 0: /* nothing but noise, and perhaps nothing at all */
        out->len = 0;
        put_noise(server, any(server, 600), out);
        break;
    case 1: /* the right number, then noise */
        out->len = 2;
        put_noise(server, any(server, 600), out);
        break;
    case 2: /* noise where the records should be */
        begin(ask, q, 0, any(server, 4) == 0 ? 0xffff : 1 + any(server, 3), out);
        put_noise(server, any(server, 400), out);
        break;
    case 3: /* some bytes changed, the number too */
        change(server, 0, 1 + any(server, 8), out);
        break;
    case 4: /* the same behind the number: flags, counts, lengths, pointers */
        change(server, 2, 1 + any(server, 4), out);
        break;
    case 5: /* cut */
        out->len = any(server, (unsigned)out->len);
        break;
    default: /* a record whose name points to itself, of a length that is not there */
        begin(ask, q, any(server, 2) == 0 ? 0 : TRUNCATED, 2, out);
        put16(out, 0xc000 | (unsigned)out->len);
        put16(out, q->type);
        put16(out, 1);
        put_noise(server, 4, out);
        put16(out, any(server, 65536));
        put_noise(server, any(server, 40), out);
    }
}

/* ---- questions */

static bool is(const struct question *q, const char *label)
{
    return strcmp(q->label, label) == 0;
}

/* False: no answer at all. */
static bool answer(struct name_server *server, const struct name_message *ask,
                   const struct question *q, bool is_tcp, struct name_message *out)
{
    static const struct {
        const char *label;
        unsigned code;
    } codes[] = {{"none", NXDOMAIN}, {"servfail", SERVFAIL}, {"refused", REFUSED}};
    const unsigned kind = q->type == TYPE_A ? 1U : 2U;

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (is(q, codes[i].label)) {
            begin(ask, q, codes[i].code, 0, out);
            return true;
        }
    }
    if (is(q, "mute") || (is(q, "once") && (server->lost & kind) == 0)) {
        server->lost |= kind;
        return false;
    }
    if (is(q, "noise")) {
        answer_noise(server, ask, q, out);
        return true;
    }
    if (is(q, "many")) {
        answer_many(server, ask, q, is_tcp, out);
    } else if (is(q, "order")) {
        answer_order(server, ask, q, out);
    } else if (is(q, "here")) {
        answer_here(server, ask, q, out);
    } else if (is(q, "app") && strncmp(q->rest, server->zone, strlen(server->zone)) != 0) {
        begin(ask, q, NXDOMAIN, 0, out);
    } else {
        const bool is_four = is(q, "four") || is(q, "app");

        answer_one(server, ask, q,
                   q->type == TYPE_A ? !is(q, "six") : q->type == TYPE_AAAA && !is_four, out);
    }
    return true;
}

static bool is_held(const struct question *q)
{
    return is(q, "held") || (is(q, "held6") && q->type == TYPE_AAAA) ||
           (is(q, "held4") && q->type == TYPE_A);
}

static void send_to(struct name_server *server, const struct name_message *m,
                    const struct sockaddr_in *to)
{
    /* Nobody may be there any more. */
    (void)sendto(server->udp, m->bytes, m->len, MSG_NOSIGNAL, (const struct sockaddr *)to,
                 sizeof(*to));
}

static void serve_udp(struct name_server *server)
{
    struct name_message ask, out;
    struct sockaddr_in from;
    struct question q;

    for (;;) {
        socklen_t len = sizeof(from);
        const ssize_t got =
            recvfrom(server->udp, ask.bytes, sizeof(ask.bytes), 0, (struct sockaddr *)&from, &len);

        if (got < 0) {
            return;
        }
        ask.len = (size_t)got;
        if (!read_question(&ask, &q)) {
            continue;
        }
        server->asked++;
        if (!answer(server, &ask, &q, false, &out)) {
            continue;
        }
        if (is_held(&q)) {
            MUST(server->held_count < NAME_SERVER_HELD);
            server->held[server->held_count].to = from;
            server->held[server->held_count++].message = out;
        } else {
            send_to(server, &out, &from);
        }
    }
}

static void serve_conn(struct name_server *server, size_t i)
{
    struct name_message *in = &server->conns[i].in;
    const int fd = server->conns[i].fd;
    struct name_message ask, out, framed = {.len = 0};
    struct question q;
    const ssize_t got = recv(fd, in->bytes + in->len, sizeof(in->bytes) - in->len, MSG_DONTWAIT);

    if (got == 0) {
        drop_conn(server, i);
    }
    if (got <= 0) {
        return;
    }
    in->len += (size_t)got;
    while (in->len >= 2 && in->len - 2 >= (size_t)(in->bytes[0] << 8 | in->bytes[1])) {
        ask.len = (size_t)(in->bytes[0] << 8 | in->bytes[1]);
        memcpy(ask.bytes, in->bytes + 2, ask.len);
        in->len -= 2 + ask.len;
        memmove(in->bytes, in->bytes + 2 + ask.len, in->len);
        if (read_question(&ask, &q) && answer(server, &ask, &q, true, &out)) {
            server->asked_by_tcp++;
            framed.len = 0;
            put16(&framed, (unsigned)out.len);
            put(&framed, out.bytes, out.len);
            (void)send(fd, framed.bytes, framed.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        if (is(&q, "noise") && any(server, 2) == 0) {
            drop_conn(server, i);
            return;
        }
    }
}

void name_server_serve(struct name_server *server)
{
    serve_udp(server);
    for (size_t i = 0; i < NAME_SERVER_CONNS; i++) {
        if (server->conns[i].fd < 0) {
            server->conns[i].fd = accept(server->tcp, NULL, NULL);
        }
        if (server->conns[i].fd >= 0) {
            serve_conn(server, i);
        }
    }
}

void name_server_release(struct name_server *server)
{
    for (size_t i = 0; i < server->held_count; i++) {
        send_to(server, &server->held[i].message, &server->held[i].to);
    }
    server->held_count = 0;
}
