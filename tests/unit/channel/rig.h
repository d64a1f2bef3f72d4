/* SPDX-License-Identifier: MIT */
/*
 * A channel on a fake clock, dialling scripted peers through pipes; and calls that remember how they ended.
 *
 * The client's executor drives the channel alone, so its counters are the channel's; the peers have an executor of their own.
 */
#ifndef TESTS_UNIT_CHANNEL_RIG_H
#define TESTS_UNIT_CHANNEL_RIG_H

#include <check.h>

#include "channel/channel.h"
#include "lull/call.h"
#include "lull/channel.h"
#include "lull/clock.h"
#include "lull/executor.h"
#include "net/dial.h"
#include "net/endpoint_pipe.h"
#include "peer.h"

#define RIG_TARGET    "127.0.0.1:2379"
#define RIG_DIALS_MAX 1100
#define RIG_STEPS_MAX 8
#define RIG_TRACE_MAX 400

enum rig_dial { RIG_ACCEPT, RIG_REFUSE, RIG_HANG, RIG_FAIL_AT_ONCE };

/* What becomes of one connection attempt; the last step is repeated. */
struct rig_step {
    enum rig_dial what;
    int64_t after_ns;
    int sys_errno;
    bool is_mute;            /* no SETTINGS by itself */
    bool closes;             /* accepts, says what it says, and closes */
    int64_t closes_after_ns; /* the same, so long after accepting; 0: not */
    bool is_deaf;            /* never reads, and the pipe holds little: nothing gets through */
};

struct rig;

struct rig_attempt {
    struct rig *rig;
    struct rig_step step;
    int64_t at_ns; /* when it was dialled, from the rig's start */
    struct endpoint *client_end;
    struct endpoint *server_end;
    struct lull_timer timer;
    struct peer *peer; /* NULL until accepted */
};

/* Where the client's memory comes from, nghttp2's included. */
struct rig_memory {
    struct lull_allocator base;
    uint64_t asked;      /* blocks asked for, resizes included */
    uint64_t live_bytes; /* not yet given back */
    uint64_t fail_at;    /* the number of the one that fails, from 1; 0: none */
};

struct rig {
    struct rig_memory memory;
    struct lull_fake_clock clock;
    int64_t origin_ns;
    struct lull_loop loop;
    struct lull_executor *executor;
    struct lull_executor *peers;
    struct lull_dialer dialer;
    struct lull_random random;
    double random_unit; /* every draw, in [0, 1) */
    struct lull_world world;
    struct lull_channel_options options;
    struct lull_channel *channel;

    struct rig_step steps[RIG_STEPS_MAX];
    size_t step_count;
    struct rig_attempt attempts[RIG_DIALS_MAX];
    size_t attempt_count;
    uint32_t limit; /* MAX_CONCURRENT_STREAMS that peers announce; UINT32_MAX: nothing said */
    peer_request_fn on_request; /* NULL: answers "hello" */
    peer_data_fn on_data;       /* [nullable] */

    bool refuses_alarms; /* the loop does (RULINGS 18) */
    bool wants_trace;
    char trace[RIG_TRACE_MAX][200];
    size_t trace_count;
};

/* Everything but the channel: to be changed before rig_open. */
void rig_init(struct rig *rig);
void rig_open(struct rig *rig);
/* rig_init and rig_open, with one step. */
void rig_start(struct rig *rig, enum rig_dial what, int64_t after_ns);
/* Closes everything and checks that nothing is left. */
void rig_fini(struct rig *rig);

void rig_step(struct rig *rig, struct rig_step step);
void rig_advance(struct rig *rig, int64_t by_ns);
/* To this many ns after the start. */
void rig_advance_to(struct rig *rig, int64_t at_ns);
int64_t rig_now(const struct rig *rig);
void rig_settle(struct rig *rig);
struct lull_counters rig_counters(const struct rig *rig);
/* The peer of the n-th attempt, from 0. */
struct peer *rig_peer(struct rig *rig, size_t n);
bool rig_has_traced(const struct rig *rig, const char *part);

/* The same as NULL on_request. */
void rig_answer_hello(struct peer *peer, uint32_t stream, void *ctx);
/* Takes requests and says nothing. */
void rig_stay_silent(struct peer *peer, uint32_t stream, void *ctx);

/* A call and how it ended. */
struct rig_call {
    struct rig *rig;
    struct lull_call *handle;
    unsigned done;
    int64_t at_ns; /* of done, from the rig's start */
    enum lull_code code;
    char message[700];
    char line[1100];
    struct lull_failure failure;
    char address[ADDR_TEXT_BYTES];
    char reply[64];
    size_t headers;
    size_t trailers;
    void (*then)(struct rig_call *call); /* [nullable] called at the end of done */
};

/* Starts a call with these options (NULL: none); it must be accepted. The handle is kept. */
void rig_call(struct rig *rig, struct rig_call *call, const struct lull_call_options *options);
/* The usual: a method, a timeout (LULL_NEVER: none), wait_for_ready. */
void rig_call_with(struct rig *rig, struct rig_call *call, int64_t timeout_ns, bool wait_for_ready);
/* Fails the test with the call's line unless it ended like this. */
void rig_expect(const struct rig_call *call, enum lull_code code, int64_t at_ns);
/* The call's message and line have this in them. */
void rig_expect_text(const struct rig_call *call, const char *part);

#endif
