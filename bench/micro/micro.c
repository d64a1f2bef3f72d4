/* SPDX-License-Identifier: MIT */
/* See micro.h. */
#include "micro.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK_NS   INT64_C(200000)
#define BLOCKS_MAX 2000u
#define BLOCKS_MIN 7u
#define WORK_BYTES ((size_t)4096)
#define WORK_RING  ((size_t)65536)
#define LINE_BYTES ((size_t)64)

static double budget_ns = 1e8;
static const char *family_name = "";
static const char *variant_name = "";

void micro_cannot(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(77);
}

void micro_fail(const char *why)
{
    fprintf(stderr, "failed: %s\n", why);
    exit(1);
}

bool micro_is_once(void)
{
    const char *once = getenv("BENCH_ONCE");
    return once != NULL && strcmp(once, "1") == 0;
}

void micro_plan(const char *argument, unsigned measurements)
{
    const double seconds = argument != NULL ? strtod(argument, NULL) : 1.0;
    budget_ns = seconds * 1e9 / measurements;
}

size_t micro_count(size_t many, size_t few)
{
    return micro_is_once() ? few : many;
}

int64_t micro_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static double time_block(micro_fn fn, void *ctx, size_t count)
{
    const int64_t from_ns = micro_now_ns();
    fn(ctx, count);
    return (double)(micro_now_ns() - from_ns);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* As many operations as a block takes. */
static size_t block_of(micro_fn fn, void *ctx)
{
    size_t count = 16;
    while (time_block(fn, ctx, count) < (double)BLOCK_NS / 2 && count < ((size_t)1 << 24)) {
        count *= 2;
    }
    return count;
}

struct micro_time micro_measure(micro_fn fn, micro_fn empty, void *ctx)
{
    return micro_measure_blocks(fn, empty, ctx, micro_is_once() ? 16 : block_of(fn, ctx));
}

struct micro_time micro_measure_blocks(micro_fn fn, micro_fn empty, void *ctx, size_t count)
{
    static double took[BLOCKS_MAX];
    const int64_t end_ns = micro_now_ns() + (int64_t)budget_ns;
    double empty_least = 0;
    size_t blocks = 0;
    while (blocks < BLOCKS_MAX &&
           (blocks < BLOCKS_MIN || (!micro_is_once() && micro_now_ns() < end_ns))) {
        took[blocks] = time_block(fn, ctx, count);
        if (empty != NULL) {
            const double without = time_block(empty, ctx, count);
            empty_least = blocks == 0 || without < empty_least ? without : empty_least;
        }
        blocks++;
    }
    qsort(took, blocks, sizeof(took[0]), compare);
    const struct micro_time time = {
        .net_ns = (took[0] - empty_least) / (double)count,
        .mid_ns = (took[blocks / 2] - empty_least) / (double)count,
        .empty_ns = empty_least / (double)count,
    };
    return time;
}

void micro_set_names(const char *family, const char *variant)
{
    family_name = family;
    variant_name = variant;
}

void micro_line(const char *row, const char *metric, double value)
{
    printf("%s\t%s\t%s\t%s\t%.6g\n", row, family_name, variant_name, metric, value);
}

void micro_line_at(const char *row, size_t n, const char *metric, double value)
{
    char name[80];
    snprintf(name, sizeof(name), "%s@%zu", row, n);
    micro_line(name, metric, value);
}

void micro_lines_at(const char *row, size_t n, struct micro_time time)
{
    micro_line_at(row, n, "ns", time.net_ns);
    micro_line_at(row, n, "mid_ns", time.mid_ns);
    micro_line_at(row, n, "empty_ns", time.empty_ns);
}

void micro_work(void)
{
    static _Thread_local unsigned char ring[WORK_RING];
    static _Thread_local size_t at;
    unsigned char *bytes = ring + at;
    at = (at + WORK_BYTES) % WORK_RING;
    for (size_t i = 0; i < WORK_BYTES; i += LINE_BYTES) {
        bytes[i]++;
    }
    MICRO_BARRIER();
}
