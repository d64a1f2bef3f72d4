/* SPDX-License-Identifier: MIT */
#include "rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "exec/executor.h"

/* ---- a loop that does nothing: the fake clock drives */

static int loop_alarm(struct lull_loop *loop, struct lull_instant at)
{
    const struct rig *rig = container_of(loop, struct rig, loop);
    return rig->refuses_alarms && at.ns != LULL_NEVER ? ENOMEM : 0;
}

static void loop_wake(struct lull_loop *loop)
{
    (void)loop;
}

static const struct lull_loop_ops loop_ops = {
    .alarm = loop_alarm, .wake = loop_wake, .soon = loop_wake};

static uint64_t random_next(struct lull_random *random)
{
    /* As many bits as a double has, so that between(0, 1) gives the unit back. */
    const struct rig *rig = container_of(random, struct rig, random);
    return (uint64_t)(rig->random_unit * 9007199254740992.0) << 11;
}

/* ---- memory: each block is preceded by its size */

#define HEAD_BYTES 16

static void *memory_resize(void *ctx, void *block, size_t size)
{
    struct rig_memory *memory = ctx;
    unsigned char *old = block == NULL ? NULL : (unsigned char *)block - HEAD_BYTES;
    size_t old_size = 0;
    if (__atomic_add_fetch(&memory->asked, 1, __ATOMIC_RELAXED) == memory->fail_at) {
        return NULL;
    }
    if (old != NULL) {
        memcpy(&old_size, old, sizeof(old_size));
    }
    unsigned char *grown = realloc(old, HEAD_BYTES + size);
    ck_assert_ptr_nonnull(grown);
    memcpy(grown, &size, sizeof(size));
    __atomic_fetch_add(&memory->live_bytes, size - old_size, __ATOMIC_RELAXED);
    return grown + HEAD_BYTES;
}

static void *memory_alloc(void *ctx, size_t size)
{
    return memory_resize(ctx, NULL, size);
}

static void memory_release(void *ctx, void *block)
{
    struct rig_memory *memory = ctx;
    size_t size;
    if (block != NULL) {
        memcpy(&size, (unsigned char *)block - HEAD_BYTES, sizeof(size));
        __atomic_fetch_sub(&memory->live_bytes, size, __ATOMIC_RELAXED);
        free((unsigned char *)block - HEAD_BYTES);
    }
}

/* ---- dialling */

static void accept_attempt(struct rig_attempt *attempt)
{
    struct rig *rig = attempt->rig;
    attempt->peer = calloc(1, sizeof(*attempt->peer));
    ck_assert_ptr_nonnull(attempt->peer);
    endpoint_pipe_connected(attempt->client_end);
    peer_init(attempt->peer, attempt->server_end, rig->on_request, rig);
    attempt->peer->is_mute = attempt->step.is_mute;
    attempt->peer->on_data = rig->on_data;
    if (!attempt->step.is_mute) {
        if (rig->limit == UINT32_MAX) {
            peer_settings(attempt->peer);
        } else {
            peer_settings_limit(attempt->peer, rig->limit);
        }
    }
    if (attempt->step.is_deaf) {
        ck_assert_int_eq(endpoint_want(attempt->server_end, LULL_WANT_NONE), 0);
    }
    if (attempt->step.closes) {
        peer_close(attempt->peer);
    } else if (attempt->step.closes_after_ns > 0) {
        lull_timer_arm(&attempt->timer, lull_instant_add(lull_clock_now(&rig->clock.base),
                                                         attempt->step.closes_after_ns));
    }
}

/* In the peers' turn, or inside dial; the client's end wants its own context. */
static void settle_attempt(struct rig_attempt *attempt)
{
    if (attempt->peer != NULL) {
        peer_close(attempt->peer); /* closes_after_ns */
        return;
    }
    if (attempt->client_end->is_closed) {
        return; /* given up meanwhile; its memory stays while our end lives */
    }
    if (attempt->step.what == RIG_ACCEPT) {
        accept_attempt(attempt);
    } else if (attempt->step.what == RIG_REFUSE) {
        endpoint_pipe_refuse(attempt->client_end, attempt->step.sys_errno);
    }
}

static void attempt_due(struct lull_timer *timer, struct lull_instant now)
{
    (void)now;
    settle_attempt(container_of(timer, struct rig_attempt, timer));
}

