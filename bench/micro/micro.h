/* SPDX-License-Identifier: MIT */
/*
 * What the small benchmarks share: a loop that is timed, and the lines of bench/README.md.
 *
 * Decides: how often an operation is repeated and which of the repeats counts. A block of operations lasts a fraction of
 * a millisecond, and the quickest of many blocks is what the operation costs; whatever else the machine does makes blocks
 * longer and none shorter. The same loop with nothing in it is timed in turn with it, printed, and taken off. Must not know what
 * is measured. Also valid C++.
 */
#ifndef BENCH_MICRO_MICRO_H
#define BENCH_MICRO_MICRO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Does `count` operations. */
typedef void (*micro_fn)(void *ctx, size_t count);

/* Ends the program: the last line says why it cannot run here (bench/README.md, status 77). */
void micro_cannot(const char *why) __attribute__((noreturn));
void micro_fail(const char *why) __attribute__((noreturn));

/* Fails unless it holds, with the line. */
#define MICRO_MUST(cond) ((cond) ? (void)0 : micro_fail(__FILE__ ": " #cond))

/* BENCH_ONCE: as little as goes through all of it. */
bool micro_is_once(void);

/* How long everything that the program measures should take: `argument` is its {seconds}, NULL: 1. Before the first measurement; divided by
 * `measurements`. */
void micro_plan(const char *argument, unsigned measurements);

/* `many`, or `few` with BENCH_ONCE. */
size_t micro_count(size_t many, size_t few);

/* The system's monotonic clock in ns. */
int64_t micro_now_ns(void);

/* What one operation took, ns. */
struct micro_time {
    double net_ns;   /* the quickest block, without the empty loop's quickest */
    double mid_ns;   /* the median block, the same off */
    double empty_ns; /* the empty loop's quickest */
};

/* `empty` [nullable] is the same loop without the operation. */
struct micro_time micro_measure(micro_fn fn, micro_fn empty, void *ctx);

/* The same with blocks of `count` operations. */
struct micro_time micro_measure_blocks(micro_fn fn, micro_fn empty, void *ctx, size_t count);

/* What goes into columns two and three of all lines. */
void micro_set_names(const char *family, const char *variant);

/* Lines. The second has a number behind the row's name: row@n. */
void micro_line(const char *row, const char *metric, double value);
void micro_line_at(const char *row, size_t n, const char *metric, double value);

/* ns, mid_ns and empty_ns. */
void micro_lines_at(const char *row, size_t n, struct micro_time time);

/* A step of a generator that is quick, alike everywhere, and no operation worth speaking of. */
static inline uint32_t micro_random(uint32_t *state)
{
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    *state = x;
    return x;
}

/* Below `limit`, from `random`. */
static inline size_t micro_below(uint32_t random, size_t limit)
{
    return (size_t)(((uint64_t)random * limit) >> 32);
}

/* The compiler takes all memory for changed here: a loop is not folded, a store not forgotten. */
#define MICRO_BARRIER() __asm__ volatile("" : : : "memory")

/* The compiler believes that somebody uses it. */
#define MICRO_USE(value) __asm__ volatile("" : : "r"(value) : "memory")

/* Work between two operations: 4 KiB are read and written, of 64 KiB in turn. */
void micro_work(void);

#ifdef __cplusplus
}
#endif

#endif
