/* SPDX-License-Identifier: MIT */
/*
 * What the built-in loops, loop_epoll.c and loop_poll.c, have in common: their making and end, how long they sleep, the frame of a round.
 *
 * Decides: when a round may sleep, for how long, and in which order what it heard is taken. Called by the one of the two that was
 * built. Must not know what it sleeps in.
 */
#ifndef LOOP_LOOP_BUILTIN_H
#define LOOP_LOOP_BUILTIN_H

#include <poll.h>
#include <stddef.h>

#include "lull/loop.h"
#include "lull/trace.h"

/* First in the struct of each. */
struct loop_builtin {
    struct lull_loop base; /* first */
    const struct lull_allocator *allocator; /* of the struct */
    unsigned char is_due; /* a turn was asked for by `soon`; atomic: the driver may just be changing */
    bool is_alarm_due;    /* a turn was asked for by an alarm that was due when it was set */
    bool is_time_up;      /* the round that is under way had nothing left to sleep */
    bool lingers;         /* it lets answers gather first (exec/linger.h) */
    size_t watches;       /* what is watched for something */
};

/* The loop that was built; there is one. */
struct loop_builtin_kind {
    const char *name;
    size_t size; /* of its struct */
    struct lull_loop_ops ops;
    void (*init)(struct loop_builtin *loop);
    void (*close)(struct loop_builtin *loop); /* what is open, in a forked child its copies; harmless the second time */
};

extern const struct loop_builtin_kind loop_builtin_kind;

/* The built-in loop behind `loop`; NULL: it is a host's. */
struct loop_builtin *loop_builtin_of(struct lull_loop *loop);

struct lull_counters *loop_builtin_counters(struct loop_builtin *loop);

/* The verb `soon`, but for telling a sleeper. */
void loop_builtin_ask_turn(struct loop_builtin *loop);

/* Asked for, or waiting where no descriptor tells. In context. */
bool loop_builtin_is_turn_due(struct loop_builtin *loop);

/*
 * A round is `begin`, the poll, `wake`, hearing what came, `turn`. `begin` calls `prepare` in context: it opens and lists what is polled and
 * may move `until` earlier; 0 or an errno. Who has the context already, behind a quiet turn, need not give it back before. *timeout_ms is rounded up, so that the sleep is never shorter than asked for. The turn is
 * given up while the thread sleeps.
 */
int loop_builtin_begin(struct loop_builtin *loop, struct lull_instant until,
                       int (*prepare)(struct loop_builtin *loop, struct lull_instant *until), int *timeout_ms);

/* Of a round that lingers, before its poll: waits a moment for these `count`, which end every sleep, and for nothing else; *timeout_ms becomes what
 * is left. */
void loop_builtin_linger(struct loop_builtin *loop, struct pollfd *fds, nfds_t count, int *timeout_ms);

/* Takes the context behind a poll that returned `count`. 0, or the errno that ends the round: an interrupted sleep is none, for a signal
 * handler may have asked for something. */
int loop_builtin_wake(struct loop_builtin *loop, int count);

/* The turn, which gives the context back; none if `err` is one. */
void loop_builtin_turn(struct loop_builtin *loop, int err);

#endif
