/* SPDX-License-Identifier: MIT */
/*
 * A list of pairs that owns its bytes.
 *
 * Decides: how a list grows, what a pair weighs, and how a "-bin" value on the wire becomes values.
 * Called by h2/ and channel/. Must not know about frames or which names are special beyond
 * lull_metadata_check. The public side is lull/metadata.h.
 *
 * A pair weighs name + value + 32 bytes, as RFC 9113 section 6.5.2 counts it: a "-bin" value weighs
 * what it is on the wire, so in base64. Keys and values are in one block, each followed by a NUL.
 * metadata_list_reset keeps the memory, so a list that is used again and again stops allocating.
 */
#ifndef BASE_METADATA_H
#define BASE_METADATA_H

#include <stdbool.h>
#include <stddef.h>

#include "lull/allocator.h"
#include "lull/metadata.h"

/*
 * The largest header block that nghttp2 makes of what we give it, and what it counts for a field beside name and value
 * (nghttp2_hd_deflate_bound). More cannot be sent.
 */
#define METADATA_BLOCK_MAX_BYTES ((size_t)64 * 1024)
#define METADATA_FIELD_BYTES     ((size_t)12)

/* RFC 9113 section 6.5.2: what a field weighs beside its name and value. */
#define METADATA_WEIGHT_BYTES ((size_t)32)

struct metadata_list {
    const struct lull_allocator *allocator; /* NULL: the system's */
    struct lull_metadatum *items;           /* they point into bytes, if not borrowed; any add may move them */
    size_t count;
    size_t items_cap;
    char *bytes;
    size_t bytes_len;
    size_t bytes_cap;
    size_t size_bytes;  /* what all of it weighs */
    size_t limit_bytes; /* the most it may weigh; 0: no limit */
};

/* Allocates nothing. `limit_bytes` 0: no limit. */
void metadata_list_init(struct metadata_list *list, const struct lull_allocator *allocator,
                        size_t limit_bytes);
void metadata_list_fini(struct metadata_list *list);

/* Empties the list and keeps its memory. */
void metadata_list_reset(struct metadata_list *list);

/*
 * Copies one pair; the value is the application's bytes, "-bin" or not. LULL_OK, LULL_RC_NOMEM, or
 * LULL_RC_LIMIT when it would weigh too much; on failure the list is as before. The pair must not
 * be from this list.
 */
int metadata_list_add(struct metadata_list *list, const char *key, size_t key_len,
                      const void *value, size_t value_len);

/* Adds a pair, "-bin" or not, that outlives the list's next reset, weighed as it is; it is short. False: the list is full, or it would weigh too
 * much; nothing changed. */
static inline bool metadata_list_borrow(struct metadata_list *list, const struct lull_metadatum *item)
{
    const size_t total =
        list->size_bytes + item->key_len + item->value_len + METADATA_WEIGHT_BYTES;
    if (list->count == list->items_cap || (list->limit_bytes != 0 && total > list->limit_bytes)) {
        return false;
    }
    list->size_bytes = total;
    list->items[list->count++] = *item;
    return true;
}

/* Copies every pair of `metadata` (NULL: none). All or nothing. */
int metadata_list_add_all(struct metadata_list *list, const struct lull_metadata *metadata);

/*
 * Copies one header field as it came: a "-bin" value is split at its commas, each part is decoded
 * from base64 and added as a pair of its own, and weighs as if it had come alone. Other values are
 * copied as they are. LULL_RC_INVALID: bad base64. On failure the list is as before.
 */
int metadata_list_add_wire(struct metadata_list *list, const char *key, size_t key_len,
                           const void *value, size_t value_len);

/* Such a field may still be counted. No byte of it is needed to tell. */
bool metadata_list_has_room(const struct metadata_list *list, size_t key_len, size_t value_len);

/* Counts a field that is not kept (":status", grpc-status). LULL_OK, or LULL_RC_LIMIT and nothing
 * is counted. */
int metadata_list_charge(struct metadata_list *list, size_t key_len, size_t value_len);

/* The list as the public API sees it; borrowed, valid until the list is next changed. */
struct lull_metadata metadata_list_view(const struct metadata_list *list);

/* What metadata takes of a header block, "-bin" values in base64; saturates. Of lengths that cannot be meant no byte is looked at. */
size_t metadata_block_bytes(const struct lull_metadata *metadata /* [nullable] */);

/* lull_metadata_check of what shares its header block with `other` bytes of the caller's. */
int metadata_check(const struct lull_metadata *metadata /* [nullable] */, size_t other,
                   struct lull_error *error);

/* True for a key that ends in "-bin". */
bool metadata_is_binary(const char *key, size_t key_len);

#endif
