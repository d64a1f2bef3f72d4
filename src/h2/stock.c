/* SPDX-License-Identifier: MIT */
/*
 * What the connections of an executor share. See stock.h.
 */
#include "h2/stock.h"

#include <string.h>

#include "base/mem.h"
#include "exec/executor.h"
#include "lull/recycler.h"

static struct h2_stock *make(struct lull_executor *executor)
{
    struct h2_stock *stock = mem_alloc(executor_allocator(executor), sizeof(*stock));
    if (stock != NULL) {
        memset(stock, 0, offsetof(struct h2_stock, frame));
        executor_counters(executor)->allocations++;
        executor_set_stock(executor, stock);
    }
    return stock;
}

struct h2_stock *stock_join(struct lull_executor *executor)
{
    struct h2_stock *stock = executor_stock(executor);
    if (stock == NULL) {
        stock = make(executor);
    }
    if (stock != NULL) {
        stock->transports++;
    }
    return stock;
}

void stock_leave(struct lull_executor *executor, struct h2_stock *stock)
{
    const struct lull_allocator *allocator = executor_allocator(executor);
    if (stock == NULL || --stock->transports != 0) {
        return;
    }
    executor_set_stock(executor, NULL);
    lull_recycler_free(stock->small);
    lull_recycler_free(stock->runs);
    mem_release(allocator, stock->fields);
    mem_release(allocator, stock->encoded);
    mem_release(allocator, stock);
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
