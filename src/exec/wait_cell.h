/* SPDX-License-Identifier: MIT */
/*
 * One word that threads sleep on until it changes.
 *
 * Decides: how a thread of the caller's waits and is woken: by a futex on Linux, elsewhere by a mutex and a condition. Called by the
 * executor (waiting for the turn), by its roles (their lock) and by sync/ (waiting for a call). Must not know what the word means.
 */
#ifndef EXEC_WAIT_CELL_H
#define EXEC_WAIT_CELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#if !defined(__linux__) || defined(LULL_NO_FUTEX)
#define WAIT_CELL_HAS_MUTEX 1
#include <pthread.h>
#endif

struct wait_cell {
    _Atomic(uint32_t) word;
#ifdef WAIT_CELL_HAS_MUTEX
    pthread_mutex_t mutex;
    pthread_cond_t changed;
#endif
};

/* Raw memory to a cell whose word is 0. */
void wait_cell_init(struct wait_cell *cell);

/* Nobody waits, and whoever woke is through. */
void wait_cell_fini(struct wait_cell *cell);

/* What stands there; what was done before it was written is seen. Any thread. */
static inline uint32_t wait_cell_read(const struct wait_cell *cell)
{
    return atomic_load_explicit(&cell->word, memory_order_seq_cst);
}

/* Sets bits of the word and wakes one sleeper. The cell may be gone when this returns: the sleeper's memory is the sleeper's. Any thread. */
void wait_cell_set(struct wait_cell *cell, uint32_t bits);

/* Counts the word up and wakes one sleeper. Any thread. */
void wait_cell_bump(struct wait_cell *cell);

/*
 * Sleeps while the word is `seen`, `timeout_ns` at most (LULL_NEVER: for as long as it takes); may come back early.
 * @return false when the time is over. Any thread.
 */
bool wait_cell_wait(struct wait_cell *cell, uint32_t seen, int64_t timeout_ns);

/* A cell that is used as a lock and as nothing else. For a few instructions: whoever holds it calls nobody. Any thread. */
void wait_cell_lock(struct wait_cell *cell);
void wait_cell_unlock(struct wait_cell *cell);

#endif
