/* SPDX-License-Identifier: MIT */
/*
 * What the connections of an executor share. See stock.h.
 */
#include "h2/stock.h"

#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "lull/recycler.h"

static void free_stock(struct lull_executor *executor, struct executor_share *share)
{
    const struct lull_allocator *allocator = executor_allocator(executor);
    struct h2_stock *stock = container_of(share, struct h2_stock, share);
    lull_recycler_free(stock->small);
    lull_recycler_free(stock->runs);
    mem_release(allocator, stock->fields);
    mem_release(allocator, stock->encoded);
    mem_release(allocator, stock);
}

static struct executor_share *make(struct lull_executor *executor)
{
    struct h2_stock *stock = mem_alloc(executor_allocator(executor), sizeof(*stock));
    if (stock == NULL) {
        return NULL;
    }
    memset(stock, 0, offsetof(struct h2_stock, frame));
    stock->share.free = free_stock;
    executor_counters(executor)->allocations++;
    return &stock->share;
}

struct h2_stock *stock_join(struct lull_executor *executor)
{
    struct executor_share **at = executor_share(executor, EXECUTOR_SHARE_CONNECTIONS);
    if (*at == NULL && (*at = make(executor)) == NULL) {
        return NULL;
    }
    (*at)->users++;
    return container_of(*at, struct h2_stock, share);
}

void stock_leave(struct h2_stock *stock)
{
    if (stock == NULL || --stock->share.users != 0) {
        return;
    }
    /* A few hundred KiB, where many messages came at once. */
    if (stock->small != NULL) {
        lull_recycler_trim(stock->small);
    }
    if (stock->runs != NULL) {
        lull_recycler_trim(stock->runs);
    }
}

int stock_reserve_fields(struct lull_executor *executor, struct h2_stock *stock, size_t count, size_t encoded)
{
    const struct lull_allocator *allocator = executor_allocator(executor);
    if (count > stock->fields_cap) {
        nghttp2_nv *fields = mem_resize_array(allocator, stock->fields, count, sizeof(*fields));
        if (fields == NULL) {
            return LULL_RC_NOMEM;
        }
        executor_counters(executor)->allocations++;
        stock->fields = fields;
        stock->fields_cap = count;
    }
    if (encoded > stock->encoded_cap) {
        char *room = mem_resize(allocator, stock->encoded, encoded);
        if (room == NULL) {
            return LULL_RC_NOMEM;
        }
        executor_counters(executor)->allocations++;
        stock->encoded = room;
        stock->encoded_cap = encoded;
    }
    return LULL_OK;
}
