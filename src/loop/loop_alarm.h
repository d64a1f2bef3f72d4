/* SPDX-License-Identifier: MIT */
/*
 * The built-in loop's alarm: one timerfd.
 *
 * Decides: when setting an alarm costs a system call (only when it moves earlier), and how an
 * instant of the executor's clock becomes one of the kernel's. Called by loop_epoll.c. Must not
 * know what is due.
 *
 * The timerfd is edge-triggered in the epoll: an expiry is an event once, nobody has to read it.
 */
#ifndef LOOP_LOOP_ALARM_H
#define LOOP_LOOP_ALARM_H

#include <stdbool.h>

#include "lull/clock.h"
#include "lull/trace.h"
#include "lull/types.h"

struct loop_alarm {
    int fd;                       /* -1: not open */
    bool is_boottime;             /* it runs on CLOCK_BOOTTIME, as the system's clock then does */
    struct lull_instant armed_at; /* LULL_NEVER: not armed */
};

void loop_alarm_init(struct loop_alarm *alarm);

/* Opens the timerfd and puts it into the epoll, with `alarm` as its mark. 0 or an errno. */
int loop_alarm_open(struct loop_alarm *alarm, int epoll_fd, struct lull_counters *counters);

/*
 * Arms for `at`, above now and below LULL_NEVER. Open. An earlier arming stays: the cost is one
 * early turn. 0 or an errno.
 */
int loop_alarm_set(struct loop_alarm *alarm, struct lull_clock *clock, struct lull_instant at,
                   struct lull_counters *counters);

/* The epoll told the expiry. */
void loop_alarm_on_expired(struct loop_alarm *alarm);

/* Closes what is open. */
void loop_alarm_close(struct loop_alarm *alarm);

#endif
