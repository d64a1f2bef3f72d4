/* SPDX-License-Identifier: MIT */
/*
 * What all loops have in common (lull/loop.h): the executor, stopping, and running by the seam's
 * own verbs. The built-in loop is loop_epoll.c or loop_poll.c.
 */
#include "loop/loop.h"

#include "base/cold.h"
#include "base/invariant.h"
#include "base/rc.h"
#include "base/sized.h"
#include "exec/executor.h"
#include "exec/orphan.h"
#include "exec/roles.h"
#include "loop/loop_fork.h"
#include "loop/loop_thread.h"

/* The most turns that lull_loop_fini runs for work that waits and ends no call. */
#define LAST_TURNS 64

int loop_init_telling(struct lull_loop *loop, const struct lull_loop_ops *ops, const char *name,
                      const struct lull_executor_options *options)
{
    int rc;

    loop->ops = ops;
    loop->name = name;
    loop->executor = NULL;
    loop->owner_pid = 0;
    loop->fork_mark = NULL;
    loop->is_stopping = 0;
    loop->thread = NULL;
    loop->watched = NULL;
    rc = lull_executor_new(options, &loop->executor);
    if (rc != LULL_OK) {
        return rc;
    }
    executor_set_loop(loop->executor, loop);
    executor_set_fork_question(loop->executor, lull_loop_is_forked);
    return LULL_OK;
}

int lull_loop_init(struct lull_loop *loop, const struct lull_loop_ops *ops, const char *name,
                   const struct lull_executor_options *options)
{
    int rc = loop_init_telling(loop, ops, name, options);

    if (rc == LULL_OK) {
        loop_fork_own(loop);
        executor_set_loop_silent(loop->executor);
    }
    return rc;
}

/* What waits, until there is nothing, or nothing that ends. */
static void run_what_waits(struct lull_loop *loop)
{
    const struct lull_counters *counters = executor_counters(loop->executor);
    int idle_turns = 0;

    /* What was closed outside a turn waits for the free phase of one, and every call has its end told, however many there are.
     * Whoever posts for ever is not waited for. */
    while (idle_turns < LAST_TURNS && lull_executor_next_at(loop->executor).ns == INT64_MIN) {
        uint64_t closed = counters->calls_closed;

        (void)lull_executor_turn_now(loop->executor);
        idle_turns = counters->calls_closed != closed ? 0 : idle_turns + 1;
    }
}

LULL_COLD void lull_loop_fini(struct lull_loop *loop)
{
    if (executor_is_orphan(loop->executor)) {
        /* A thread that stayed with the parent was in the middle of something: nothing of it is touched. */
        loop_fork_close(loop);
        loop_fork_fini(loop);
        return;
    }
    loop_thread_end(loop);
    run_what_waits(loop);
    LULL_INVARIANT(executor_channels(loop->executor) == 0,
                   "a loop is freed while a channel on it, or the handle of a call, is still held; "
                   "lull_channel_close ends calls under way");
    lull_executor_free(loop->executor);
    loop->executor = NULL;
    loop_fork_fini(loop);
}

struct lull_executor *lull_loop_executor(const struct lull_loop *loop)
{
    return loop->executor;
}

void lull_watch_ready(struct lull_loop *loop, struct lull_watch *w, unsigned ready)
{
    w->ready |= ready;
    executor_post_ready(loop->executor, &w->on_ready);
}

/* ---- driving */

int loop_new_kept(const struct lull_executor_options *options, struct lull_loop **out)
{
    int rc = lull_loop_new(options, out);

    if (rc == LULL_OK) {
        executor_set_kept((*out)->executor);
    }
    return rc;
}

struct lull_loop *loop_keep(struct lull_loop *loop)
{
    return executor_keep(loop->executor) ? loop : NULL;
}

void loop_unkeep(struct lull_loop *loop)
{
    if (loop != NULL && executor_unkeep(loop->executor)) {
        lull_loop_free(loop);
    }
}

void loop_unkeep_not_last(struct lull_loop *loop)
{
    /* Of a child's copy nobody can join the thread: it stayed with the parent. */
    LULL_INVARIANT(!executor_is_kept(loop->executor) || loop->thread == NULL || lull_loop_is_forked(loop),
                   "a channel whose own loop was started is given back before lull_loop_join");
    (void)executor_unkeep(loop->executor);
}

static int may_run(const struct lull_loop *loop)
{
    if (loop->ops->run_once == NULL || lull_loop_is_forked(loop)) {
        return LULL_RC_UNSUPPORTED;
    }
    return lull_executor_in_context(loop->executor) ? LULL_RC_IN_TURN : LULL_OK;
}

