/* SPDX-License-Identifier: MIT */
/*
 * Queues of messages. See call_messages.h.
 */
#include "channel/call_messages.h"

#include "base/mem.h"
#include "channel/call_arena.h"

void call_messages_init(struct call_messages *messages)
{
    list_init(&messages->queue);
    list_init(&messages->first.link);
    messages->has_first = false;
}

struct call_message *call_messages_push(struct call_arenas *arenas, struct call_messages *messages,
                                        struct lull_slice message)
{
    struct call_message *node = &messages->first;
    if (messages->has_first) {
        node = call_arenas_claim_message(arenas);
        if (node == NULL) {
            return NULL;
        }
    } else {
        messages->has_first = true;
    }
    node->payload = message;
    node->more = 0;
    node->is_allocated = false;
    call_messages_append(messages, node);
    return node;
}

void call_messages_append(struct call_messages *messages, struct call_message *message)
{
    list_init(&message->link);
    list_push_back(&messages->queue, &message->link);
}

struct lull_slice call_messages_take(struct call_arenas *arenas, struct call_messages *messages,
                                     struct call_message *message)
{
    struct lull_slice payload = message->payload;
    list_remove(&message->link);
    if (message == &messages->first) {
        messages->has_first = false;
    } else if (message->is_allocated) {
        mem_release(arenas->allocator, message);
    } else {
        call_arenas_release_message(arenas, message);
    }
    return payload;
}

void call_messages_clear(struct call_arenas *arenas, struct call_messages *messages)
{
    struct call_message *message;
    while ((message = call_messages_first(messages)) != NULL) {
        lull_slice_unref(call_messages_take(arenas, messages, message));
    }
}

struct call_message *call_messages_next(const struct call_messages *messages,
                                        const struct call_message *message)
{
    return message->link.next == &messages->queue
               ? NULL
               : LIST_ENTRY(message->link.next, struct call_message, link);
}
