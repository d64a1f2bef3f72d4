/* SPDX-License-Identifier: MIT */
/*
 * A scripted name server on a loopback address, UDP and TCP, in the test's own thread.
 *
 * Decides: what is answered to which name. Called by tests of resolving. Must not know who asks. It does what it does in
 * name_server_serve, which never waits; so a test knows what was asked, and holds an answer back for as long as it likes.
 *
 * The first label of a name says what its answer is:
 *
 *     both four six     an A record 10.0.ID.1 and an AAAA record fd00::ID; only A; only AAAA
 *     here              an A record 127.0.0.ID, the server's own address
 *     app               as four where the second label is the server's zone, else NXDOMAIN
 *     order             two A records, a far one and then a loopback, whom a sort by RFC 6724 would put first
 *     many              60 A records: truncated over UDP, whole over TCP
 *     none servfail refused     that code
 *     mute              nothing
 *     once              the first question of each kind is lost, then as both
 *     held held6 held4  as both, but both answers, or that of the one kind, wait for name_server_release
 *     noise             bytes that chance makes, or changes in the right answer; never the same twice
 */
#ifndef TESTS_SUPPORT_NAME_SERVER_H
#define TESTS_SUPPORT_NAME_SERVER_H

#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME_SERVER_CONNS 4
#define NAME_SERVER_HELD  32
#define NAME_SERVER_FDS   (2 + NAME_SERVER_CONNS)
#define NAME_SERVER_BYTES 2048 /* of a message */

struct name_message {
    size_t len;
    uint8_t bytes[NAME_SERVER_BYTES];
};

struct name_server {
    int udp, tcp;
    struct {
        int fd; /* -1: free */
        struct name_message in;
    } conns[NAME_SERVER_CONNS];
    struct sockaddr_in at;
    uint16_t port;
    unsigned id;      /* in its addresses */
    const char *zone; /* [borrow] */
    uint64_t chance;  /* the state of what makes noise */
    unsigned asked, asked_by_tcp;
    unsigned lost; /* of "once": bit 0 the A question, bit 1 AAAA */
    struct {
        struct sockaddr_in to;
        struct name_message message;
    } held[NAME_SERVER_HELD];
    size_t held_count;
};

/* On 127.0.0.ID and that port; 0: any. False where it is taken. */
bool name_server_init(struct name_server *server, unsigned id, const char *zone, uint16_t port);
void name_server_fini(struct name_server *server);

/* What a poll has to look at; returns how many. */
size_t name_server_fds(const struct name_server *server, struct pollfd *out);

/* Answers what has come. */
void name_server_serve(struct name_server *server);

/* Sends what was held back, to whoever is there now. */
void name_server_release(struct name_server *server);

#endif