/* A run; NULL where there is one below: a single round, which no stop ends. */
struct run {
    const unsigned char *is_ending; /* [nullable], atomic */
};

/* Looked at in context by whoever is about to wait: a stop wakes him who polls and those who wait by then, once. */
static bool has_to_end(const struct lull_loop *loop, const struct run *run)
{
    return run != NULL && (__atomic_load_n(&loop->is_stopping, __ATOMIC_SEQ_CST) != 0 ||
                           (run->is_ending != NULL && __atomic_load_n(run->is_ending, __ATOMIC_SEQ_CST) != 0));
}

/* Sleeps until this thread may poll, `until` is over or the loop is stopped. In context, left and entered again. */
static bool wait_for_poll(struct lull_loop *loop, struct lull_instant until, const struct run *run)
{
    struct lull_executor *executor = loop->executor;
    struct role_waiter waiter;
    int64_t left_ns = LULL_NEVER;

    role_waiter_init(&waiter, true);
    roles_enlist(executor, &waiter);
    while (wait_cell_read(&waiter.cell) == 0 && left_ns > 0 && !has_to_end(loop, run)) {
        left_ns = lull_instant_diff(until, lull_executor_now(executor));
        executor_end_visit(executor);
        (void)wait_cell_wait(&waiter.cell, 0, left_ns);
        executor_take(executor);
    }
    if ((wait_cell_read(&waiter.cell) & ROLE_POLLS) == 0) {
        roles_give_up(executor, &waiter);
    }
    role_waiter_fini(&waiter);
    return (wait_cell_read(&waiter.cell) & ROLE_POLLS) != 0;
}

/* True: this thread polls from now on. Of a host's loop its thread always does. */
static bool begin_polling(struct lull_loop *loop, struct lull_instant until, const struct run *run)
{
    bool polls;

    if (!executor_take_open(loop->executor)) {
        return true;
    }
    polls = !has_to_end(loop, run) && roles_take(loop->executor);
    if (!polls && until.ns != LOOP_UNTIL_NOW) {
        polls = wait_for_poll(loop, until, run);
    }
    executor_end_visit(loop->executor);
    return polls;
}

static void end_polling(struct lull_loop *loop)
{
    if (executor_take_open(loop->executor)) {
        roles_leave(loop->executor);
        executor_end_visit(loop->executor);
    }
}

/* Turns as long as there is work, in the role of the poller, which the thread has. False: it does not end. */
static bool run_last_turns(struct lull_loop *loop)
{
    struct lull_executor *executor = loop->executor;
    const struct lull_counters *counters = executor_counters(executor);
    int idle_turns = 0;

    while (idle_turns < LAST_TURNS) {
        uint64_t closed;

        executor_take(executor);
        closed = counters->calls_closed;
        if (lull_executor_next_at(executor).ns != INT64_MIN) {
            executor_end_visit(executor);
            return true;
        }
        executor_turn_taken(executor);
        idle_turns = counters->calls_closed != closed ? 0 : idle_turns + 1;
    }
    return false;
}

/*
 * In a forked child: whoever else polled is not there, and if somebody was in context at the fork he does not give it back. Then nobody knows
 * how far he was, and all stays as it is.
 */
static void settle_copy(struct lull_loop *loop)
{
    if (executor_visit(loop->executor)) {
        executor_end_visit(loop->executor);
        (void)run_last_turns(loop);
    }
}

void loop_settle(struct lull_loop *loop)
{
    bool has_work = loop != NULL;

    if (has_work && lull_loop_is_forked(loop)) {
        settle_copy(loop);
        return;
    }
    while (has_work && executor_take_between_turns(loop->executor)) {
        has_work = lull_executor_next_at(loop->executor).ns == INT64_MIN &&
                   roles_take(loop->executor);
        executor_end_visit(loop->executor);
        if (has_work) {
            has_work = run_last_turns(loop);
            end_polling(loop);
        }
    }
}

/* Of a loop that goes with its channel: what a callback has left to do for the end of that is done, for nobody may come after us. */
static void leave_kept(struct lull_loop *kept)
{
    if (kept != NULL && executor_is_ending(kept->executor)) {
        loop_settle(kept);
    }
    loop_unkeep(kept);
}

