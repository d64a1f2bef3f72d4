/* SPDX-License-Identifier: MIT */
/*
 * The alarm of a host that is as difficult as RULINGS 18 allows.
 *
 * Decides: when, how often and for which of its instants an alarm goes off, and when one is refused; the seed decides what is left to
 * chance. And keeps the books: what an executor may count on, and whether a refusal left it without. Called by the hosts of tests,
 * with a real clock (poll_host.h) or a fake one. Must not know executors.
 */
#ifndef TESTS_SUPPORT_HOSTILE_ALARM_H
#define TESTS_SUPPORT_HOSTILE_ALARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/types.h"

enum hostility {
    HOSTILE_EARLY = 1,    /* somewhere in the first half of the wait, as long as that is above a millisecond */
    HOSTILE_LATE = 2,     /* up to HOSTILE_LATE_NS */
    HOSTILE_TWICE = 4,    /* once more at once */
    HOSTILE_STALE = 8,    /* one that was replaced goes off all the same */
    HOSTILE_INSIDE = 16,  /* calls back from inside `alarm`, one time in four, and may have used the alarm up by that */
    HOSTILE_REFUSES = 32, /* each refuse_every-th is refused */
    HOSTILITIES = 64
};

#define HOSTILE_LATE_NS (3 * LULL_MS)

struct hostile_alarm {
    unsigned ways; /* of enum hostility, or-ed */
    unsigned refuse_every;
    uint64_t chance;
    struct lull_instant counted_on;  /* the alarm that the executor knows to stand; LULL_NEVER: none */
    struct lull_instant goes_off[8]; /* the first is the newest one's, if has_newest */
    size_t count;
    bool has_newest;
    unsigned asked, refused;
    unsigned bites; /* refusals with no alarm standing that is early enough */
};

void hostile_alarm_init(struct hostile_alarm *alarm, unsigned ways, unsigned refuse_every, uint64_t seed);

/* The verb `alarm` at `now`. 0 or an errno. */
int hostile_alarm_set(struct hostile_alarm *alarm, struct lull_instant now, struct lull_instant at);

/* Asked after it was set: whether the host calls back before `alarm` returns. */
bool hostile_alarm_calls_inside(struct hostile_alarm *alarm);

/* When it goes off next. */
struct lull_instant hostile_alarm_next(const struct hostile_alarm *alarm);

/* True when it goes off now: the host calls lull_loop_on_alarm, and asks again. */
bool hostile_alarm_take(struct hostile_alarm *alarm, struct lull_instant now);

#endif
