/* SPDX-License-Identifier: MIT */
/*
 * Calls from threads that cannot be in context. See call_outside.h.
 */
#include "channel/call_outside.h"

#include "base/mem.h"
#include "base/slice.h"
#include "channel/call.h"
#include "channel/call_cancel.h"
#include "channel/call_start.h"
#include "channel/channel_idle.h"
#include "h2/framing.h"

void call_outside_init(struct call_outside *outside)
{
    atomic_init(&outside->messages, NULL);
    atomic_init(&outside->bytes, 0);
    atomic_init(&outside->queued, 0);
    atomic_init(&outside->is_half_closed, false);
    atomic_init(&outside->is_over, false);
}

/* ---- starting */

/* Its arena grows by allocators of its own, for the channel's counters are not ours to touch. */
static struct call_arena *make_arena(struct lull_channel *channel,
                                     const struct lull_call_options *options,
                                     uint32_t *allocations)
{
    struct lull_counters counted = {.size = sizeof(counted)};
    struct call_arenas own;
    call_arenas_init(&own, channel->allocator, &counted);
    struct call_arena *arena = call_arena_claim(&own);
    if (arena == NULL) {
        return NULL;
    }
    if (call_arena_set_method(&own, arena, options->method) != LULL_OK ||
        call_arena_set_request(&own, arena, &options->metadata) != LULL_OK) {
        call_arena_release(&own, arena);
        call_arenas_fini(&own);
        return NULL;
    }
    *allocations = (uint32_t)counted.allocations;
    return arena;
}

struct lull_call *call_outside_make(struct lull_channel *channel,
                                    const struct lull_call_options *options,
                                    const struct lull_call_handler *handler, void *ctx,
                                    const struct call_unary_start *unary)
{
    uint32_t allocations = 0;
    struct lull_call *call = mem_alloc(channel->allocator, sizeof(*call));
    if (call == NULL) {
        return NULL;
    }
    struct call_arena *arena = make_arena(channel, options, &allocations);
    if (arena == NULL) {
        mem_release(channel->allocator, call);
        return NULL;
    }
    call_set_up(call, channel, arena, options);
    call->handler = *handler;
    call->ctx = ctx;
    call->outside.is_made_outside = true;
    call->outside.allocations = allocations + 1;
    if (unary != NULL) {
        call->is_unary = true;
        call->done = unary->done;
        call->outside.request = lull_slice_ref(unary->request);
        atomic_store_explicit(&call->outside.is_half_closed, true, memory_order_relaxed);
    }
    (void)atomic_fetch_add_explicit(&channel->starting_calls, 1, memory_order_relaxed);
    channel_ref(channel);
    return call;
}

void call_outside_adopt(struct lull_call *call)
{
    struct lull_channel *channel = call->channel;
    (void)atomic_fetch_sub_explicit(&channel->starting_calls, 1, memory_order_relaxed);
    channel->counters->allocations += call->outside.allocations;
    channel->counters->clock_reads++;
    call_count_in(call);
    if (call->is_unary) {
        call_send_whole(call, call->outside.request);
        lull_slice_unref(call->outside.request);
    }
}

/* ---- sending */

static size_t on_wire(struct lull_slice message)
{
    return message.len + FRAMING_PREFIX_BYTES;
}

static bool is_full(struct lull_call *call)
{
    struct call_outside *outside = &call->outside;
    /* What is taken over is said before it is subtracted, so that it is counted twice rather than not at all. */
    return atomic_load_explicit(&outside->bytes, memory_order_acquire) +
               atomic_load_explicit(&outside->queued, memory_order_relaxed) >=
           LULL_CALL_QUEUE_BYTES;
}

int call_outside_send(struct lull_call *call, struct lull_slice message)
{
    struct call_outside *outside = &call->outside;
    if (atomic_load_explicit(&outside->is_over, memory_order_relaxed)) {
        return LULL_RC_CLOSED;
    }
    if (atomic_load_explicit(&outside->is_half_closed, memory_order_relaxed)) {
        return LULL_RC_STATE;
    }
    if (slice_points_nowhere(message)) {
        return LULL_RC_INVALID;
    }
    if (message.len > call->channel->options.max_send_message_bytes) {
        return LULL_RC_LIMIT;
    }
    if (is_full(call)) {
        call_command(call, CALL_COMMAND_WRITABLE);
        return LULL_RC_AGAIN;
    }
    struct call_message *node = mem_alloc(call->channel->allocator, sizeof(*node));
    if (node == NULL) {
        return LULL_RC_NOMEM;
    }
    node->is_allocated = true;
    node->payload = lull_slice_ref(message);
    (void)atomic_fetch_add_explicit(&outside->bytes, on_wire(message), memory_order_relaxed);
    struct call_message *head = atomic_load_explicit(&outside->messages, memory_order_relaxed);
    do {
        node->link.next = head != NULL ? &head->link : NULL;
    } while (!atomic_compare_exchange_weak_explicit(&outside->messages, &head, node,
                                                    memory_order_release, memory_order_relaxed));
    call_command(call, CALL_COMMAND_SEND);
    return LULL_OK;
}

/* Oldest first, linked by link.next. */
static struct list_node *take_all(struct call_outside *outside)
{
    struct call_message *head =
        atomic_exchange_explicit(&outside->messages, NULL, memory_order_acquire);
    struct list_node *newest = head != NULL ? &head->link : NULL;
    struct list_node *oldest = NULL;
    while (newest != NULL) {
        struct list_node *older = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = older;
    }
    return oldest;
}

void call_outside_say_queued(struct lull_call *call)
{
    if (call->outside.is_sent_to) {
        atomic_store_explicit(&call->outside.queued, call_send_queued(call), memory_order_relaxed);
    }
}

void call_outside_take(struct lull_call *call)
{
    struct call_outside *outside = &call->outside;
    if (atomic_load_explicit(&outside->messages, memory_order_relaxed) == NULL) {
        return;
    }
    size_t bytes = 0;
    struct list_node *node = take_all(outside);
    outside->is_sent_to = true;
    while (node != NULL) {
        struct call_message *message = LIST_ENTRY(node, struct call_message, link);
        node = node->next;
        bytes += on_wire(message->payload);
        call_send_accept(call, message);
    }
    call_outside_say_queued(call);
    (void)atomic_fetch_sub_explicit(&outside->bytes, bytes, memory_order_release);
}
