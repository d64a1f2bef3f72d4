/* SPDX-License-Identifier: MIT */
/*
 * Arenas of calls. See call_arena.h.
 */
#include "channel/call_arena.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/percent.h"
#include "channel/call_messages.h"
#include "lull/recycler.h"

void call_arenas_init(struct call_arenas *arenas, const struct lull_allocator *allocator,
                      struct lull_counters *counters)
{
    arenas->allocator = allocator;
    arenas->counters = counters;
    arenas->first = NULL;
    arenas->kept = 0;
    arenas->messages = NULL;
}

static void free_arena(struct call_arenas *arenas, struct call_arena *arena)
{
    metadata_list_fini(&arena->request);
    metadata_list_fini(&arena->headers);
    metadata_list_fini(&arena->trailers);
    mem_release(arenas->allocator, arena->method);
    mem_release(arenas->allocator, arena->message);
    mem_release(arenas->allocator, arena);
}

void call_arenas_trim(struct call_arenas *arenas)
{
    while (arenas->first != NULL) {
        struct call_arena *arena = arenas->first;
        arenas->first = arena->next;
        free_arena(arenas, arena);
    }
    arenas->kept = 0;
    if (arenas->messages != NULL) {
        lull_recycler_trim(arenas->messages);
    }
}

void call_arenas_fini(struct call_arenas *arenas)
{
    call_arenas_trim(arenas);
    lull_recycler_free(arenas->messages);
    arenas->messages = NULL;
}

struct call_message *call_arenas_claim_message(struct call_arenas *arenas)
{
    if (arenas->messages == NULL) {
        struct lull_recycler_options options;
        lull_recycler_options_init(&options, "call message", sizeof(struct call_message));
        options.keep = CALL_MESSAGES_KEPT;
        options.allocator = arenas->allocator;
        options.counters = arenas->counters;
        (void)lull_recycler_new(&options, &arenas->messages);
    }
    struct call_message *message =
        arenas->messages != NULL ? lull_recycler_claim(arenas->messages) : NULL;
    if (message != NULL) {
        list_init(&message->link);
    }
    return message;
}

void call_arenas_release_message(struct call_arenas *arenas, struct call_message *message)
{
    /* unguarded: its queue has just let go of the node (call_messages_take), and a node is in one queue only. */
    lull_recycler_release_unguarded(arenas->messages, message);
}

static void empty_text(char *text, size_t cap)
{
    if (cap > 0) {
        text[0] = '\0';
    }
}

struct call_arena *call_arena_claim(struct call_arenas *arenas)
{
    struct call_arena *arena = arenas->first;
    if (arena == NULL) {
        arena = mem_alloc(arenas->allocator, sizeof(*arena));
        if (arena == NULL) {
            return NULL;
        }
        memset(arena, 0, offsetof(struct call_arena, failure));
        arenas->counters->allocations++;
        metadata_list_init(&arena->request, arenas->allocator, 0);
        metadata_list_init(&arena->headers, arenas->allocator, 0);
        metadata_list_init(&arena->trailers, arenas->allocator, 0);
        return arena;
    }
    arenas->first = arena->next;
    arenas->kept--;
    return arena;
}

static void empty_list(struct metadata_list *list)
{
    if (list->bytes_cap > CALL_ARENA_KEEP_BYTES) {
        const struct lull_allocator *allocator = list->allocator;
        metadata_list_fini(list);
        metadata_list_init(list, allocator, 0);
        return;
    }
    metadata_list_reset(list);
}

void call_arena_release(struct call_arenas *arenas, struct call_arena *arena)
{
    if (arenas->kept == CALL_ARENAS_KEPT) {
        free_arena(arenas, arena);
        return;
    }
    if (arena->has_metadata) {
        empty_list(&arena->request);
        empty_list(&arena->headers);
        empty_list(&arena->trailers);
        arena->has_metadata = false;
    }
    if (arena->message_cap > CALL_ARENA_KEEP_BYTES) {
        mem_release(arenas->allocator, arena->message);
        arena->message = NULL;
        arena->message_cap = 0;
    }
    if (arena->message_len != 0) {
        arena->message_len = 0;
        empty_text(arena->message, arena->message_cap);
    }
    arena->peer[0] = '\0';
    arena->next = arenas->first;
    arenas->first = arena;
    arenas->kept++;
}

/* Room for `len` bytes and a NUL. */
static int reserve(struct call_arenas *arenas, char **text, size_t *cap, size_t len)
{
    if (len < *cap) {
        return LULL_OK;
    }
    size_t wanted = len + 1 < 64 ? 64 : len + 1;
    char *grown = mem_resize(arenas->allocator, *text, wanted);
    if (grown == NULL) {
        return LULL_RC_NOMEM;
    }
    arenas->counters->allocations++;
    *text = grown;
    *cap = wanted;
    return LULL_OK;
}

int call_arena_set_method(struct call_arenas *arenas, struct call_arena *arena, const char *method)
{
    size_t len = strlen(method);
    if (reserve(arenas, &arena->method, &arena->method_cap, len) != LULL_OK) {
        return LULL_RC_NOMEM;
    }
    memcpy(arena->method, method, len + 1);
    return LULL_OK;
}

int call_arena_set_request(struct call_arenas *arenas, struct call_arena *arena,
                           const struct lull_metadata *metadata)
{
    if (metadata->count == 0) {
        return LULL_OK;
    }
    size_t bytes_cap = arena->request.bytes_cap;
    arena->has_metadata = true;
    if (metadata_list_add_all(&arena->request, metadata) != LULL_OK) {
        return LULL_RC_NOMEM;
    }
    arenas->counters->allocations += arena->request.bytes_cap != bytes_cap;
    return LULL_OK;
}

int call_arena_set_message(struct call_arenas *arenas, struct call_arena *arena,
                           const void *encoded, size_t len)
{
    if (reserve(arenas, &arena->message, &arena->message_cap, len) != LULL_OK) {
        arena->message_len = 0;
        empty_text(arena->message, arena->message_cap);
        return LULL_RC_NOMEM;
    }
    arena->message_len = percent_decode(encoded, len, arena->message);
    arena->message[arena->message_len] = '\0';
    return LULL_OK;
}
