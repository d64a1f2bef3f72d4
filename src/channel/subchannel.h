/* SPDX-License-Identifier: MIT */
/*
 * The addresses of a target and the connections to them: IDLE, CONNECTING, READY, and the wait between passes.
 *
 * Decides: when to dial which address (policy/eyeballs' and policy/backoff's arithmetic on one Rescheduler), when an attempt has
 * failed, and which connection takes new streams. Called by channel.c, which is told of every change. Must not know calls, the queue or
 * status codes. In context.
 *
 * An attempt is one pass over the addresses: in order, with happy eyeballs (gRFC A61), until one is READY or all have failed.
 * One timer at most is armed, and its meaning is the phase: the next step of the pass, or the next pass. A
 * connection that got a GOAWAY takes no more streams and lives on until its last one ends.
 */
#ifndef CHANNEL_SUBCHANNEL_H
#define CHANNEL_SUBCHANNEL_H

#include "base/list.h"
#include "channel/trace.h"
#include "h2/ping.h"
#include "h2/transport.h"
#include "lull/keepalive.h"
#include "lull/rescheduler.h"
#include "net/dial.h"
#include "policy/backoff.h"
#include "policy/eyeballs.h"

enum subchannel_phase {
    SUBCHANNEL_IDLE,     /* no connection that takes streams, and none wanted */
    SUBCHANNEL_SPACING,  /* one is wanted; the last attempt started too short a while ago */
    SUBCHANNEL_DIALLING, /* connect under way */
    SUBCHANNEL_GREETING, /* connected; the server's first SETTINGS has not come */
    SUBCHANNEL_READY,
    SUBCHANNEL_BACKOFF, /* the last attempt failed; the timer starts the next */
    SUBCHANNEL_CLOSED   /* for good */
};

#define SUBCHANNEL_REASON_BYTES 320

#define CONNECTION_GOAWAY_BYTES 128

struct subchannel;

/* One connection that dialled and connected, until its transport is gone. */
struct connection {
    struct list_node link; /* in the subchannel's connections */
    struct subchannel *subchannel;
    struct h2_transport *transport;
    int64_t keepalive_time_ns; /* what it was made with */
    bool has_goaway;
    char goaway_text[CONNECTION_GOAWAY_BYTES]; /* "GOAWAY(NO_ERROR, "debug")" */
};

struct subchannel_ops {
    /* The phase changed; `why` is for people, and borrowed. */
    void (*on_phase)(struct subchannel *subchannel, const char *why);
    /* A pass failed (last_failure says why) and the phase is BACKOFF; told after on_phase. */
    void (*on_attempt_failed)(struct subchannel *subchannel);
    /* Streams may be opened, perhaps with nghttp2 on the stack: post, do not open. */
    void (*on_capacity)(struct subchannel *subchannel);
    /* True when somebody waits for a connection: asked when a spacing is over. */
    bool (*is_wanted)(struct subchannel *subchannel);
    /* A connection is gone; the last one lets a closed subchannel be freed. */
    void (*on_connection_gone)(struct subchannel *subchannel);
};

/* What a subchannel goes by; [borrow], outlives it. */
struct subchannel_options {
    struct lull_executor *executor;
    struct lull_loop *loop;
    struct lull_dialer *dialer;
    struct lull_random *random;
    const struct trace *trace;
    const struct lull_allocator *allocator;
    struct lull_keepalive_interval *keepalive_interval; /* the channel's: it outlives connections */
    const char *name; /* what several addresses are called */
    bool tcp_keepalive;
    bool is_once; /* there is one pass and no other: one that failed is followed by nothing */
    const struct backoff_options *backoff; /* read by subchannel_init only */
    struct h2_transport_options transport; /* keepalive.time_ns is the interval's affair */
};

/* How far an address got before it failed. */
enum subchannel_reach {
    REACHED_NOTHING, /* it was given up for another */
    REACHED_NO_PEER, /* there was no socket, or no way out of this machine */
    REACHED_CONNECT,
    REACHED_HANDSHAKE,
    REACHED_GREETING
};

/* Why the last attempt failed, or the last connection ended. */
struct subchannel_failure {
    /* Of an attempt at several addresses, one stands for it: that which got furthest, the first of them. */
    enum subchannel_reach reach;
    bool is_tls; /* TLS failed, not what is below or above it */
    int sys_errno;
    char address[ADDR_TEXT_BYTES];
    char reason[SUBCHANNEL_REASON_BYTES]; /* of all of them; "" when there is nothing to tell, as when READY */
};

/* One of the addresses. */
struct subchannel_address {
    struct addr addr;
    struct lull_instant dialled_at; /* INT64_MIN: never */
    struct endpoint *dialled;       /* while its connect is under way */
};

/* What has been, for people who ask. */
struct subchannel_history {
    uint64_t dials;
    uint64_t connections_made;  /* that became READY */
    uint64_t connections_lost;  /* of these, those that we did not end */
    struct h2_ping_stats pings; /* of the connections that are gone */
};

struct subchannel {
    const struct subchannel_ops *ops;
    struct subchannel_options options;
    struct subchannel_address *addresses; /* in the order to try them */
    size_t address_count;                 /* 0: none are known yet */
    size_t last_index;                    /* of the last dial */
    struct eyeballs eyeballs;             /* DIALLING, GREETING: how the pass stands */
    enum subchannel_phase phase;
    struct backoff backoff;
    struct lull_rescheduler
        timer; /* DIALLING, GREETING: the pass's next step; SPACING, BACKOFF: the next pass */
    struct lull_instant next_at;  /* SPACING, BACKOFF: when that is */
    uint32_t attempts;            /* passes started so far */
    struct connection *current;   /* while GREETING and READY */
    struct list_node connections; /* current, and those that drain or close */
    struct subchannel_failure *last_failure; /* of a whole pass, or of a connection; NULL: nothing failed */
    struct subchannel_failure *so_far;       /* of the addresses that failed in this pass; NULL: none has */
    struct subchannel_history history;
};