static int dial(struct lull_dialer *dialer, struct lull_loop *loop, struct lull_executor *executor,
                const struct addr *to, struct endpoint **out)
{
    struct rig *rig = container_of(dialer, struct rig, dialer);
    struct addr from;
    struct pipe_options options = {.connecting = true};
    ck_assert_uint_lt(rig->attempt_count, RIG_DIALS_MAX);
    struct rig_attempt *attempt = &rig->attempts[rig->attempt_count];
    size_t step = rig->attempt_count < rig->step_count ? rig->attempt_count : rig->step_count - 1;
    (void)loop;
    memset(attempt, 0, sizeof(*attempt));
    attempt->rig = rig;
    attempt->step = rig->steps[step];
    attempt->at_ns = rig_now(rig);
    options.capacity_bytes = attempt->step.is_deaf ? 40 : 0;
    rig->attempt_count++;
    if (attempt->step.what == RIG_FAIL_AT_ONCE) {
        return attempt->step.sys_errno;
    }
    ck_assert(addr_from_ip(&from, "127.0.0.1", 50000));
    int err = endpoint_pipe_new(executor, rig->peers, to, &from, &options, &attempt->client_end,
                                &attempt->server_end);
    if (err != 0) {
        rig->attempt_count--;
        return err;
    }
    *out = attempt->client_end;
    if (attempt->step.what == RIG_HANG) {
        return 0;
    }
    ck_assert_int_eq(lull_executor_enter(rig->peers), LULL_OK);
    ck_assert_int_eq(lull_timer_init(&attempt->timer, rig->peers, attempt_due), LULL_OK);
    lull_timer_arm(&attempt->timer,
                   lull_instant_add(lull_clock_now(&rig->clock.base), attempt->step.after_ns));
    lull_executor_leave(rig->peers);
    return 0;
}

static const struct dialer_ops dial_ops = {dial};

/* ---- the rig */

static void on_event(void *ctx, const struct lull_event *event)
{
    struct rig *rig = ctx;
    if (rig->trace_count < RIG_TRACE_MAX) {
        snprintf(rig->trace[rig->trace_count], sizeof(rig->trace[0]), "%lld %d call %llu: %s",
                 (long long)(event->at.ns - rig->origin_ns), (int)event->kind,
                 (unsigned long long)event->call_id, event->detail);
        rig->trace_count++;
    }
}

void rig_init(struct rig *rig)
{
    struct lull_executor_options options;
    memset(rig, 0, sizeof(*rig));
    rig->origin_ns = INT64_C(-5000000000);
    lull_fake_clock_init(&rig->clock, rig->origin_ns, 0);
    lull_executor_options_init(&options);
    options.clock = &rig->clock.base;
    rig->memory.base.alloc = memory_alloc;
    rig->memory.base.resize = memory_resize;
    rig->memory.base.release = memory_release;
    rig->memory.base.ctx = &rig->memory;
    options.allocator = &rig->memory.base;
    ck_assert_int_eq(lull_loop_init(&rig->loop, &loop_ops, "rig", &options), LULL_OK);
    rig->executor = lull_loop_executor(&rig->loop);
    options.allocator = NULL;
    ck_assert_int_eq(lull_executor_new(&options, &rig->peers), LULL_OK);
    ck_assert_int_eq(lull_executor_attach(rig->executor, &rig->clock), LULL_OK);
    ck_assert_int_eq(lull_executor_attach(rig->peers, &rig->clock), LULL_OK);
    rig->dialer.ops = &dial_ops;
    rig->random.next = random_next;
    rig->random_unit = 0.5;
    rig->limit = UINT32_MAX;
    rig->on_request = rig_answer_hello;
    lull_world_init(&rig->world);
    rig->world.clock = &rig->clock.base;
    rig->world.random = &rig->random;
    rig->world.dial = &rig->dialer;
    rig->world.loop = &rig->loop;
    lull_channel_options_init(&rig->options);
    rig->options.world = &rig->world;
    rig->options.backoff_jitter = 0.0;
    rig->options.idle_timeout_ns = LULL_NEVER; /* channel_idle_test's; elsewhere its timer would be counted */
    rig->options.trace.event = on_event;
    rig->options.trace.ctx = rig;
    rig->wants_trace = true;
}

void rig_open(struct rig *rig)
{
    struct lull_error error;
    if (!rig->wants_trace) {
        rig->options.trace.event = NULL;
    }
    int rc = lull_channel_new(RIG_TARGET, &rig->options, &rig->channel, &error);
    ck_assert_msg(rc == LULL_OK, "%s", error.text);
}

void rig_step(struct rig *rig, struct rig_step step)
{
    ck_assert_uint_lt(rig->step_count, RIG_STEPS_MAX);
    rig->steps[rig->step_count++] = step;
}

void rig_start(struct rig *rig, enum rig_dial what, int64_t after_ns)
{
    struct rig_step step = {.what = what, .after_ns = after_ns, .sys_errno = ECONNREFUSED};
    rig_init(rig);
    rig_step(rig, step);
    rig_open(rig);
}

static void close_attempt(struct rig *rig, struct rig_attempt *attempt)
{
    ck_assert_int_eq(lull_executor_enter(rig->peers), LULL_OK);
    lull_timer_fini(&attempt->timer);
    if (attempt->peer == NULL) {
        endpoint_close(attempt->server_end);
    }
    lull_executor_leave(rig->peers);
    if (attempt->peer != NULL) {
        peer_fini(attempt->peer);
        free(attempt->peer);
    }
}

