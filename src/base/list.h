/* SPDX-License-Identifier: MIT */
/*
 * An intrusive doubly linked list with a sentinel.
 *
 * Decides: nothing but the order of nodes. The list head is a list_node of its own; a node that is
 * in no list points at itself, so that removing it twice is harmless and list_is_linked can be
 * asked. Nothing here allocates or can fail. One thread at a time.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/container.h"

struct list_node {
    struct list_node *prev;
    struct list_node *next;
};

/* The struct that holds `node` as its `member`. */
#define LIST_ENTRY(node, type, member) container_of(node, type, member)

/* Walks the list; the body must not remove `node`. */
#define LIST_FOR_EACH(node, list)                                                                  \
    for (struct list_node *node = (list)->next; node != (list); node = node->next)

/* Walks the list; the body may remove `node` (and no other). */
#define LIST_FOR_EACH_SAFE(node, after, list)                                                      \
    for (struct list_node *node = (list)->next, *after = node->next; node != (list);               \
         node = after, after = node->next)

/* Makes an empty list, or a node that is in no list. */
static inline void list_init(struct list_node *list)
{
    list->prev = list;
    list->next = list;
}

/* True when the list has no nodes. */
static inline bool list_is_empty(const struct list_node *list)
{
    return list->next == list;
}

/* True when the node is in a list. */
static inline bool list_is_linked(const struct list_node *node)
{
    return node->next != node;
}

/* Puts `node`, which is in no list, before `place`. */
static inline void list_insert_before(struct list_node *place, struct list_node *node)
{
    node->prev = place->prev;
    node->next = place;
    place->prev->next = node;
    place->prev = node;
}

static inline void list_push_back(struct list_node *list, struct list_node *node)
{
    list_insert_before(list, node);
}

static inline void list_push_front(struct list_node *list, struct list_node *node)
{
    list_insert_before(list->next, node);
}

/* Takes the node out of its list; it points at itself afterwards. Harmless for a node in no list.
 */
static inline void list_remove(struct list_node *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/* The first or last node; NULL when the list is empty. */
static inline struct list_node *list_first(const struct list_node *list)
{
    return list_is_empty(list) ? NULL : list->next;
}

static inline struct list_node *list_last(const struct list_node *list)
{
    return list_is_empty(list) ? NULL : list->prev;
}

/* Takes the first node out; NULL when the list is empty. */
static inline struct list_node *list_pop_front(struct list_node *list)
{
    struct list_node *node = list_first(list);
    if (node != NULL) {
        list_remove(node);
    }
    return node;
}

/* Moves all nodes of `from` to the end of `list`, in order; `from` is empty afterwards. */
static inline void list_append(struct list_node *list, struct list_node *from)
{
    if (list_is_empty(from)) {
        return;
    }
    from->next->prev = list->prev;
    list->prev->next = from->next;
    from->prev->next = list;
    list->prev = from->prev;
    list_init(from);
}

#endif