/* Without addresses. LULL_OK or LULL_RC_NOMEM. */
int subchannel_init(struct subchannel *subchannel, const struct subchannel_ops *ops,
                    const struct subchannel_options *options);

/* Once it is gone, or was never more than zeroed: gives the memory back. */
void subchannel_fini(struct subchannel *subchannel);

/*
 * Its addresses from now on, copied, each once; at least one, EYEBALLS_MAX at most. The same ones in another order change nothing. Others: a
 * pass that is under way goes on with them, and what is dialled stays if it is still on the list; a backoff is forgotten, so that
 * a server that has moved is found at once. A READY connection stays whatever the list says. LULL_OK, or LULL_RC_NOMEM and
 * nothing changed.
 */
int subchannel_set_addresses(struct subchannel *subchannel, const struct addr *addrs, size_t count);

/* Wants a connection: dials now, or as soon as the spacing allows. Does nothing unless IDLE. It has addresses. */
void subchannel_connect(struct subchannel *subchannel);

/* Forgets the waits: in BACKOFF the next attempt starts now. */
void subchannel_reset_backoff(struct subchannel *subchannel);

/* Closes everything for good and gives the timer back. Connections end by and by; the second time nothing happens. */
void subchannel_close(struct subchannel *subchannel);

/* The connection takes no more streams for a reason of ours (ids used up): it drains, and the phase is IDLE. */
void subchannel_retire(struct subchannel *subchannel);

/*
 * The channel falls idle (RULINGS 3-5): an attempt is given up, the timer leaves the queue, waits and errors are forgotten (the
 * spacing is not: it guards the server). Connections without streams close in this turn, those with streams when the last one has
 * ended. The phase is IDLE, for the reason `why`. Not with nghttp2 on the stack.
 */
void subchannel_fall_idle(struct subchannel *subchannel, const char *why);

/* A call on one of the connections ended with a status of the server's. */
void subchannel_on_call_completed(struct subchannel *subchannel,
                                  const struct connection *connection);

/* The connection that takes new streams; NULL unless READY. */
struct connection *subchannel_ready_connection(const struct subchannel *subchannel);

/* The connect is done, and a handshake is under way before HTTP/2 begins. */
bool subchannel_is_shaking_hands(const struct subchannel *subchannel);

/* What texts call the place that it has to do with now: an address, or its name where there are several. */
const char *subchannel_address_text(const struct subchannel *subchannel);

/* True while an attempt is under way. */
bool subchannel_is_attempting(const struct subchannel *subchannel);

/* Until the next attempt starts; LULL_NEVER when none is to start by itself. */
int64_t subchannel_next_attempt_after(const struct subchannel *subchannel, struct lull_instant now);

/* True when the memory may go: CLOSED and without connections. */
bool subchannel_is_gone(const struct subchannel *subchannel);

const char *subchannel_phase_name(enum subchannel_phase phase);

/* ---- subchannel_failure.c */

/* What is empty when nothing has failed. */
const struct subchannel_failure *subchannel_last_failure(const struct subchannel *subchannel);
const struct subchannel_failure *subchannel_so_far(const struct subchannel *subchannel);

/* One of the two, to be written to, empty the first time; NULL when there is no memory, and its text says so from then on. */
struct subchannel_failure *subchannel_note(struct subchannel *subchannel,
                                           struct subchannel_failure **which);

void subchannel_forget_last(struct subchannel *subchannel);
void subchannel_forget_so_far(struct subchannel *subchannel);

/* The pass is over: what failed in it is the last failure. */
void subchannel_keep_so_far(struct subchannel *subchannel);

/* ---- subchannel_dial.c */

/* A pass begins: the phase becomes DIALLING, or BACKOFF when all fail at once. */
void subchannel_start_pass(struct subchannel *subchannel, struct lull_instant now);

/* Does what the pass wants next, in DIALLING and GREETING. */
void subchannel_advance(struct subchannel *subchannel);

/* The connection that greets has ended. Goes on with the pass. */
void subchannel_on_greeting_failed(struct subchannel *subchannel, int sys_errno, bool is_tls,
                                   const char *reason);

/* Closes what is dialled. */
void subchannel_drop_dials(struct subchannel *subchannel);

/* Closes what is dialled; what greets or is READY gets `why`, or, NULL, is only not current any more. The pass is over. */
void subchannel_drop_attempt(struct subchannel *subchannel, const char *why);

/* ---- what subchannel.c does for it */

void subchannel_set_phase(struct subchannel *subchannel, enum subchannel_phase phase,
                          const char *why);
const struct h2_transport_ops *subchannel_transport_ops(void);

/* What a plaintext channel suspects of a server that is mute; "" over TLS. */
const char *subchannel_tls_hint(const struct subchannel *subchannel);

/* The address at the other end. */
const char *connection_peer_text(const struct connection *connection);

/* ---- subchannel_pings.c */

void subchannel_pings_init(struct subchannel *subchannel);

/* PINGs that go out and are answered become events, if anybody listens. */
void subchannel_watch_pings(const struct connection *connection);

/* The server counts pings and has had enough: later connections ask half as often (gRFC A8). */
void subchannel_on_too_many_pings(const struct connection *connection);

/* The connection is going: what its pings did is added to the history. */
void subchannel_keep_pings(const struct connection *connection);

/* The pings of all connections that there were, and are. */
void subchannel_ping_stats(const struct subchannel *subchannel, struct h2_ping_stats *out);

#endif
