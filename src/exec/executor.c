/* SPDX-License-Identifier: MIT */
/*
 * The executor as an object (lull/executor.h, exec/executor.h): its making and end, who is in
 * context, what is queued, what it shares.
 *
 * The phases of a turn are in turn.c, the dealings with the loop in alarm.c.
 */
#include "exec/executor.h"

#include <string.h>

#include "base/cold.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "base/sized.h"
#include "exec/executor_parts.h"

#define TASK_BUDGET 1024u

void lull_task_init(struct lull_task *task, lull_task_fn run)
{
    memset(task, 0, sizeof(*task));
    task->run = run;
}

LULL_COLD int lull_executor_new(const struct lull_executor_options *options, struct lull_executor **out)
{
    struct lull_executor_options chosen;
    lull_executor_options_init(&chosen);
    if (options != NULL) {
        static const struct sized kind = {.first = SIZED_UP_TO(struct lull_executor_options, task_budget),
                                          .own = sizeof(*options)};
        if (sized_take(&kind, &chosen, options, NULL) != LULL_OK) {
            return LULL_RC_INVALID;
        }
    }
    void *block;
    struct lull_executor *executor = mem_lines(chosen.allocator, sizeof(*executor), &block);
    if (executor == NULL) {
        return LULL_RC_NOMEM;
    }
    memset(executor, 0, sizeof(*executor));
    executor->block = block;
    executor->counters.size = sizeof(executor->counters);
    executor->counters.allocations = 1;
    executor->clock = chosen.clock != NULL ? chosen.clock : lull_clock_system();
    executor->allocator = chosen.allocator != NULL ? chosen.allocator : lull_allocator_system();
    executor->task_budget = chosen.task_budget != 0 ? chosen.task_budget : TASK_BUDGET;
    executor->alarm_at = lull_at(LULL_NEVER);
    atomic_init(&executor->front.owner, 0);
    atomic_init(&executor->driver, thread_id());
    atomic_init(&executor->is_soon_asked, false);
    atomic_init(&executor->loop_state, EXECUTOR_LOOP_AWAKE);
    atomic_init(&executor->takers, 0);
    atomic_init(&executor->comers, 0);
    atomic_init(&executor->is_held, false);
    wait_cell_init(&executor->turn_free);
    wait_cell_init(&executor->roles_lock);
    inbox_init(&executor->inbox);
    task_queue_init(&executor->ready);
    task_queue_init(&executor->tasks);
    task_queue_init(&executor->flushes);
    task_queue_init(&executor->dead);
    timerq_init(&executor->timers, executor->allocator, &executor->counters);
    lanes_init(&executor->lanes, executor);
    size_classes_init(&executor->classes, executor->allocator, &executor->counters,
                      executor_is_owner, executor);
    list_init(&executor->refusal_watches);
    list_init(&executor->waiters);
    *out = executor;
    return LULL_OK;
}

LULL_COLD static void drop_unused_shares(struct lull_executor *executor)
{
    for (unsigned i = 0; i < EXECUTOR_SHARES; i++) {
        struct executor_share *share = executor->shares[i];
        if (share != NULL && share->users == 0) {
            executor->shares[i] = NULL;
            share->free(executor, share);
        }
    }
}

LULL_COLD void lull_executor_free(struct lull_executor *executor)
{
    if (executor == NULL) {
        return;
    }
    LULL_INVARIANT(executor_claim(executor), "an executor is freed in its own context");
    executor_run_dead(executor);
    executor_set_loop(executor, NULL);
    if (executor->driven_by != NULL) {
        lull_fake_clock_drop(executor->driven_by, executor);
    }
    drop_unused_shares(executor);
    lanes_fini(&executor->lanes);
    timerq_fini(&executor->timers);
    size_classes_fini(&executor->classes);
    wait_cell_fini(&executor->turn_free);
    wait_cell_fini(&executor->roles_lock);
    mem_release(executor->allocator, executor->read_buffer);
    mem_release(executor->allocator, executor->write_buffer);
    mem_release(executor->allocator, executor->record_buffer);
    mem_release(executor->allocator, executor->block);
}

/* ---- context */

bool executor_is_owner(void *of)
{
    struct lull_executor *executor = of;
    const uintptr_t owner = atomic_load_explicit(&executor->front.owner, memory_order_relaxed);
    if (owner != 0) {
        return owner == thread_id();
    }
    return atomic_load_explicit(&executor->driver, memory_order_relaxed) == thread_id();
}

void executor_drive(struct lull_executor *executor)
{
    const uintptr_t self = thread_id();
    if (atomic_load_explicit(&executor->driver, memory_order_relaxed) != self) {
        atomic_store_explicit(&executor->driver, self, memory_order_seq_cst);
    }
}

