/* SPDX-License-Identifier: MIT */
/*
 * The executor's dealings with its loop: alarms, wake, soon, sleep.
 *
 * Decides: when the loop is asked for an alarm (only when the next instant moved earlier than the
 * alarm that stands) and when a submit has to wake it. Called by executor.c and turn.c; the loop
 * calls executor_sleep, executor_awake and executor_on_alarm_gone. Must not know: epoll, hosts.
 *
 * A host's alarm may call back before `alarm` returns, twice, early, late or stale (RULINGS 18).
 * Turns do not nest, so such a call is refused or runs a turn with nothing to do; what matters here
 * is that an alarm that was used up is not counted on, and that one which still stands is: a turn for another reason says nothing
 * about it, so a host is not asked twice for one instant, and a refusal costs nothing while an earlier alarm stands.
 */
#include "exec/executor.h"

#include "exec/executor_parts.h"

void executor_set_loop(struct lull_executor *executor, struct lull_loop *loop)
{
    if (executor->loop != NULL && executor->has_asked_alarm) {
        /* A callback that comes later would reach an executor that is gone. One that is over here may be late there, or come twice. */
        (void)executor->loop->ops->alarm(executor->loop, lull_at(LULL_NEVER));
    }
    executor->loop = loop;
    executor->has_asked_alarm = false;
    executor->alarm_at = lull_at(LULL_NEVER);
    executor->is_alarm_refused = false;
    atomic_store_explicit(&executor->is_soon_asked, false, memory_order_relaxed);
    executor->is_loop_silent = false;
    atomic_store_explicit(&executor->loop_state, EXECUTOR_LOOP_AWAKE, memory_order_seq_cst);
}

struct lull_loop *executor_loop(const struct lull_executor *executor)
{
    return executor->loop;
}

bool executor_is_alarm_refused(const struct lull_executor *executor)
{
    return executor->is_alarm_refused;
}

void executor_on_alarm_gone(struct lull_executor *executor)
{
    if (executor->is_asking_alarm) {
        executor->is_alarm_lost = true;
    }
    executor->is_soon_lost = executor->is_asking_soon;
    executor->alarm_at = lull_at(LULL_NEVER);
}

void executor_alarm_on_refused(struct lull_executor *executor)
{
    /* Another thread's attempt says nothing about our alarm. */
    if (!executor_is_here(executor)) {
        return;
    }
    if (executor->is_asking_alarm) {
        executor->is_alarm_lost = true;
    }
    executor->is_soon_lost = executor->is_asking_soon;
}

void executor_alarm_on_turn(struct lull_executor *executor, struct lull_instant now)
{
    /* Before the inbox is taken: a submit that still finds it set is in what this turn takes. */
    if (atomic_load_explicit(&executor->is_soon_asked, memory_order_seq_cst)) {
        atomic_store_explicit(&executor->is_soon_asked, false, memory_order_seq_cst);
    }
    /* Whether it brought this turn or is about to come late: it serves nobody any more. One that came early has been told
     * (executor_on_alarm_gone). */
    if (executor->alarm_at.ns <= now.ns) {
        executor->alarm_at = lull_at(LULL_NEVER);
    }
    if (executor->is_loop_silent) {
        atomic_store_explicit(&executor->loop_state, EXECUTOR_LOOP_AWAKE, memory_order_relaxed);
    }
}

/* Calls the loop's alarm. The standing one counts until the new one is accepted. */
static void ask_alarm(struct lull_executor *executor, struct lull_instant at)
{
    const struct lull_instant standing = executor->alarm_at;
    executor->counters.alarms++;
    executor->has_asked_alarm = true;
    executor->is_asking_alarm = true;
    executor->is_alarm_lost = false;
    const int refused = executor->loop->ops->alarm(executor->loop, at);
    executor->is_asking_alarm = false;
    executor->is_alarm_refused = refused != 0;
    executor->alarm_at = refused != 0 ? standing : at;
    if (executor->is_alarm_lost) {
        /* It called back inside: for the turn that it could not run we ask in another way. */
        executor->alarm_at = lull_at(LULL_NEVER);
        executor_ask_soon(executor);
    }
}

