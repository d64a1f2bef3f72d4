/* SPDX-License-Identifier: MIT */
/*
 * The memory of a call that is worth keeping for the next one: its lists, its texts, the record of its failure.
 *
 * Decides: how many arenas an executor keeps, and from which size on one gives memory back. Called by call_start.c and call.c, one
 * for each call. Must not know what the bytes mean. A call object comes from a recycler and is raw memory each time; what
 * has grown lives here, so that a steady stream of calls allocates nothing. The nodes of the calls' messages come from here as
 * well, for a steady stream of messages. In context or on the driving thread.
 */
#ifndef CHANNEL_CALL_ARENA_H
#define CHANNEL_CALL_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/metadata.h"
#include "channel/failure.h"
#include "lull/allocator.h"
#include "lull/trace.h"

/* Arenas kept for reuse, as many as recyclers keep: calls that are under way at once end at once. */
#define CALL_ARENAS_KEPT 256

/* Nodes of messages kept for reuse. */
#define CALL_MESSAGES_KEPT 1024

/* A list or a text that grew past this is given back when its call is over. */
#define CALL_ARENA_KEEP_BYTES ((size_t)16 * 1024)

/* What every call needs stands first: the lists of one without metadata are not touched. */
struct call_arena {
    struct call_arena *next;
    char *method; /* NUL-terminated */
    size_t method_cap;
    char *message; /* the server's, NUL-terminated */
    size_t message_len;
    size_t message_cap;
    bool has_metadata; /* something was put into a list: set before it is */
    char peer[ADDR_TEXT_BYTES];
    struct metadata_list request;
    struct metadata_list headers;
    struct metadata_list trailers;
    struct failure failure; /* last: undefined until the call has failed */
};

struct call_message;
struct lull_recycler;

struct call_arenas {
    const struct lull_allocator *allocator;
    struct lull_counters *counters;
    struct call_arena *first;
    uint32_t kept;
    struct lull_recycler *messages; /* NULL before the first use */
};

void call_arenas_init(struct call_arenas *arenas, const struct lull_allocator *allocator,
                      struct lull_counters *counters);
void call_arenas_fini(struct call_arenas *arenas);

/* Gives back what is kept for reuse; what is in use stays. For a channel that goes idle. */
void call_arenas_trim(struct call_arenas *arenas);

/* An empty arena; NULL: no memory. */
struct call_arena *call_arena_claim(struct call_arenas *arenas);
void call_arena_release(struct call_arenas *arenas, struct call_arena *arena);

/* One of its three lists. */
static inline struct lull_metadata call_arena_view(const struct call_arena *arena,
                                                   const struct metadata_list *list)
{
    return arena->has_metadata ? metadata_list_view(list) : (struct lull_metadata){NULL, 0};
}

/* A node of a queue of messages, its list_node in no list; NULL: no memory. */
struct call_message *call_arenas_claim_message(struct call_arenas *arenas);
void call_arenas_release_message(struct call_arenas *arenas, struct call_message *message);

/* Copies a text; LULL_OK or LULL_RC_NOMEM. */
int call_arena_set_method(struct call_arenas *arenas, struct call_arena *arena, const char *method);

/* Copies the request's metadata; LULL_OK or LULL_RC_NOMEM. */
int call_arena_set_request(struct call_arenas *arenas, struct call_arena *arena,
                           const struct lull_metadata *metadata);

/* Percent-decodes and keeps the server's message. LULL_OK, or LULL_RC_NOMEM and it is empty. */
int call_arena_set_message(struct call_arenas *arenas, struct call_arena *arena,
                           const void *encoded, size_t len);

#endif