bool executor_claim(struct lull_executor *executor)
{
    uintptr_t nobody = 0;
    const uintptr_t self = thread_id();
    /* Acquire pairs with executor_yield: what the last thread in context did is seen by this one. Sequentially consistent when it
     * fails: see executor_yield. */
    const bool is_mine = atomic_compare_exchange_strong_explicit(&executor->front.owner, &nobody, self,
                                                                 memory_order_seq_cst, memory_order_seq_cst) ||
                         executor_inherit(executor);
    if (is_mine && atomic_load_explicit(&executor->linger.is_on, memory_order_relaxed)) {
        linger_interrupt(executor);
    }
    return is_mine;
}

void executor_yield(struct lull_executor *executor)
{
    /* "I give it back, then I look who waits" on this side, "I say that I wait, then I try" on the other: not both can miss. */
    atomic_store_explicit(&executor->front.owner, 0, memory_order_seq_cst);
    if (atomic_load_explicit(&executor->takers, memory_order_seq_cst) != 0) {
        wait_cell_bump(&executor->turn_free);
    }
}

/* Just claimed, and not for a turn: the clock is read by the first who asks. */
static void begin_visit(struct lull_executor *executor)
{
    executor->turn_now = lull_at(INT64_MIN);
    executor->front.now_is_stale = true;
}

int lull_executor_enter(struct lull_executor *executor)
{
    if (!executor_claim(executor)) {
        return LULL_RC_IN_TURN;
    }
    if (!executor_is_open(executor)) {
        executor_drive(executor);
    }
    begin_visit(executor);
    return LULL_OK;
}

bool executor_may_be_visited(const struct lull_executor *executor)
{
    return executor_is_open(executor);
}

bool executor_is_driver(const struct lull_executor *executor)
{
    return atomic_load_explicit(&executor->driver, memory_order_seq_cst) == thread_id();
}

void executor_set_kept(struct lull_executor *executor)
{
    atomic_store_explicit(&executor->keepers, 1, memory_order_relaxed);
}

bool executor_is_kept(const struct lull_executor *executor)
{
    return atomic_load_explicit(&executor->keepers, memory_order_relaxed) != 0;
}

bool executor_keep(struct lull_executor *executor)
{
    /* Who keeps one more has one that keeps it so far. */
    if (!executor_is_kept(executor)) {
        return false;
    }
    (void)atomic_fetch_add_explicit(&executor->keepers, 1, memory_order_relaxed);
    return true;
}

bool executor_unkeep(struct lull_executor *executor)
{
    return executor_is_kept(executor) &&
           atomic_fetch_sub_explicit(&executor->keepers, 1, memory_order_acq_rel) == 1;
}

void executor_set_ending(struct lull_executor *executor)
{
    /* As executor_take_between_turns: it is said before the context is asked for, and looked at once that was given back. */
    atomic_store_explicit(&executor->is_ending, true, memory_order_seq_cst);
}

bool executor_is_ending(const struct lull_executor *executor)
{
    return atomic_load_explicit(&executor->is_ending, memory_order_seq_cst);
}

static bool may_visit(const struct lull_executor *executor)
{
    return executor_is_open(executor) ||
           atomic_load_explicit(&executor->driver, memory_order_relaxed) == thread_id();
}

bool executor_visit(struct lull_executor *executor)
{
    if (!may_visit(executor) || !executor_claim(executor)) {
        return false;
    }
    begin_visit(executor);
    return true;
}

void executor_end_visit(struct lull_executor *executor)
{
    executor_yield(executor);
}

bool executor_take_within(struct lull_executor *executor, int64_t patience_ns)
{
    bool is_mine = executor_claim(executor);
    if (!is_mine) {
        bool is_patient = true;
        (void)atomic_fetch_add_explicit(&executor->takers, 1, memory_order_seq_cst);
        uint32_t seen = wait_cell_read(&executor->turn_free);
        while (!(is_mine = executor_claim(executor)) && is_patient) {
            is_patient = wait_cell_wait(&executor->turn_free, seen, patience_ns);
            seen = wait_cell_read(&executor->turn_free);
        }
        (void)atomic_fetch_sub_explicit(&executor->takers, 1, memory_order_relaxed);
    }
    if (is_mine) {
        begin_visit(executor);
    }
    return is_mine;
}

void executor_take(struct lull_executor *executor)
{
    (void)executor_take_within(executor, LULL_NEVER);
}

