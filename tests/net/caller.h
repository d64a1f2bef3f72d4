/* SPDX-License-Identifier: MIT */
/*
 * A client of a case: a channel whose transitions are written down with their instants, its calls, and the row that a case leaves.
 *
 * Decides: what counts as "when", and how late is too late. Called by the cases. Programs of somebody else: public headers and the shared
 * library. Must not know how a cable is cut.
 */
#ifndef TESTS_NET_CALLER_H
#define TESTS_NET_CALLER_H

#include "tests/peers/client.h"

/*
 * How long after the promised instant is still in time: the turn, the system's own first resend (200 ms and more), and a machine that
 * has other things to do.
 */
#define CALLER_SLACK_NS LULL_SECOND

struct caller {
    struct client client;
    struct lull_instant ready_at, lost_at, dialled_at, failed_at;
    struct lull_instant heard_at; /* of the last message or headers */
    struct lull_instant sent_at;  /* of the last call's HEADERS */
    unsigned dials, losses, failures;
    char loss[320];    /* the last one */
    char failure[512]; /* of an attempt, the last one */
};

/* With short timers, which are set in client.options before caller_open. */
void caller_begin(struct caller *caller);
/* Before caller_open; 0: the defaults. */
void caller_keep_alive(struct caller *caller, int64_t time_ns, int64_t timeout_ns);
void caller_open(struct caller *caller, const char *target);
void caller_close(struct caller *caller);

struct lull_instant caller_now(void);
/* Waits for READY. */
void caller_connect(struct caller *caller);

/* A call under way: `stream` as client.h has it, and when it ended. */
struct talk {
    struct stream stream;
    struct lull_instant started_at, ended_at;
    struct lull_slice chunk; /* what talk_pour sends */
    unsigned sent;
    bool is_full; /* talk_pour: the last send was refused */
    bool is_pouring;
    unsigned wrong; /* messages that are not the next number */
};

/* A call with one message, half-closed. */
void talk_ask(struct talk *talk, struct caller *caller, const char *method, const char *message,
              int64_t timeout_ns);
/* An Echo that stays open. */
void talk_open(struct talk *talk, struct caller *caller);
/* Sends the next number; its echo is checked. */
void talk_say(struct talk *talk);
/* Says a number each `period_ns` for so long, or until the call ended. */
void talk_chat(struct talk *talk, struct caller *caller, int64_t period_ns, int64_t for_ns);
/* Sends 16 KiB messages as long as there is room, now and whenever there is. */
void talk_pour(struct talk *talk, struct caller *caller);
/* Drives until so many answers are there. */
void talk_hear(struct talk *talk, struct caller *caller, unsigned messages);
/* Drives until it is over, three minutes at most. */
void talk_end(struct talk *talk, struct caller *caller, enum lull_code code);

/* One Echo that must work, on the connection that there is: no dial. */
void caller_still_works(struct caller *caller);
/* One Echo that must work, on whatever connection. */
void caller_works(struct caller *caller);

struct row {
    const char *cut;      /* what happens to the network */
    const char *under;    /* what the channel does meanwhile */
    const char *settings; /* the options that count */
    const char *promise;  /* in words: "time + timeout" */
    int64_t least_ns;     /* not before */
    int64_t promise_ns;
    int64_t slack_ns; /* 0: CALLER_SLACK_NS */
};

/* Prints a row with the measured time and what was told, and judges it. */
void row_took(const struct row *row, struct lull_instant from, struct lull_instant to,
              const char *told);
/* A row about a fault that healed: nothing was closed, nothing was lost. `how`: what stands for the measured time. */
void row_lived(const struct row *row, const char *how);

/* The parts of a text that must be there, up to a NULL. */
void caller_has(const char *text, ...);

#endif