/* One round by the loop's own verb, as a code. If another thread polls, that one's rounds are as good. */
static int run_until(struct lull_loop *loop, struct lull_instant until)
{
    struct lull_loop *kept;
    int rc = may_run(loop);

    if (rc != LULL_OK) {
        return rc;
    }
    kept = loop_keep(loop);
    if (begin_polling(loop, until, NULL)) {
        rc = loop->ops->run_once(loop, until) == 0 ? LULL_OK : LULL_RC_SYSTEM;
        end_polling(loop);
    }
    leave_kept(kept);
    return rc;
}

void loop_tell_stop(struct lull_loop *loop)
{
    if (__atomic_load_n(&loop->is_stopping, __ATOMIC_SEQ_CST) != 0) {
        roles_stop_drivers(loop->executor);
    }
}

static bool is_stopped(struct lull_loop *loop)
{
    return __atomic_exchange_n(&loop->is_stopping, 0, __ATOMIC_SEQ_CST) != 0;
}

int loop_run_until_ending(struct lull_loop *loop, const unsigned char *is_ending)
{
    const struct run run = {.is_ending = is_ending};
    struct lull_loop *kept = loop_keep(loop);
    bool polls = false;
    int rc = lull_executor_in_context(loop->executor) ? LULL_RC_IN_TURN : LULL_OK;

    /* A stop that came before the run is not lost: the thread that asked cannot know how far we
     * are. */
    while (rc == LULL_OK && !is_stopped(loop) && !has_to_end(loop, &run)) {
        rc = may_run(loop);
        polls = rc == LULL_OK && (polls || begin_polling(loop, lull_at(LULL_NEVER), &run));
        if (polls && loop->ops->run_once(loop, lull_at(LULL_NEVER)) != 0) {
            rc = LULL_RC_SYSTEM;
        }
    }
    if (polls) {
        end_polling(loop);
    }
    leave_kept(kept);
    return rc;
}

int lull_loop_run(struct lull_loop *loop)
{
    return loop_run_until_ending(loop, NULL);
}

int lull_loop_run_once(struct lull_loop *loop, int64_t timeout_ns)
{
    struct lull_instant until = lull_at(LOOP_UNTIL_NOW);

    if (timeout_ns == LULL_NEVER) {
        until = lull_at(LULL_NEVER);
    } else if (timeout_ns > 0 && !lull_executor_in_context(loop->executor)) {
        until = lull_instant_add(lull_executor_now(loop->executor), timeout_ns);
    }
    return run_until(loop, until);
}

int lull_loop_dispatch(struct lull_loop *loop)
{
    return run_until(loop, lull_at(LOOP_UNTIL_NOW));
}

int lull_loop_on_alarm(struct lull_loop *loop)
{
    return lull_loop_is_forked(loop) ? LULL_RC_UNSUPPORTED : executor_turn_by_alarm(loop->executor);
}

int lull_loop_flush(struct lull_loop *loop)
{
    return lull_loop_is_forked(loop) ? LULL_RC_UNSUPPORTED : executor_quiet_turn(loop->executor);
}

void lull_loop_stop(struct lull_loop *loop)
{
    __atomic_store_n(&loop->is_stopping, 1, __ATOMIC_SEQ_CST);
    /* In a callback the loop looks at the mark before it sleeps. */
    if (!lull_executor_in_context(loop->executor)) {
        executor_call_verb(loop->executor, loop->ops->wake);
    }
}

LULL_COLD int loop_settle_world(const struct lull_world *given, struct lull_loop *loop, struct lull_loop *fallback,
                                struct lull_world *world, struct lull_error *error)
{
    static const struct sized kind = {SIZED_UP_TO(struct lull_world, loop), sizeof(*world), "option world's",
                                      "it with lull_world_init"};
    lull_world_init(world);
    if (given != NULL && sized_take(&kind, world, given, error) != LULL_OK) {
        return LULL_RC_INVALID;
    }
    if (loop != NULL && world->loop != NULL && loop != world->loop) {
        return rc_fail(error, LULL_RC_INVALID, "options loop and world->loop are two loops");
    }
    if (loop != NULL) {
        world->loop = loop;
    }
    if (world->loop == NULL) {
        world->loop = fallback;
    }
    if (world->loop == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "option loop is NULL and world has none");
    }
    struct lull_clock *clock = lull_executor_clock(lull_loop_executor(world->loop));
    if (world->clock != NULL && world->clock != clock) {
        return rc_fail(error, LULL_RC_INVALID,
                       "world->clock (%s) is not the clock of the loop's executor (%s)",
                       world->clock->name, clock->name);
    }
    world->clock = clock;
    return LULL_OK;
}
