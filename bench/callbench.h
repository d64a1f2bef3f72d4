/* SPDX-License-Identifier: MIT */
/* lull's side of the benchmarks, on its public headers: every call has a deadline, every channel an idle timeout and keepalive. callbench.c has
 * the calls, callbench_stream.c the streams, callbench_sync.c what blocks, callbench_many.c many channels. */
#ifndef BENCH_CALLBENCH_H
#define BENCH_CALLBENCH_H

#include "common.h"

#include <lull/lull.h>

struct side {
    struct bench_args args;
    struct bench_meter meter;
    struct lull_loop *loop; /* NULL: channels have their own */
    struct lull_credentials *credentials;
    char target[32];
    struct lull_slice message; /* of the arguments' size */
};

void side_init(struct side *side, const struct bench_args *args, bool has_loop);
void side_fini(struct side *side);

/* Exits when there is none. `keepalive_ns`: LULL_NEVER, or how long a silence. */
struct lull_channel *side_channel(struct side *side, int64_t keepalive_ns);
/* A call has been answered on it. */
void side_connect(struct side *side, struct lull_channel *channel);
void side_call_options(const struct side *side, struct lull_call_options *options, const char *method);
struct lull_credentials *side_credentials(const struct side *side);

void run_bidi(struct side *side);
void run_receive(struct side *side, const char *method);
void run_send(struct side *side);
void run_blocking(struct side *side);
void run_threads(struct side *side);
void run_connect(struct side *side);
void run_wake(struct side *side);
void run_memory(struct side *side);
void run_wakeups(struct side *side, bool has_keepalive);
void run_channels(struct side *side);

#endif
