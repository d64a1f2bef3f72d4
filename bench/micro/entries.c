/* SPDX-License-Identifier: MIT */
/*
 * The family "entries": the deadline and the read timeout of an attempt on one entry, as channel/call_timeouts has them, against
 * an entry each, on the same lanes and with the same arithmetic.
 *
 * An attempt has 60 s and a read window of 10 s or 60 s. With two entries a byte is a store as well, the window's entry asks when
 * it fires and is armed for the rest, and none is armed where the window cannot matter. A thread has an executor of its own; what it
 * takes is its own CPU time, so that threads which wait for a CPU are no part of it. Blocks of both, and of the same loop with nothing in
 * it, take turns. What threads took differs, so the least and the most of them are shown as well.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/container.h"
#include "exec/executor.h"
#include "exec/lane.h"
#include "micro.h"
#include "policy/deadline.h"

#define ATTEMPTS       1000u /* at once */
#define THREADS_MAX    32u
#define BLOCKS_MAX     64u /* that an executor may have of the allocator */
#define UNTOUCHED      0xA5
#define LINE_BYTES     64
#define DEADLINE_NS    (60 * LULL_SECOND)
#define WINDOW_NS      (10 * LULL_SECOND)
#define BYTE_BEFORE_NS LULL_SECOND /* the last byte came so long before the window's entry fires */

/* Of the attempts one after another. */
#define BYTE_NS(i) ((int64_t)(i)*100)

/* Each from a line on, so that neither lies across more lines than it must. */
struct one {
    _Alignas(LINE_BYTES) struct lane_entry entry;
    struct deadline deadline;
};

struct two {
    _Alignas(LINE_BYTES) struct lane_entry window;
    struct lane_entry deadline;
    struct deadline facts;
};

enum kind {
    ONE,
    TWO,
    EMPTY,
    KINDS
};

struct thread {
    pthread_t id;
    struct lull_executor *executor;
    struct lull_allocator allocator;
    struct {
        void *at;
        size_t size;
    } blocks[BLOCKS_MAX];
    uint64_t asked; /* of the allocator */
    struct lull_instant now;
    struct one *ones;
    struct two *twos;
    unsigned block_rounds;
    double best_ns[KINDS];
    uint64_t asked_steady;
    uint64_t queue_ops;
};

/* What a row does. */
static struct {
    int64_t window_ns;
    unsigned fires;
    bool works;      /* between two attempts */
    unsigned rounds; /* timed blocks of each kind */
} row;

static struct thread threads[THREADS_MAX];
static pthread_barrier_t together;

/* ---- memory: whose it is */

/* A block of its own each time, full of what nobody writes, so that it can be seen what is written. */
static void *keep_block(struct thread *thread, void *old, size_t size)
{
    unsigned char *at = malloc(size);
    MICRO_MUST(at != NULL);
    memset(at, UNTOUCHED, size);
    thread->asked++;
    for (unsigned i = 0; i < BLOCKS_MAX; i++) {
        if (thread->blocks[i].at == old) {
            const size_t had = old == NULL ? 0 : thread->blocks[i].size;
            if (had > 0) {
                memcpy(at, old, had < size ? had : size);
            }
            free(old);
            thread->blocks[i].at = at;
            thread->blocks[i].size = size;
            return at;
        }
    }
    micro_fail("an executor has too many blocks");
}

static void *take(void *ctx, size_t size)
{
    return keep_block(ctx, NULL, size);
}

static void *resize(void *ctx, void *old, size_t size)
{
    return keep_block(ctx, old, size);
}

static void give_back(void *ctx, void *at)
{
    struct thread *thread = ctx;
    for (unsigned i = 0; at != NULL && i < BLOCKS_MAX; i++) {
        if (thread->blocks[i].at == at) {
            thread->blocks[i].at = NULL;
        }
    }
    free(at);
}

/* ---- one entry: call_timeouts.c without the call */

