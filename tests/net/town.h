/* SPDX-License-Identifier: MIT */
/*
 * A town: network namespaces of a test's own with a cable between them that can be cut.
 *
 * Decides: who has which address, and how each kind of cut is made. Called by the cases. Must not know channels. The process that makes
 * the town becomes its client; everything in it dies with that process, so that nothing is left behind, whatever breaks.
 *
 *     client 10.83.1.2 --- 10.83.1.1 router 10.83.2.1 --- 10.83.2.2 server
 *
 * In a slow town there is no router: the cable is tun_forward, and both addresses are at its ends.
 */
#ifndef TESTS_NET_TOWN_H
#define TESTS_NET_TOWN_H

#include <sys/types.h>

#define TOWN_CLIENT_ADDRESS "10.83.1.2"
#define TOWN_SERVER_ADDRESS "10.83.2.2"
#define TOWN_PORT           "7000"
#define TOWN_TARGET         "ipv4:" TOWN_SERVER_ADDRESS ":" TOWN_PORT

enum town_place { TOWN_CLIENT, TOWN_ROUTER, TOWN_SERVER, TOWN_PLACES };

enum town_kind {
    TOWN_ROUTED, /* the router passes everything on */
    TOWN_NAT /* it gives the client its own address, and forgets a connection after 5 s of silence */
};

struct town {
    int nets[TOWN_PLACES]; /* the namespaces */
    pid_t holders[TOWN_PLACES];
    pid_t server;
};

/* Fails the test when something of it cannot be made. */
void town_make(struct town *town, enum town_kind kind);
/* `how`: the options of tun_forward. */
void town_make_slow(struct town *town, const char *how);

/* Runs a line of shell there, to its end; it must succeed. */
void town_do(const struct town *town, enum town_place place, const char *line);

/* What this process makes from now on, sockets above all, belongs there. It begins as the client. */
void town_enter(const struct town *town, enum town_place place);

/* Starts a line of shell there that runs until the test ends, and waits until it prints a line with `sign`. Its process. */
pid_t town_start(const struct town *town, enum town_place place, const char *line,
                 const char *sign);

/* TLS by the certificate that the script made, for svc.test: options of the server, and what the client believes [own]. */
struct lull_credentials;
const char *town_tls_options(void);
struct lull_credentials *town_trust(void);

/* `lull serve` at TOWN_PORT with further options ["" or " --x …"]. It bears any number of PINGs. */
void town_serve(struct town *town, const char *options);

/* What the router drops from now on, without a word: nft's words for a packet, "" for all. */
void town_drop(const struct town *town, const char *packets);
void town_heal(const struct town *town);

#define TOWN_TO_SERVER "iifname rc"
#define TOWN_TO_CLIENT "iifname rs"

#endif
