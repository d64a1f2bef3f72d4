/* SPDX-License-Identifier: MIT */
/*
 * Blocking calls (lull/sync.h).
 *
 * Decides: what a blocking call is made of: an ordinary one whose callback fills the caller's result and tells the caller. Called by
 * applications. Must not know how one waits.
 */
#include "lull/sync.h"

#include "base/rc.h"
#include "sync/sync_result.h"
#include "sync/sync_wait.h"

/* Turns without a poll that end a call after a cancel, at most. */
#define LAST_TURNS 8

/* On the caller's stack. */
struct unary {
    struct sync_wait wait;
    struct lull_sync_result *result;
    bool is_done;
};

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct unary *unary = ctx;
    (void)call;
    sync_result_keep(unary->result, &result->status, &result->headers, &result->trailers,
                     result->message);
    unary->is_done = true;
    sync_wait_tell(&unary->wait);
}

/* The loop cannot be run: the call is ended without it. */
static int give_up(struct unary *unary, struct lull_call *call, struct lull_error *error)
{
    lull_call_cancel(call);
    for (int i = 0; i < LAST_TURNS && !unary->is_done; i++) {
        sync_wait_turn(&unary->wait);
    }
    lull_sync_result_fini(unary->result);
    return rc_fail(error, LULL_RC_SYSTEM, "the loop could not be opened or polled");
}

static int make(struct lull_channel *channel, const struct lull_call_options *options,
                struct lull_slice request, struct unary *unary, struct lull_error *error)
{
    struct lull_call *call = NULL;
    sync_wait_ask(&unary->wait);
    int rc = lull_call_unary(channel, options, request, on_done, unary, &call, error);
    if (rc != LULL_OK) {
        sync_wait_stay(&unary->wait);
        return rc;
    }
    sync_wait_go(&unary->wait);
    rc = sync_wait_run(&unary->wait);
    if (rc != LULL_OK) {
        rc = give_up(unary, call, error);
    }
    lull_call_unref(call);
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
