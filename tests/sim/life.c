/* SPDX-License-Identifier: MIT */
#include "tests/sim/life.h"

#include <stdio.h>
#include <string.h>

static void write_line(struct life *life, struct life_book *book, const char *text)
{
    if (book->count < LIFE_DIARY_MAX) {
        struct life_line *line = &book->lines[book->count++];
        line->at_ns = sim_elapsed_ns(&life->sim);
        snprintf(line->text, sizeof(line->text), "%s", text);
    }
}

static void on_event(void *ctx, const struct lull_event *event)
{
    struct life *life = ctx;
    if (event->kind == LULL_EVENT_STATE) {
        write_line(life, &life->states, event->detail);
    } else if (event->kind == LULL_EVENT_WARNING) {
        write_line(life, &life->warnings, event->detail);
    } else if (event->kind == LULL_EVENT_PING) {
        write_line(life, &life->pings, event->detail);
    }
}

void life_begin(struct life *life, uint64_t seed)
{
    memset(life, 0, sizeof(*life));
    ck_assert_int_eq(sim_init(&life->sim, seed), LULL_OK);
    peer_init(&life->peer, &life->sim, "server");
    life->host = sim_host_add(&life->sim, LIFE_ADDRESS, peer_accept, &life->peer);
    ck_assert_ptr_nonnull(life->host);
    sim_channel_options(&life->sim, &life->options);
    life->options.backoff_jitter = 0;
    life->options.trace.event = on_event;
    life->options.trace.ctx = life;
}

void life_open(struct life *life)
{
    struct lull_error error;
    int rc = lull_channel_new(LIFE_ADDRESS, &life->options, &life->channel, &error);
    ck_assert_msg(rc == LULL_OK, "%s", error.text);
}

void life_end(struct life *life)
{
    lull_channel_close(life->channel); /* whatever calls there still are */
    lull_channel_unref(life->channel);
    sim_advance(&life->sim, LULL_SECOND);
    ck_assert_uint_eq(sim_counters(&life->sim).timers_armed, 0);
    peer_fini(&life->peer);
    ck_assert_uint_eq(peer_open_connections(&life->peer), 0);
    sim_fini(&life->sim);
}

void life_at(struct life *life, int64_t at_ns)
{
    int64_t by_ns = at_ns - sim_elapsed_ns(&life->sim);
    ck_assert_int_ge(by_ns, 0);
    sim_advance(&life->sim, by_ns);
}

enum lull_state life_state(struct life *life)
{
    return lull_channel_state(life->channel, false);
}

struct lull_channel_stats life_stats(const struct life *life)
{
    struct lull_channel_stats stats = {.size = sizeof(stats)};
    lull_channel_stats(life->channel, &stats);
    return stats;
}

void life_expect(const struct life_book *book, size_t n, int64_t at_ns, const char *part)
{
    ck_assert_msg(n < book->count, "no line %zu: \"%s\" is missing", n, part);
    ck_assert_msg(strstr(book->lines[n].text, part) != NULL, "line %zu is \"%s\", not \"%s\"", n,
                  book->lines[n].text, part);
    ck_assert_msg(book->lines[n].at_ns == at_ns, "\"%s\" at %lld, expected %lld", part,
                  (long long)book->lines[n].at_ns, (long long)at_ns);
}

void life_expect_asleep(struct life *life)
{
    struct lull_channel_stats stats = life_stats(life);
    ck_assert_int_eq(stats.state, LULL_STATE_IDLE);
    ck_assert(stats.is_in_idle_mode);
    ck_assert_int_eq(stats.idle_after_ns, 0);
    ck_assert_uint_eq(sim_counters(&life->sim).timers_armed, 0);
    ck_assert_uint_eq(peer_open_connections(&life->peer), 0);
}

static void on_done(struct lull_call *handle, const struct lull_unary_result *result, void *ctx)
{
    struct life_call *call = ctx;
    call->done++;
    call->at_ns = sim_elapsed_ns(&call->life->sim);
    call->code = result->status.code;
    if (result->status.failure != NULL) {
        call->reason = result->status.failure->reason;
        call->phase = result->status.failure->phase;
        call->sys_errno = result->status.failure->sys_errno;
        snprintf(call->address, sizeof(call->address), "%s", result->status.failure->address);
        snprintf(call->line, sizeof(call->line), "%s", result->status.failure->line);
    }
    if (call->handle != NULL) {
        lull_call_unref(handle);
        call->handle = NULL;
    }
}

void life_call(struct life *life, struct life_call *call, int64_t timeout_ns, bool wait_for_ready)
{
    struct lull_call_options options;
    struct lull_error error;
    memset(call, 0, sizeof(*call));
    call->life = life;
    call->at_ns = -1;
    lull_call_options_init(&options, "/sim.Service/Method");
    options.timeout_ns = timeout_ns;
    options.wait_for_ready = wait_for_ready;
    int rc = lull_call_unary(life->channel, &options, lull_slice_static("ask", 3), on_done, call,
                             &call->handle, &error);
    ck_assert_msg(rc == LULL_OK, "%s", error.text);
}

void life_expect_call(const struct life_call *call, enum lull_code code, int64_t at_ns)
{
    ck_assert_msg(call->done == 1, "done came %u times", call->done);
    ck_assert_msg(call->code == code, "%s, expected %s: %s", lull_code_name((int)call->code),
                  lull_code_name((int)code), call->line);
    ck_assert_msg(call->at_ns == at_ns, "at %lld, expected %lld: %s", (long long)call->at_ns,
                  (long long)at_ns, call->line);
}