bool executor_take_between_turns(struct lull_executor *executor)
{
    bool is_turn = false;
    (void)atomic_fetch_add_explicit(&executor->takers, 1, memory_order_seq_cst);
    uint32_t seen = wait_cell_read(&executor->turn_free);
    /* Sequentially consistent: either this claim sees the context given back, or who gives it back sees what was put in before this. */
    while (!executor_claim(executor)) {
        is_turn = atomic_load_explicit(&executor->is_calling_back, memory_order_seq_cst);
        if (is_turn) {
            break;
        }
        /* Not for longer: whoever is in context may just be about to begin a turn. */
        (void)wait_cell_wait(&executor->turn_free, seen, LULL_MS);
        seen = wait_cell_read(&executor->turn_free);
    }
    (void)atomic_fetch_sub_explicit(&executor->takers, 1, memory_order_relaxed);
    if (!is_turn) {
        begin_visit(executor);
    }
    return !is_turn;
}

bool executor_take_open(struct lull_executor *executor)
{
    if (executor_is_open(executor)) {
        executor_take(executor);
        return true;
    }
    return false;
}

void lull_executor_leave(struct lull_executor *executor)
{
    LULL_INVARIANT(executor_is_here(executor), "the context is left by who did not enter it");
    executor_alarm_update(executor);
    if (executor->is_alarm_refused) {
        /* Only a turn can tell those who counted on it. */
        executor_ask_soon(executor);
    }
    executor_yield(executor);
}

bool executor_enter(struct lull_executor *executor)
{
    if (executor_is_here(executor)) {
        return false;
    }
    if (!executor_take_open(executor)) {
        const int rc = lull_executor_enter(executor);
        LULL_INVARIANT(rc == LULL_OK,
                       "a channel or a server is used on a thread that does not drive its loop");
    }
    return true;
}

bool executor_try_enter(struct lull_executor *executor, bool *had_to_enter)
{
    *had_to_enter = !executor_is_here(executor);
    return !*had_to_enter || executor_visit(executor);
}

bool executor_is_in_turn(const struct lull_executor *executor)
{
    return executor->is_turn;
}

bool executor_is_calling_back(const struct lull_executor *executor)
{
    return atomic_load_explicit(&executor->is_calling_back, memory_order_relaxed);
}

void executor_leave(struct lull_executor *executor, bool had_to_enter)
{
    if (had_to_enter) {
        lull_executor_leave(executor);
    }
}

bool lull_executor_in_context(const struct lull_executor *executor)
{
    return executor_is_here(executor);
}

/* ---- queues */

void lull_executor_post(struct lull_executor *executor, struct lull_task *task)
{
    LULL_INVARIANT(executor_is_here(executor), "a task is posted outside the context");
    (void)task_queue_push(&executor->tasks, task);
}

bool lull_executor_unpost(struct lull_executor *executor, struct lull_task *task)
{
    LULL_INVARIANT(executor_is_here(executor), "a task is taken back outside the context");
    return task_queue_remove(task);
}

bool lull_executor_submit(struct lull_executor *executor, struct lull_task *task)
{
    if (inbox_push(&executor->inbox, task) == INBOX_ALREADY) {
        return false;
    }
    /* In context, the end of the turn or of the visit looks at the inbox. */
    if (executor->loop != NULL && !executor_is_here(executor)) {
        /* Sequentially consistent, as the push before it and executor_drive: a thread that drove once either sees that another
         * drives now, or that other sees the task before it sleeps. */
        if (atomic_load_explicit(&executor->driver, memory_order_seq_cst) == thread_id()) {
            executor_ask_soon(executor);
        } else {
            executor_wake_if_asleep(executor);
        }
    }
    return true;
}

void executor_post_ready(struct lull_executor *executor, struct lull_task *task)
{
    const bool is_here = executor_is_here(executor);
    LULL_INVARIANT(is_here || atomic_load_explicit(&executor->front.owner, memory_order_relaxed) == 0,
                   "an endpoint is made ready while another thread is in context");
    if (task_queue_push(&executor->ready, task) && !is_here && executor->loop != NULL &&
        atomic_load_explicit(&executor->loop_state, memory_order_relaxed) == EXECUTOR_LOOP_ASLEEP) {
        /* An awake loop is about to run the turn for which it makes this endpoint ready. */
        executor_ask_soon(executor);
    }
}

void executor_post_flush(struct lull_executor *executor, struct lull_task *task)
{
    LULL_INVARIANT(executor_is_here(executor), "a flush is posted outside the context");
    (void)task_queue_push(&executor->flushes, task);
}

void executor_post_dead(struct lull_executor *executor, struct lull_task *task)
{
    LULL_INVARIANT(executor_is_here(executor), "a free is posted outside the context");
    (void)task_queue_push(&executor->dead, task);
}

bool executor_has_work(struct lull_executor *executor)
{
    return !task_queue_is_empty(&executor->tasks) || !task_queue_is_empty(&executor->ready) ||
           (!task_queue_is_empty(&executor->flushes) &&
            !atomic_load_explicit(&executor->is_held, memory_order_relaxed)) ||
           !task_queue_is_empty(&executor->dead) || !inbox_is_empty(&executor->inbox);
}

