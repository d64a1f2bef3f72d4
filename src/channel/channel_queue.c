/* SPDX-License-Identifier: MIT */
/*
 * Calls that wait for a connection or a stream. See channel.h.
 *
 * One FIFO, in the order of ids: nghttp2 has a queue of its own before MAX_CONCURRENT_STREAMS, but there a call's grpc-timeout is
 * already written and a cancel waits for a slot. So a stream is opened only where it goes out at once. One pump a turn moves
 * all that can move.
 */
#include "channel/call.h"
#include "channel/call_stream.h"
#include "channel/channel.h"
#include "channel/channel_idle.h"
#include "channel/channel_resolve.h"
#include "exec/executor.h"

/* What a call that waits is doing, by what its subchannel does. */
static enum lull_phase waiting_phase(const struct lull_channel *channel)
{
    if (channel_is_resolving(channel)) {
        return LULL_PHASE_RESOLVING;
    }
    switch (channel->subchannel.phase) {
    case SUBCHANNEL_GREETING:
        return LULL_PHASE_SETTINGS;
    case SUBCHANNEL_READY:
        return LULL_PHASE_QUEUED;
    case SUBCHANNEL_SPACING:
    case SUBCHANNEL_BACKOFF:
        return LULL_PHASE_BACKOFF;
    default:
        return subchannel_is_shaking_hands(&channel->subchannel) ? LULL_PHASE_HANDSHAKE
                                                                 : LULL_PHASE_CONNECTING;
    }
}

static struct lull_call *call_of(struct list_node *node)
{
    return LIST_ENTRY(node, struct lull_call, in_queue);
}

/*
 * By id: a call that comes back goes before those that came after it. One GOAWAY can send back all calls of a connection at
 * once, in any order, so they are put behind and the queue is sorted when the order is next asked for.
 */
static void insert(struct lull_channel *channel, struct lull_call *call)
{
    struct list_node *last = list_last(&channel->queue);
    if (last != NULL && call_of(last)->id > call->id) {
        channel->is_queue_unsorted = true;
    }
    list_push_back(&channel->queue, &call->in_queue);
}

/* Merges two runs that are linked by `next` alone and end in NULL. */
static struct list_node *merge(struct list_node *a, struct list_node *b)
{
    struct list_node head = {NULL, NULL};
    struct list_node *tail = &head;
    while (a != NULL && b != NULL) {
        struct list_node **least = call_of(b)->id < call_of(a)->id ? &b : &a;
        tail->next = *least;
        tail = *least;
        *least = tail->next;
    }
    tail->next = a != NULL ? a : b;
    return head.next;
}

/* Merge sort: runs[i] is empty or has 2^i calls. */
static void sort_queue(struct lull_channel *channel)
{
    struct list_node *runs[33] = {NULL};
    struct list_node *sorted = NULL;
    struct list_node *node;
    if (!channel->is_queue_unsorted) {
        return;
    }
    channel->is_queue_unsorted = false;
    while ((node = list_pop_front(&channel->queue)) != NULL) {
        size_t i = 0;
        node->next = NULL;
        for (; runs[i] != NULL; i++) {
            node = merge(runs[i], node);
            runs[i] = NULL;
        }
        runs[i] = node;
    }
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        sorted = merge(runs[i], sorted);
    }
    while (sorted != NULL) {
        node = sorted;
        sorted = node->next;
        list_push_back(&channel->queue, node);
    }
}

void channel_enqueue(struct lull_channel *channel, struct lull_call *call)
{
    if (call->stage == CALL_OPEN) {
        channel_count_waiting(channel, 1);
    }
    call->stage = CALL_WAITING;
    call->arena->peer[0] = '\0';
    call_count_attempts(call);
    call_set_phase(call, waiting_phase(channel));
    if (channel->state == LULL_STATE_TRANSIENT_FAILURE && !call->wait_for_ready) {
        call_end_unconnected(call);
        return;
    }
    insert(channel, call);
    channel_post_pump(channel);
}

