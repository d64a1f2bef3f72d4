/* SPDX-License-Identifier: MIT */
/*
 * Blocking calls (lull/sync.h).
 *
 * Decides: what a blocking call is made of: an ordinary one whose callback fills the caller's result and tells the caller. Called by
 * applications. Must not know how one waits.
 */
#include "lull/sync.h"

#include "base/rc.h"
#include "channel/call.h"
#include "sync/sync_late.h"
#include "sync/sync_result.h"
#include "sync/sync_wait.h"

/* On the caller's stack. */
struct unary {
    struct sync_wait wait;
    struct lull_sync_result *result;
    bool has_call; /* the caller's handle of it */
};

/* The caller may be gone: of the two, only who comes first touches what is the caller's. */
static bool is_first(struct lull_call *call)
{
    return !atomic_exchange_explicit(&call->is_taken, true, memory_order_acq_rel);
}

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct unary *unary = ctx;
    if (is_first(call)) {
        sync_result_keep(unary->result, &result->status, &result->headers, &result->trailers,
                         result->message);
        if (sync_wait_is_own(&unary->wait)) {
            /* In context, where that costs no visit. */
            unary->has_call = false;
            lull_call_unref(call);
        }
        sync_wait_tell(&unary->wait);
    }
}

/* The loop cannot be run: the call is ended without it. */
static int end_without_loop(struct unary *unary, struct lull_call *call, struct lull_error *error)
{
    lull_call_cancel(call);
    /* Once at least: another thread may have told it meanwhile, and the poller's part is given up behind a turn. */
    do {
        sync_wait_turn(&unary->wait);
    } while (!sync_wait_is_told(&unary->wait));
    lull_sync_result_fini(unary->result);
    return rc_fail(error, LULL_RC_SYSTEM, "the loop could not be opened or polled");
}

static int await(struct unary *unary, struct lull_call *call, struct lull_error *error)
{
    const enum sync_wait_end end = sync_wait_run(&unary->wait, sync_late_at(call));
    if (end == SYNC_WAIT_NO_LOOP) {
        return end_without_loop(unary, call, error);
    }
    if (end == SYNC_WAIT_LATE && is_first(call)) {
        /* The call's own end will come when somebody drives, and touches nothing of ours. */
        sync_wait_give_up(&unary->wait);
        sync_late_keep(unary->result, call);
    } else if (end == SYNC_WAIT_LATE) {
        /* Its end is just being written down. */
        sync_wait_until_told(&unary->wait);
    }
    return LULL_OK;
}

static int make(struct lull_channel *channel, const struct lull_call_options *options,
                struct lull_slice request, struct unary *unary, struct lull_error *error)
{
    struct lull_call *call = NULL;
    unary->has_call = true;
    sync_wait_ask(&unary->wait);
    int rc = lull_call_unary(channel, options, request, on_done, unary, &call, error);
    if (rc != LULL_OK) {
        sync_wait_stay(&unary->wait);
        return rc;
    }
    sync_wait_calls_back(&unary->wait, &call->work_task);
    sync_wait_go(&unary->wait);
    rc = await(unary, call, error);
    if (unary->has_call) {
        lull_call_unref(call);
    }
    return rc;
}

int lull_sync_unary(struct lull_channel *channel, const struct lull_call_options *options,
                    struct lull_slice request, struct lull_sync_result *result,
                    struct lull_error *error)
{
    struct unary unary = {.result = result};
    if (channel == NULL || result == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "%s is NULL",
                       channel == NULL ? "channel" : "result");
    }
    if (result->size != sizeof(*result)) {
        return rc_fail(error, LULL_RC_INVALID,
                       "result size is %zu, this library's is %zu: fill it with "
                       "lull_sync_result_init",
                       result->size, sizeof(*result));
    }
    int rc = sync_wait_init(&unary.wait, channel, error);
    if (rc != LULL_OK) {
        return rc;
    }
    lull_channel_ref(channel);
    rc = make(channel, options, request, &unary, error);
    sync_wait_fini(&unary.wait);
    lull_channel_unref(channel);
    return rc;
}