void executor_alarm_update(struct lull_executor *executor)
{
    if (executor->loop == NULL || executor->is_orphan) {
        return;
    }
    if (executor->is_loop_silent) {
        /* Before the look at the inbox, as in executor_sleep. */
        atomic_store_explicit(&executor->loop_state, EXECUTOR_LOOP_ASLEEP, memory_order_seq_cst);
    }
    const bool has_work = executor_has_work(executor);
    struct lull_instant at = timerq_earliest(&executor->timers);
    if (has_work) {
        /* A turn's now is early enough, stale or not; a visit may not have read the clock at all. */
        const bool is_unread = executor->turn_now.ns == INT64_MIN;
        at = is_unread ? executor_fresh_now(executor) : executor->turn_now;
    }
    if (lull_instant_before(at, executor->alarm_at)) {
        ask_alarm(executor, at);
        if (!has_work && !inbox_is_empty(&executor->inbox)) {
            /* Submitted from inside `alarm`, after we had looked. */
            executor_ask_soon(executor);
        }
    } else {
        executor->is_alarm_refused = false;
    }
}

void executor_alarm_after_quiet(struct lull_executor *executor)
{
    if (executor->loop == NULL) {
        return;
    }
    const struct lull_instant at = timerq_earliest(&executor->timers);
    executor->is_alarm_refused = false;
    if (lull_instant_before(at, executor->alarm_at)) {
        ask_alarm(executor, at);
    }
    if (executor->is_alarm_refused || executor_has_work(executor)) {
        executor_ask_soon(executor);
    }
}

/*
 * On a host's thread the verb is called in context, so that a turn inside it is refused: it would run inside whatever asked, a
 * start, or a host that walks its watches. The host may have had no other turn in mind, so that one is asked for by the alarm.
 */
void executor_call_verb(struct lull_executor *executor, void (*verb)(struct lull_loop *loop))
{
    const bool visits =
        executor->is_loop_silent && !executor_is_here(executor) && executor_visit(executor);
    if (!visits && !executor_is_here(executor)) {
        verb(executor->loop);
        return;
    }
    executor->is_asking_soon = true;
    executor->is_soon_lost = false;
    verb(executor->loop);
    executor->is_asking_soon = false;
    if (executor->is_soon_lost) {
        atomic_store_explicit(&executor->is_soon_asked, false, memory_order_seq_cst);
    }
    if (visits) {
        if (executor->is_soon_lost) {
            executor_alarm_update(executor);
        }
        executor_end_visit(executor);
    }
}

void executor_ask_soon(struct lull_executor *executor)
{
    const struct lull_loop_ops *ops = executor->loop->ops;
    if (!atomic_exchange_explicit(&executor->is_soon_asked, true, memory_order_seq_cst)) {
        executor_call_verb(executor, ops->soon != NULL ? ops->soon : ops->wake);
    }
    if (executor_is_open(executor)) {
        /* Who drove last may not be the one who sleeps now. */
        executor_wake_if_asleep(executor);
    }
}

void executor_wake_if_asleep(struct lull_executor *executor)
{
    /*
     * Sequentially consistent, as the push before it and both steps of executor_sleep: either we
     * see the loop asleep or it sees our task.
     */
    int asleep = EXECUTOR_LOOP_ASLEEP;
    if (atomic_load_explicit(&executor->loop_state, memory_order_seq_cst) == EXECUTOR_LOOP_ASLEEP &&
        atomic_compare_exchange_strong_explicit(&executor->loop_state, &asleep, EXECUTOR_LOOP_AWAKE,
                                                memory_order_seq_cst, memory_order_relaxed)) {
        executor->loop->ops->wake(executor->loop);
    }
}

bool executor_sleep(struct lull_executor *executor)
{
    executor_drive(executor);
    atomic_store_explicit(&executor->loop_state, EXECUTOR_LOOP_ASLEEP, memory_order_seq_cst);
    /* Whoever came when it was awake counted on it for what is held. */
    if (inbox_is_empty(&executor->inbox) && !roles_has_everybody_come(executor)) {
        return true;
    }
    executor_awake(executor);
    return false;
}

void executor_awake(struct lull_executor *executor)
{
    atomic_store_explicit(&executor->loop_state, EXECUTOR_LOOP_AWAKE, memory_order_seq_cst);
}

void executor_set_loop_silent(struct lull_executor *executor)
{
    executor->is_loop_silent = true;
    atomic_store_explicit(&executor->loop_state, EXECUTOR_LOOP_ASLEEP, memory_order_seq_cst);
}
