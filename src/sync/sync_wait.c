/* SPDX-License-Identifier: MIT */
/*
 * Waiting and driving. See sync_wait.h.
 */
#include "sync/sync_wait.h"

#include "base/rc.h"
#include "channel/channel.h"
#include "exec/executor.h"
#include "exec/thread_id.h"
#include "loop/loop.h"

int sync_wait_init(struct sync_wait *wait, struct lull_channel *channel, struct lull_error *error)
{
    struct lull_loop *loop = channel->world.loop;
    wait->executor = channel->executor;
    wait->loop = loop;
    wait->thread = thread_id();
    wait->is_open = executor_may_be_visited(wait->executor);
    wait->is_inside = false;
    wait->polls = false;
    if (lull_executor_in_context(wait->executor)) {
        return rc_fail(error, LULL_RC_IN_TURN, "a callback must not block");
    }
    if (lull_loop_is_forked(loop)) {
        return rc_fail(error, LULL_RC_UNSUPPORTED,
                       "the channel was made before the fork and is the parent's");
    }
    if (!wait->is_open && executor_is_driver(wait->executor)) {
        if (loop->ops->run_once == NULL) {
            return rc_fail(error, LULL_RC_UNSUPPORTED,
                           "this thread drives the loop (%s), which cannot be run from inside: "
                           "it has no run_once",
                           loop->name);
        }
        wait->polls = true;
    }
    role_waiter_init(&wait->waiter, false);
    return rc_ok(error);
}

void sync_wait_fini(struct sync_wait *wait)
{
    role_waiter_fini(&wait->waiter);
}

static uint32_t told(const struct sync_wait *wait)
{
    return wait_cell_read(&wait->waiter.cell);
}

void sync_wait_ask(struct sync_wait *wait)
{
    wait->is_inside = wait->is_open && executor_take_within(wait->executor, SYNC_WAIT_PATIENCE_NS);
    if (wait->is_inside && __atomic_load_n(&wait->loop->owner_pid, __ATOMIC_ACQUIRE) == 0) {
        /* A child that is forked before the loop is open has no such thread either. */
        loop_fork_own(wait->loop);
    }
}

void sync_wait_calls_back(struct sync_wait *wait, struct lull_task *task)
{
    if (wait->is_inside) {
        executor_task_set_ours(task);
    }
}

void sync_wait_go(struct sync_wait *wait)
{
    struct lull_executor *executor = wait->executor;
    if (wait->is_open) {
        roles_enlist(executor, &wait->waiter);
    }
    if (wait->is_inside) {
        const bool polls = (told(wait) & ROLE_POLLS) != 0;
        executor_quiet_turn_shared(executor, !polls);
        /* A round of the built-in loop begins in context. */
        if (!polls) {
            sync_wait_stay(wait);
        }
    }
}

void sync_wait_stay(struct sync_wait *wait)
{
    if (wait->is_inside) {
        wait->is_inside = false;
        lull_executor_leave(wait->executor);
    }
}

void sync_wait_flush(struct sync_wait *wait)
{
    if (wait->is_inside) {
        executor_quiet_turn_taken(wait->executor);
        sync_wait_stay(wait);
    } else if (wait->polls) {
        (void)executor_quiet_turn(wait->executor);
    }
}

/* It is told, or gives up; `bits` stand in its word. */
static void leave(struct sync_wait *wait, uint32_t bits)
{
    const bool polls = wait->polls || (bits & ROLE_POLLS) != 0;
    sync_wait_stay(wait);
    if ((bits & ROLE_COMES) != 0) {
        roles_come(wait->executor);
    }
    if (wait->is_open && polls && (bits & ROLE_LEFT) == 0) {
        executor_take(wait->executor);
        roles_leave(wait->executor);
        executor_end_visit(wait->executor);
    }
    wait->polls = false;
}

/* Sleeps on its word. False: its time is over. */
static bool sleep_on(struct sync_wait *wait, uint32_t bits, struct lull_instant until)
{
    int64_t left_ns = LULL_NEVER;
    if (until.ns != LULL_NEVER) {
        left_ns = lull_instant_diff(until, lull_clock_now(lull_executor_clock(wait->executor)));
    }
    (void)wait_cell_wait(&wait->waiter.cell, bits, left_ns);
    return left_ns > 0;
}

enum sync_wait_end sync_wait_run(struct sync_wait *wait, struct lull_instant until)
{
    bool is_late = false;
    uint32_t bits;
    while (((bits = told(wait)) & ROLE_DONE) == 0) {
        wait->polls = wait->polls || (bits & ROLE_POLLS) != 0;
        if (wait->polls) {
            wait->is_inside = false;
            if (wait->loop->ops->run_once(wait->loop, lull_at(LULL_NEVER)) != 0 && !sync_wait_is_told(wait)) {
                return SYNC_WAIT_NO_LOOP;
            }
        } else if (is_late) {
            return SYNC_WAIT_LATE;
        } else {
            is_late = !sleep_on(wait, bits, until);
        }
    }
    leave(wait, bits);
    return SYNC_WAIT_TOLD;
}

void sync_wait_until_told(struct sync_wait *wait)
{
    uint32_t bits;
    while (((bits = told(wait)) & ROLE_DONE) == 0) {
        (void)wait_cell_wait(&wait->waiter.cell, bits, LULL_NEVER);
    }
    leave(wait, bits);
}

bool sync_wait_is_told(const struct sync_wait *wait)
{
    return (told(wait) & ROLE_DONE) != 0;
}

bool sync_wait_is_own(const struct sync_wait *wait)
{
    return wait->thread == thread_id();
}

void sync_wait_tell(struct sync_wait *wait)
{
    const bool is_self = sync_wait_is_own(wait);
    roles_tell(wait->executor, &wait->waiter, is_self ? ROLE_DONE : ROLE_DONE | ROLE_COMES, is_self);
}

void sync_wait_turn(struct sync_wait *wait)
{
    if (wait->is_open) {
        executor_take(wait->executor);
        executor_turn_taken(wait->executor);
    } else {
        (void)lull_executor_turn_now(wait->executor);
    }
    if (sync_wait_is_told(wait)) {
        leave(wait, told(wait));
    }
}

void sync_wait_give_up(struct sync_wait *wait)
{
    if (wait->is_open && !wait->polls) {
        (void)roles_withdraw(wait->executor, &wait->waiter);
    }
    leave(wait, told(wait));
}