static void one_stand_at(struct one *one, struct lull_instant now, struct lull_instant at)
{
    if (deadline_is_window_later(&one->deadline, now, at)) {
        lane_join(&one->entry, now, one->deadline.window_ns);
    } else {
        lane_join_at(&one->entry, at);
    }
}

static void one_expired(struct lane_entry *entry, struct lull_instant now)
{
    struct one *one = container_of(entry, struct one, entry);
    const struct deadline_step step = deadline_on_timer(&one->deadline, now);
    MICRO_MUST(step.action == DEADLINE_REARM);
    one_stand_at(one, now, step.next_at);
}

static inline void one_start(struct one *one, struct lull_instant now)
{
    (void)deadline_init(&one->deadline, now, lull_instant_add(now, DEADLINE_NS), row.window_ns);
    lane_join(&one->entry, now,
              deadline_has_window(&one->deadline) ? one->deadline.window_ns : DEADLINE_NS);
}

static inline void one_stop(struct one *one)
{
    one->deadline.is_done = true;
    lane_leave(&one->entry);
}

/* ---- two */

static void two_window_expired(struct lane_entry *entry, struct lull_instant now)
{
    struct two *two = container_of(entry, struct two, window);
    const struct deadline_step step = deadline_on_timer(&two->facts, now);
    MICRO_MUST(step.action == DEADLINE_REARM);
    lane_join_at(&two->window, step.next_at);
}

static void two_deadline_expired(struct lane_entry *entry, struct lull_instant now)
{
    (void)entry;
    (void)now;
    micro_fail("a deadline was reached");
}

static inline void two_start(struct two *two, struct lull_instant now)
{
    (void)deadline_init(&two->facts, now, lull_instant_add(now, DEADLINE_NS), row.window_ns);
    lane_join(&two->deadline, now, DEADLINE_NS);
    if (deadline_has_window(&two->facts)) {
        lane_join(&two->window, now, two->facts.window_ns);
    }
}

static inline void two_stop(struct two *two)
{
    two->facts.is_done = true;
    lane_leave(&two->deadline);
    if (deadline_has_window(&two->facts)) {
        lane_leave(&two->window);
    }
}

/* ---- blocks */

static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Moves on to when the windows' entries fire, all in one turn; the last byte of each came a moment before. */
static void fire(struct thread *thread, enum kind kind, int64_t after_ns)
{
    const struct lull_instant now = lull_instant_add(thread->now, after_ns);
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        struct deadline *deadline = kind == ONE ? &thread->ones[i].deadline : &thread->twos[i].facts;
        deadline->is_window_open = true;
        deadline_on_byte(deadline, lull_instant_add(now, BYTE_NS(i) - BYTE_BEFORE_NS));
    }
    lull_executor_leave(thread->executor);
    MICRO_MUST(lull_executor_turn(thread->executor, now) == LULL_OK);
    MICRO_MUST(lull_executor_enter(thread->executor) == LULL_OK);
    thread->now = now;
}

static inline void start(struct thread *thread, enum kind kind, unsigned i)
{
    if (kind == ONE) {
        one_start(&thread->ones[i], thread->now);
    } else if (kind == TWO) {
        two_start(&thread->twos[i], thread->now);
    }
    MICRO_BARRIER();
}

static inline void stop(struct thread *thread, enum kind kind, unsigned i)
{
    if (kind == ONE) {
        one_stop(&thread->ones[i]);
    } else if (kind == TWO) {
        two_stop(&thread->twos[i]);
    }
    MICRO_BARRIER();
}

static inline void start_and_stop_at_once(struct thread *thread, enum kind kind)
{
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        thread->now.ns += 100;
        if (row.works) {
            micro_work();
        }
        start(thread, kind, i);
        stop(thread, kind, i);
    }
}

static inline void start_fire_stop(struct thread *thread, enum kind kind)
{
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        start(thread, kind, i);
    }
    for (unsigned i = 0; i < row.fires && kind != EMPTY; i++) {
        fire(thread, kind, i == 0 ? WINDOW_NS : WINDOW_NS - BYTE_BEFORE_NS + BYTE_NS(ATTEMPTS));
    }
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        stop(thread, kind, i);
    }
}

