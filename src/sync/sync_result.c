/* SPDX-License-Identifier: MIT */
/*
 * Keeping the end of a call. See sync_result.h.
 */
#include "sync/sync_result.h"

#include <string.h>

#include "base/mem.h"

/* What goes into the block, in this order: items are aligned, and so is what stands before them. */
struct block {
    struct lull_failure failure;
    struct lull_metadatum items[];
};

static size_t bytes_of(const struct lull_metadata *metadata)
{
    size_t bytes = 0;
    for (size_t i = 0; i < metadata->count; i++) {
        bytes += metadata->items[i].key_len + metadata->items[i].value_len + 2;
    }
    return bytes;
}

/* Copies with a NUL behind; `at` moves on. */
static char *put(char **at, const void *bytes, size_t len)
{
    char *copy = *at;
    if (len != 0) {
        memcpy(copy, bytes, len);
    }
    copy[len] = '\0';
    *at += len + 1;
    return copy;
}

static struct lull_metadata put_metadata(struct lull_metadatum *items, char **at,
                                         const struct lull_metadata *from)
{
    struct lull_metadata kept = {.items = from->count != 0 ? items : NULL, .count = from->count};
    for (size_t i = 0; i < from->count; i++) {
        const struct lull_metadatum *item = &from->items[i];
        items[i].key = put(at, item->key, item->key_len);
        items[i].key_len = item->key_len;
        items[i].value = put(at, item->value, item->value_len);
        items[i].value_len = item->value_len;
    }
    return kept;
}

static void put_failure(struct lull_failure *to, char **at, const struct lull_failure *from)
{
    *to = *from;
    to->address = put(at, from->address, strlen(from->address));
    to->line = put(at, from->line, strlen(from->line));
}

void sync_result_keep(struct lull_sync_result *result, const struct lull_status *status,
                      const struct lull_metadata *headers, const struct lull_metadata *trailers,
                      struct lull_slice message)
{
    const struct lull_failure *failure = status->failure;
    const size_t count = headers->count + trailers->count;
    size_t texts = status->message_len + 1 + bytes_of(headers) + bytes_of(trailers);
    if (failure != NULL) {
        texts += strlen(failure->address) + strlen(failure->line) + 2;
    }
    /* It may be that of a call before. */
    lull_sync_result_fini(result);
    result->status.code = status->code;
    result->message = lull_slice_ref(message);
    if (count == 0 && status->message_len == 0 && failure == NULL) {
        return;
    }
    struct block *block =
        mem_alloc(NULL, sizeof(*block) + count * sizeof(struct lull_metadatum) + texts);
    if (block == NULL) {
        result->status.message = "no memory to keep how the call ended";
        result->status.message_len = strlen(result->status.message);
        return;
    }
    char *at = (char *)(block->items + count);
    result->memory = block;
    result->status.message = put(&at, status->message, status->message_len);
    result->status.message_len = status->message_len;
    result->headers = put_metadata(block->items, &at, headers);
    result->trailers = put_metadata(block->items + headers->count, &at, trailers);
    if (failure != NULL) {
        put_failure(&block->failure, &at, failure);
        result->status.failure = &block->failure;
    }
}

void lull_sync_result_fini(struct lull_sync_result *result)
{
    if (result != NULL) {
        lull_slice_unref(result->message);
        mem_release(NULL, result->memory);
        lull_sync_result_init(result);
    }
}
