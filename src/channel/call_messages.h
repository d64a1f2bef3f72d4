/* SPDX-License-Identifier: MIT */
/*
 * Messages of a call that wait for something, in order: to be sent, to be sent again, to be told.
 *
 * Decides: how they are kept, so that a call of one message asks for no memory, and a steady stream for none that is not
 * used again. Called by call_send.c and call_receive.c. Must not know what they wait for. In context or on the driving
 * thread.
 */
#ifndef CHANNEL_CALL_MESSAGES_H
#define CHANNEL_CALL_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "lull/types.h"

struct call_arenas;

struct call_message {
    struct list_node link;
    struct lull_slice payload;
    size_t more; /* receiving: bytes of further messages behind it (struct h2_run) */
    bool is_allocated; /* by a thread outside the context: it goes back to the allocator */
};

struct call_messages {
    struct list_node queue;
    struct call_message first; /* the first one needs no node from the store */
    bool has_first;
};

void call_messages_init(struct call_messages *messages);

/* Puts a message [own] at the end; NULL: no memory, and it is still the caller's. Cannot fail on an empty, unused queue. */
struct call_message *call_messages_push(struct call_arenas *arenas, struct call_messages *messages,
                                        struct lull_slice message);

/* Puts a message that has its node already at the end. */
void call_messages_append(struct call_messages *messages, struct call_message *message);

/* Takes one out and returns its payload, whose reference is the caller's now. */
struct lull_slice call_messages_take(struct call_arenas *arenas, struct call_messages *messages,
                                     struct call_message *message);

/* Gives all of them back. */
void call_messages_clear(struct call_arenas *arenas, struct call_messages *messages);

/* The first one, or the one behind another; NULL: there is none. */
static inline struct call_message *call_messages_first(const struct call_messages *messages)
{
    struct list_node *node = list_first(&messages->queue);
    return node == NULL ? NULL : LIST_ENTRY(node, struct call_message, link);
}

struct call_message *call_messages_next(const struct call_messages *messages,
                                        const struct call_message *message);

#endif