void rig_fini(struct rig *rig)
{
    if (rig->channel != NULL) {
        lull_channel_close(rig->channel);
        lull_channel_unref(rig->channel);
    }
    rig_settle(rig);
    for (size_t i = 0; i < rig->attempt_count; i++) {
        close_attempt(rig, &rig->attempts[i]);
    }
    rig_settle(rig);
    struct lull_counters counters = rig_counters(rig);
    ck_assert_uint_eq(counters.calls_started, counters.calls_closed);
    lull_loop_fini(&rig->loop);
    lull_executor_free(rig->peers);
    ck_assert_uint_eq(rig->memory.live_bytes, 0);
}

void rig_advance(struct rig *rig, int64_t by_ns)
{
    lull_fake_clock_advance(&rig->clock, by_ns);
}

void rig_advance_to(struct rig *rig, int64_t at_ns)
{
    lull_fake_clock_advance(&rig->clock, at_ns - rig_now(rig));
}

int64_t rig_now(const struct rig *rig)
{
    return rig->clock.mono_at.ns - rig->origin_ns;
}

void rig_settle(struct rig *rig)
{
    lull_fake_clock_settle(&rig->clock);
}

struct lull_counters rig_counters(const struct rig *rig)
{
    struct lull_counters counters;
    memset(&counters, 0, sizeof(counters));
    counters.size = sizeof(counters);
    lull_executor_counters(rig->executor, &counters);
    return counters;
}

struct peer *rig_peer(struct rig *rig, size_t n)
{
    ck_assert_uint_lt(n, rig->attempt_count);
    ck_assert_ptr_nonnull(rig->attempts[n].peer);
    return rig->attempts[n].peer;
}

bool rig_has_traced(const struct rig *rig, const char *part)
{
    for (size_t i = 0; i < rig->trace_count; i++) {
        if (strstr(rig->trace[i], part) != NULL) {
            return true;
        }
    }
    return false;
}

void rig_answer_hello(struct peer *peer, uint32_t stream, void *ctx)
{
    (void)ctx;
    peer_answer(peer, stream, "hello");
}

void rig_stay_silent(struct peer *peer, uint32_t stream, void *ctx)
{
    (void)peer;
    (void)stream;
    (void)ctx;
}

/* ---- calls */

static void on_done(struct lull_call *handle, const struct lull_unary_result *result, void *ctx)
{
    struct rig_call *call = ctx;
    (void)handle;
    ck_assert_uint_eq(result->size, sizeof(*result));
    ck_assert_uint_eq(strlen(result->status.message), result->status.message_len);
    call->done++;
    call->at_ns = rig_now(call->rig);
    call->code = result->status.code;
    snprintf(call->message, sizeof(call->message), "%s", result->status.message);
    snprintf(call->reply, sizeof(call->reply), "%.*s", (int)result->message.len,
             (const char *)result->message.data);
    call->headers = result->headers.count;
    call->trailers = result->trailers.count;
    if (result->status.failure != NULL) {
        call->failure = *result->status.failure;
        snprintf(call->line, sizeof(call->line), "%s", call->failure.line);
        snprintf(call->address, sizeof(call->address), "%s", call->failure.address);
    } else {
        ck_assert_int_eq(call->code, LULL_CODE_OK);
    }
    if (call->handle != NULL) {
        lull_call_unref(call->handle);
        call->handle = NULL;
    }
    if (call->then != NULL) {
        call->then(call);
    }
}

void rig_call(struct rig *rig, struct rig_call *call, const struct lull_call_options *options)
{
    struct lull_call_options defaults;
    struct lull_error error;
    void (*then)(struct rig_call *) = call->then;
    lull_call_options_init(&defaults, "/pkg.Service/Method");
    memset(call, 0, sizeof(*call));
    call->then = then;
    call->rig = rig;
    call->at_ns = -1;
    int rc = lull_call_unary(rig->channel, options != NULL ? options : &defaults,
                             lull_slice_static("ask", 3), on_done, call, &call->handle, &error);
    ck_assert_msg(rc == LULL_OK, "%s", error.text);
    ck_assert_uint_eq(call->done, 0);
}

void rig_call_with(struct rig *rig, struct rig_call *call, int64_t timeout_ns, bool wait_for_ready)
{
    struct lull_call_options options;
    lull_call_options_init(&options, "/pkg.Service/Method");
    options.timeout_ns = timeout_ns;
    options.wait_for_ready = wait_for_ready;
    rig_call(rig, call, &options);
}

void rig_expect(const struct rig_call *call, enum lull_code code, int64_t at_ns)
{
    ck_assert_msg(call->done == 1, "done came %u times", call->done);
    ck_assert_msg(call->code == code, "%s, expected %s: %s", lull_code_name((int)call->code),
                  lull_code_name((int)code), call->line);
    ck_assert_msg(call->at_ns == at_ns, "at %lld, expected %lld: %s", (long long)call->at_ns,
                  (long long)at_ns, call->line);
}

void rig_expect_text(const struct rig_call *call, const char *part)
{
    ck_assert_msg(strstr(call->message, part) != NULL, "no \"%s\" in the message: %s", part,
                  call->message);
    ck_assert_msg(strstr(call->line, part) != NULL, "no \"%s\" in the line: %s", part, call->line);
}