struct lull_instant lull_executor_next_at(struct lull_executor *executor)
{
    if (executor->is_orphan) {
        return lull_at(LULL_NEVER);
    }
    return executor_has_work(executor) ? lull_at(INT64_MIN) : timerq_earliest(&executor->timers);
}

/* ---- time */

static struct lull_instant read_clock(struct lull_executor *executor)
{
    executor->counters.clock_reads++;
    return lull_clock_now(executor->clock);
}

struct lull_instant executor_fresh_now(struct lull_executor *executor)
{
    if (executor->front.now_is_stale) {
        const struct lull_instant read = read_clock(executor);
        executor->front.now_is_stale = false;
        /* A driver's `now` may be ahead of the clock by its rounding; a turn never goes back. */
        if (lull_instant_before(executor->turn_now, read)) {
            executor->turn_now = read;
        }
    }
    return executor->turn_now;
}

struct lull_instant lull_executor_now(struct lull_executor *executor)
{
    if (executor_is_here(executor)) {
        return executor_fresh_now(executor);
    }
    if (!executor_visit(executor)) {
        return lull_clock_now(executor->clock); /* whoever is in context has the counters */
    }
    const struct lull_instant now = read_clock(executor);
    executor_end_visit(executor);
    return now;
}

struct lull_clock *lull_executor_clock(const struct lull_executor *executor)
{
    return executor->clock;
}

static struct lull_instant driven_next_at(void *ctx)
{
    return lull_executor_next_at(ctx);
}

static void driven_turn(void *ctx, struct lull_instant now)
{
    (void)lull_executor_turn(ctx, now);
}

int lull_executor_attach(struct lull_executor *executor, struct lull_fake_clock *clock)
{
    const int rc = lull_fake_clock_drive(clock, driven_next_at, driven_turn, executor);
    if (rc == LULL_OK) {
        executor->driven_by = clock;
    }
    return rc;
}

/* ---- what is shared */

static uint8_t *buffer(struct lull_executor *executor, uint8_t **which, size_t size)
{
    if (*which == NULL) {
        *which = mem_alloc(executor->allocator, size);
        executor->counters.allocations += *which != NULL;
    }
    return *which;
}

uint8_t *executor_read_buffer(struct lull_executor *executor)
{
    return buffer(executor, &executor->read_buffer, EXECUTOR_BUFFER_BYTES);
}

uint8_t *executor_write_buffer(struct lull_executor *executor)
{
    return buffer(executor, &executor->write_buffer, EXECUTOR_BUFFER_BYTES);
}

uint8_t *executor_record_buffer(struct lull_executor *executor)
{
    return buffer(executor, &executor->record_buffer, EXECUTOR_RECORD_BYTES);
}

void executor_trim(struct lull_executor *executor)
{
    LULL_INVARIANT(executor_is_here(executor), "an executor is trimmed outside its context");
    mem_release(executor->allocator, executor->read_buffer);
    mem_release(executor->allocator, executor->write_buffer);
    mem_release(executor->allocator, executor->record_buffer);
    executor->read_buffer = NULL;
    executor->write_buffer = NULL;
    executor->record_buffer = NULL;
    drop_unused_shares(executor);
    lanes_trim(&executor->lanes);
    timerq_trim(&executor->timers);
    size_classes_trim(&executor->classes);
}

struct size_classes *executor_classes(struct lull_executor *executor)
{
    return &executor->classes;
}

struct lull_counters *executor_counters(struct lull_executor *executor)
{
    return &executor->counters;
}

void lull_executor_counters(const struct lull_executor *executor, struct lull_counters *out)
{
    const size_t size =
        out->size < sizeof(executor->counters) ? out->size : sizeof(executor->counters);
    if (size < sizeof(out->size)) {
        return;
    }
    memcpy(out, &executor->counters, size);
    out->size = size;
}

const struct lull_allocator *executor_allocator(const struct lull_executor *executor)
{
    return executor->allocator;
}

struct timerq *executor_timerq(struct lull_executor *executor)
{
    return &executor->timers;
}

struct lanes *executor_lanes(struct lull_executor *executor)
{
    return &executor->lanes;
}

void executor_on_channel_made(struct lull_executor *executor)
{
    executor->channels++;
}

void executor_on_channel_freed(struct lull_executor *executor)
{
    executor->channels--;
}

unsigned executor_channels(const struct lull_executor *executor)
{
    return executor->channels;
}

struct executor_share **executor_share(struct lull_executor *executor, enum executor_share_of of)
{
    return &executor->shares[of];
}

struct lingering *executor_linger(struct lull_executor *executor)
{
    return &executor->linger;
}

uint64_t executor_turn_number(const struct lull_executor *executor)
{
    return executor->turns_with_frees + (executor->is_quiet ? 1 : 0);
}
