/* SPDX-License-Identifier: MIT */
/*
 * Sleeping on a word. See wait_cell.h.
 */
#include "exec/wait_cell.h"

#include <errno.h>

#include "lull/clock.h"

#ifndef WAIT_CELL_HAS_MUTEX

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void wait_cell_init(struct wait_cell *cell)
{
    atomic_init(&cell->word, 0);
}

void wait_cell_fini(struct wait_cell *cell)
{
    (void)cell;
}

/* What the futex call takes on every Linux: two words. */
struct two_words {
    long seconds;
    long nanoseconds;
};

/* The address is all that the kernel looks at: one whose sleeper has left wakes nobody, or somebody who then looks again. */
static void wake_one(struct wait_cell *cell)
{
    (void)syscall(SYS_futex, &cell->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void wait_cell_set(struct wait_cell *cell, uint32_t bits)
{
    (void)atomic_fetch_or_explicit(&cell->word, bits, memory_order_seq_cst);
    wake_one(cell);
}

void wait_cell_bump(struct wait_cell *cell)
{
    (void)atomic_fetch_add_explicit(&cell->word, 1, memory_order_seq_cst);
    wake_one(cell);
}

/* A cell that is a lock: 0 free, 1 held, 2 held and somebody sleeps on it. */
void wait_cell_lock(struct wait_cell *cell)
{
    uint32_t is_free = 0;
    if (atomic_compare_exchange_strong_explicit(&cell->word, &is_free, 1, memory_order_acquire, memory_order_relaxed)) {
        return;
    }
    while (atomic_exchange_explicit(&cell->word, 2, memory_order_acquire) != 0) {
        (void)wait_cell_wait(cell, 2, LULL_NEVER);
    }
}

void wait_cell_unlock(struct wait_cell *cell)
{
    if (atomic_exchange_explicit(&cell->word, 0, memory_order_release) == 2) {
        wake_one(cell);
    }
}

bool wait_cell_wait(struct wait_cell *cell, uint32_t seen, int64_t timeout_ns)
{
    struct two_words left = {0};
    struct two_words *timeout = timeout_ns == LULL_NEVER ? NULL : &left;
    if (timeout_ns <= 0) {
        return false;
    }
    left.seconds = (long)(timeout_ns / LULL_SECOND);
    left.nanoseconds = (long)(timeout_ns % LULL_SECOND);
    long rc = syscall(SYS_futex, &cell->word, FUTEX_WAIT_PRIVATE, seen, timeout, NULL, 0);
    return rc == 0 || errno != ETIMEDOUT;
}

#else

void wait_cell_init(struct wait_cell *cell)
{
    atomic_init(&cell->word, 0);
    (void)pthread_mutex_init(&cell->mutex, NULL);
    (void)pthread_cond_init(&cell->changed, NULL);
}

void wait_cell_fini(struct wait_cell *cell)
{
    /* Whoever changed the word may still hold the mutex. */
    (void)pthread_mutex_lock(&cell->mutex);
    (void)pthread_mutex_unlock(&cell->mutex);
    (void)pthread_cond_destroy(&cell->changed);
    (void)pthread_mutex_destroy(&cell->mutex);
}

void wait_cell_set(struct wait_cell *cell, uint32_t bits)
{
    (void)pthread_mutex_lock(&cell->mutex);
    (void)atomic_fetch_or_explicit(&cell->word, bits, memory_order_seq_cst);
    (void)pthread_cond_signal(&cell->changed);
    (void)pthread_mutex_unlock(&cell->mutex);
}

void wait_cell_bump(struct wait_cell *cell)
{
    (void)pthread_mutex_lock(&cell->mutex);
    (void)atomic_fetch_add_explicit(&cell->word, 1, memory_order_seq_cst);
    (void)pthread_cond_signal(&cell->changed);
    (void)pthread_mutex_unlock(&cell->mutex);
}

void wait_cell_lock(struct wait_cell *cell)
{
    (void)pthread_mutex_lock(&cell->mutex);
}

void wait_cell_unlock(struct wait_cell *cell)
{
    (void)pthread_mutex_unlock(&cell->mutex);
}

/* A condition goes by the wall clock; a jump of that makes one wait shorter or longer, and whoever waits looks again. */
static struct timespec wall_after(int64_t timeout_ns)
{
    const int64_t at_ns = lull_duration_add(lull_clock_wall_ns(lull_clock_system()), timeout_ns);
    struct timespec at = {.tv_sec = (time_t)(at_ns / LULL_SECOND), .tv_nsec = (long)(at_ns % LULL_SECOND)};
    return at;
}

bool wait_cell_wait(struct wait_cell *cell, uint32_t seen, int64_t timeout_ns)
{
    int rc = 0;
    if (timeout_ns <= 0) {
        return false;
    }
    (void)pthread_mutex_lock(&cell->mutex);
    if (wait_cell_read(cell) == seen) {
        if (timeout_ns == LULL_NEVER) {
            rc = pthread_cond_wait(&cell->changed, &cell->mutex);
        } else {
            struct timespec at = wall_after(timeout_ns);
            rc = pthread_cond_timedwait(&cell->changed, &cell->mutex, &at);
        }
    }
    (void)pthread_mutex_unlock(&cell->mutex);
    return rc != ETIMEDOUT;
}

#endif