static inline void run_block(struct thread *thread, enum kind kind)
{
    if (row.fires == 0) {
        start_and_stop_at_once(thread, kind);
    } else {
        start_fire_stop(thread, kind);
    }
}

/* Each kind a loop of its own. */
static double block(struct thread *thread, enum kind kind)
{
    const int64_t from_ns = cpu_ns();
    if (kind == ONE) {
        run_block(thread, ONE);
    } else if (kind == TWO) {
        run_block(thread, TWO);
    } else {
        run_block(thread, EMPTY);
    }
    return (double)(cpu_ns() - from_ns) / ATTEMPTS;
}

static uint64_t queue_ops(const struct thread *thread)
{
    const struct lull_counters *counters = executor_counters(thread->executor);
    return counters->timer_arms + counters->timer_disarms + counters->timer_fires;
}

static void measure(struct thread *thread)
{
    for (unsigned i = 0; i < row.rounds + 2; i++) {
        const bool is_warm = i >= 2;
        const uint64_t asked = thread->asked;
        const uint64_t ops = queue_ops(thread);
        for (enum kind kind = ONE; kind < KINDS; kind++) {
            const double ns = block(thread, kind);
            if (is_warm && (i == 2 || ns < thread->best_ns[kind])) {
                thread->best_ns[kind] = ns;
            }
            if (is_warm && kind == ONE) {
                thread->asked_steady += thread->asked - asked;
                thread->queue_ops = queue_ops(thread) - ops;
            }
        }
    }
}

static void *run(void *ctx)
{
    struct thread *thread = ctx;
    struct lull_executor_options options;
    memset(thread->blocks, 0, sizeof(thread->blocks));
    thread->allocator = (struct lull_allocator){take, resize, give_back, thread};
    lull_executor_options_init(&options);
    options.allocator = &thread->allocator;
    MICRO_MUST(lull_executor_new(&options, &thread->executor) == LULL_OK);
    MICRO_MUST(lull_executor_enter(thread->executor) == LULL_OK);
    thread->now = lull_at(0);
    thread->ones = aligned_alloc(LINE_BYTES, ATTEMPTS * sizeof(*thread->ones));
    thread->twos = aligned_alloc(LINE_BYTES, ATTEMPTS * sizeof(*thread->twos));
    MICRO_MUST(thread->ones != NULL && thread->twos != NULL);
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        struct two *two = &thread->twos[i];
        MICRO_MUST(lane_entry_init(&thread->ones[i].entry, thread->executor, one_expired) ==
                   LULL_OK);
        MICRO_MUST(lane_entry_init(&two->window, thread->executor, two_window_expired) == LULL_OK);
        MICRO_MUST(lane_entry_init(&two->deadline, thread->executor, two_deadline_expired) ==
                   LULL_OK);
    }
    pthread_barrier_wait(&together);
    measure(thread);
    pthread_barrier_wait(&together); /* all have all that they will have */
    pthread_barrier_wait(&together); /* main has looked */
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        lane_entry_fini(&thread->ones[i].entry);
        lane_entry_fini(&thread->twos[i].window);
        lane_entry_fini(&thread->twos[i].deadline);
    }
    lull_executor_leave(thread->executor);
    lull_executor_free(thread->executor);
    free(thread->ones);
    free(thread->twos);
    return NULL;
}

/* Something of the block in this line was written. */
static bool is_written(const struct thread *thread, unsigned i, uintptr_t line)
{
    const unsigned char *bytes = thread->blocks[i].at;
    const uintptr_t at = (uintptr_t)bytes;
    for (size_t k = 0; k < thread->blocks[i].size; k++) {
        if ((at + k) / LINE_BYTES == line && bytes[k] != UNTOUCHED) {
            return true;
        }
    }
    return false;
}

