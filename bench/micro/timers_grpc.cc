/* SPDX-License-Identifier: MIT */
/*
 * grpc::Alarm in the families "push" and "attempt". A deadline is pushed out by Cancel, taking the cancelled event off the
 * completion queue, and Set: there is no other way.
 */
#include <deque>

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpc/grpc.h>

#include "timers.h"

static grpc::CompletionQueue *queue;
static std::deque<grpc::Alarm> *alarms;
static gpr_timespec now;
static bool is_first_armed;

static gpr_timespec after(int64_t ns)
{
    return gpr_time_add(now, gpr_time_from_nanos(ns, GPR_TIMESPAN));
}

static void take_event()
{
    void *tag;
    bool ok;
    MICRO_MUST(queue->Next(&tag, &ok));
}

static void subject_open(size_t others, size_t values)
{
    (void)values;
    queue = new grpc::CompletionQueue;
    alarms = new std::deque<grpc::Alarm>(others + 2);
    now = gpr_now(GPR_CLOCK_MONOTONIC);
    for (size_t i = 2; i < others + 2; i++) {
        (*alarms)[i].Set(queue, after(others_after_ns(i)), nullptr);
    }
    is_first_armed = false;
}

static void subject_close(void)
{
    for (size_t i = is_first_armed ? 0 : 2; i < alarms->size(); i += i == 0 ? 2 : 1) {
        (*alarms)[i].Cancel();
        take_event();
    }
    delete alarms;
    queue->Shutdown();
    delete queue;
}

static void subject_inside(void (*fn)(void))
{
    fn();
}

static inline bool subject_can(size_t others)
{
    (void)others;
    return true;
}

static inline void subject_push(size_t which, int64_t now_ns)
{
    (void)now_ns;
    if (which != 0 || is_first_armed) {
        (*alarms)[which].Cancel();
        take_event();
    } else {
        is_first_armed = true;
    }
    (*alarms)[which].Set(queue, after(PUSH_AFTER_NS), nullptr);
}

static inline void subject_cancel_two(void)
{
    (*alarms)[0].Cancel();
    (*alarms)[1].Cancel();
    take_event();
    take_event();
}

static inline void subject_arm_two(size_t value, int64_t now_ns)
{
    (void)now_ns;
    (*alarms)[0].Set(queue, after(window_ns(value)), nullptr);
    (*alarms)[1].Set(queue, after(deadline_ns(value)), nullptr);
}

#include "timers_rows.h"

int main(int argc, char **argv)
{
    grpc_init();
    const int status = run_rows(argc, argv, "grpc-alarm");
    grpc_shutdown();
    return status;
}
