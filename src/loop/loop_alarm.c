/* SPDX-License-Identifier: MIT */
#include "loop/loop_alarm.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

void loop_alarm_init(struct loop_alarm *alarm)
{
    alarm->fd = -1;
    alarm->is_boottime = false;
    alarm->armed_at = lull_at(LULL_NEVER);
}

/*
 * CLOCK_BOOTTIME timers came with Linux 3.15. Without them the clock may be another one than the
 * timer's, so alarms are set relative to now.
 */
static int open_timer(struct loop_alarm *alarm, struct lull_counters *counters)
{
    int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);

    counters->syscalls++;
    alarm->is_boottime = fd >= 0;
    if (fd < 0 && errno == EINVAL) {
        fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        counters->syscalls++;
    }
    return fd;
}

int loop_alarm_open(struct loop_alarm *alarm, int epoll_fd, struct lull_counters *counters)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {.ptr = alarm}};
    int fd = open_timer(alarm, counters);
    int err;

    if (fd < 0) {
        return errno;
    }
    counters->syscalls++;
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        err = errno;
        close(fd);
        return err;
    }
    alarm->fd = fd;
    return 0;
}

int loop_alarm_set(struct loop_alarm *alarm, struct lull_clock *clock, struct lull_instant at,
                   struct lull_counters *counters)
{
    bool is_absolute;
    struct itimerspec spec = {0};
    int64_t ns = at.ns;

    if (!lull_instant_before(at, alarm->armed_at)) {
        return 0;
    }
    is_absolute = alarm->is_boottime && clock == lull_clock_system();
    if (!is_absolute) {
        counters->clock_reads++;
        ns = lull_instant_diff(at, lull_clock_now(clock));
    }
    if (ns < 1) {
        ns = 1; /* 0 would disarm */
    }
    spec.it_value.tv_sec = (time_t)(ns / LULL_SECOND);
    spec.it_value.tv_nsec = (long)(ns % LULL_SECOND);
    counters->syscalls++;
    if (timerfd_settime(alarm->fd, is_absolute ? TFD_TIMER_ABSTIME : 0, &spec, NULL) != 0) {
        return errno;
    }
    alarm->armed_at = at;
    return 0;
}

void loop_alarm_on_expired(struct loop_alarm *alarm)
{
    alarm->armed_at = lull_at(LULL_NEVER);
}

void loop_alarm_close(struct loop_alarm *alarm)
{
    if (alarm->fd >= 0) {
        close(alarm->fd);
        alarm->fd = -1;
    }
    loop_alarm_init(alarm);
}