/* The lines of both that both have written to. */
static unsigned lines_of_both(const struct thread *mine, unsigned a, const struct thread *other, unsigned b)
{
    const uintptr_t at = (uintptr_t)mine->blocks[a].at;
    const uintptr_t from = (uintptr_t)other->blocks[b].at;
    unsigned shared = 0;
    if (at == 0 || from == 0) {
        return 0;
    }
    const uintptr_t first = (at > from ? at : from) / LINE_BYTES;
    const uintptr_t end = at + mine->blocks[a].size - 1;
    const uintptr_t to = from + other->blocks[b].size - 1;
    for (uintptr_t line = first; line <= (end < to ? end : to) / LINE_BYTES; line++) {
        shared += is_written(mine, a, line) && is_written(other, b, line);
    }
    return shared;
}

/* Cache lines in which two executors have written something. */
static unsigned shared_lines(unsigned count)
{
    unsigned shared = 0;
    for (unsigned a = 0; a < count * BLOCKS_MAX; a++) {
        for (unsigned b = (a / BLOCKS_MAX + 1) * BLOCKS_MAX; b < count * BLOCKS_MAX; b++) {
            shared += lines_of_both(&threads[a / BLOCKS_MAX], a % BLOCKS_MAX, &threads[b / BLOCKS_MAX],
                                    b % BLOCKS_MAX);
        }
    }
    return shared;
}

static void print_ns(const char *name, unsigned count, enum kind kind)
{
    double sum = 0;
    double least = 0;
    double most = 0;
    for (unsigned i = 0; i < count; i++) {
        const double ns = threads[i].best_ns[kind] - threads[i].best_ns[EMPTY];
        sum += ns;
        least = i == 0 || ns < least ? ns : least;
        most = i == 0 || ns > most ? ns : most;
    }
    micro_line_at(name, count, "ns", sum / count);
    micro_line_at(name, count, "least_ns", least);
    micro_line_at(name, count, "most_ns", most);
    micro_line_at(name, count, "empty_ns", threads[0].best_ns[EMPTY]);
}

static void measure_row(const char *name, unsigned count)
{
    double asked = 0;
    double ops = 0;
    memset(threads, 0, sizeof(threads));
    row.rounds = (unsigned)micro_count(200 / count + 20, 1);
    MICRO_MUST(pthread_barrier_init(&together, NULL, count + 1) == 0);
    for (unsigned i = 0; i < count; i++) {
        MICRO_MUST(pthread_create(&threads[i].id, NULL, run, &threads[i]) == 0);
    }
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&together);
    const unsigned shared = shared_lines(count);
    pthread_barrier_wait(&together);
    for (unsigned i = 0; i < count; i++) {
        MICRO_MUST(pthread_join(threads[i].id, NULL) == 0);
        asked += (double)threads[i].asked_steady;
        ops += (double)threads[i].queue_ops / ATTEMPTS / count;
    }
    pthread_barrier_destroy(&together);
    micro_set_names("entries", "lull");
    print_ns(name, count, ONE);
    micro_line_at(name, count, "bytes",
                  (double)(sizeof(struct lane_entry) + sizeof(struct deadline)));
    micro_line_at(name, count, "allocations", asked);
    micro_line_at(name, count, "shared_lines", shared);
    micro_line_at(name, count, "queue_ops", ops);
    micro_set_names("entries", "two-entries");
    print_ns(name, count, TWO);
    micro_line_at(name, count, "bytes",
                  (double)(2 * sizeof(struct lane_entry) + sizeof(struct deadline)));
}

int main(void)
{
    static const unsigned counts[] = {1, 8, 32};
    static const struct {
        const char *name;
        int64_t window_ns;
        unsigned fires;
        bool works;
    } rows[] = {{"armed", WINDOW_NS, 0, false},
                {"work", WINDOW_NS, 0, true},
                {"equal", DEADLINE_NS, 0, false},
                {"fires-once", WINDOW_NS, 1, false},
                {"fires-5", WINDOW_NS, 5, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        row.window_ns = rows[i].window_ns;
        row.fires = rows[i].fires;
        row.works = rows[i].works;
        for (size_t k = 0; k < (micro_is_once() ? 2 : 3); k++) {
            measure_row(rows[i].name, counts[k]);
        }
    }
    return 0;
}