size_t channel_queue_before(const struct lull_channel *channel, const struct lull_call *call)
{
    size_t before = 0;
    const struct list_node *node = channel->queue.next;
    while (node != &channel->queue && node != &call->in_queue && before < CHANNEL_QUEUE_COUNTED) {
        node = node->next;
        before++;
    }
    return before;
}

/* ---- the pump */

/* A stream that ended in this turn is h2's until the turn is over: its call is opened again in the next. */
static bool is_cooling(const struct lull_channel *channel, const struct lull_call *call)
{
    return call->stream_closed_turn != 0 &&
           call->stream_closed_turn == executor_turn_number(channel->executor);
}

static void pump_in_next_turn(struct lull_channel *channel)
{
    if (!channel->is_next_turn_held) {
        channel->is_next_turn_held = true;
        channel_hold(channel);
        executor_post_dead(channel->executor, &channel->next_turn);
    }
}

/* Opens what can be opened, in order. */
static void open_streams(struct lull_channel *channel)
{
    struct list_node *node;
    sort_queue(channel);
    while ((node = list_first(&channel->queue)) != NULL) {
        struct lull_call *call = call_of(node);
        struct connection *connection = subchannel_ready_connection(&channel->subchannel);
        if (connection == NULL || !h2_transport_can_open(connection->transport) ||
            h2_transport_is_blocked(connection->transport)) {
            return;
        }
        if (is_cooling(channel, call)) {
            pump_in_next_turn(channel);
            return;
        }
        if (!call_stream_open(call, connection)) {
            subchannel_retire(&channel->subchannel);
            return;
        }
        if (call->stage == CALL_OPEN) {
            list_remove(&call->in_queue);
            channel_count_waiting(channel, -1);
        }
    }
}

static void run_pump(struct lull_task *task, struct lull_executor *executor)
{
    struct lull_channel *channel = container_of(task, struct lull_channel, pump);
    (void)executor;
    channel->is_pump_held = false;
    if (!channel_is_closed(channel)) {
        open_streams(channel);
        if (!list_is_empty(&channel->queue)) {
            channel_idle_on_call_waits(channel);
        }
    }
    channel_release(channel);
}

static void run_next_turn(struct lull_task *task, struct lull_executor *executor)
{
    struct lull_channel *channel = container_of(task, struct lull_channel, next_turn);
    (void)executor;
    channel->is_next_turn_held = false;
    if (!channel_is_closed(channel)) {
        channel_post_pump(channel);
    }
    channel_release(channel);
}

void channel_post_pump(struct lull_channel *channel)
{
    if (!channel->is_pump_held) {
        channel->is_pump_held = true;
        channel_hold(channel);
        lull_executor_post(channel->executor, &channel->pump);
    }
}

void channel_queue_init(struct lull_channel *channel)
{
    list_init(&channel->queue);
    lull_task_init(&channel->pump, run_pump);
    executor_task_set_quiet(&channel->pump);
    lull_task_init(&channel->next_turn, run_next_turn);
}

void channel_queue_stop(struct lull_channel *channel)
{
    if (channel->is_pump_held && lull_executor_unpost(channel->executor, &channel->pump)) {
        channel->is_pump_held = false;
        channel_release(channel);
    }
}

/* ---- facts */

void channel_queue_on_phase(struct lull_channel *channel)
{
    enum lull_phase phase = waiting_phase(channel);
    LIST_FOR_EACH(node, &channel->queue)
    {
        call_set_phase(call_of(node), phase);
    }
    if (!list_is_empty(&channel->queue)) {
        channel_post_pump(channel);
    }
}

void channel_queue_on_attempt_failed(struct lull_channel *channel)
{
    sort_queue(channel);
    LIST_FOR_EACH_SAFE(node, after, &channel->queue)
    {
        if (!call_of(node)->wait_for_ready) {
            call_end_unconnected(call_of(node));
        }
    }
}
