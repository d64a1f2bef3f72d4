/* SPDX-License-Identifier: MIT */
/*
 * What a socket did not take: the rest of a gathered write.
 *
 * Decides: what of it is copied. The shared write buffer is lent for one write only, so its bytes are; counted payloads are kept by
 * reference. Offered again, it is the same bytes from the same place, never fewer (a TLS endpoint needs that, RULINGS 24). Called by
 * send.c.
 */
#ifndef H2_UNSENT_H
#define H2_UNSENT_H

#include <stdbool.h>
#include <stddef.h>

#include "lull/allocator.h"
#include "lull/trace.h"
#include "lull/types.h"
#include "net/endpoint.h"

struct unsent;

/*
 * Keeps pieces[0..count) without their first `wrote` bytes. held[i] is the reference behind pieces[i], or a slice without a slab;
 * all references are taken over. NULL, and they are given back: no memory.
 */
struct unsent *unsent_new(const struct lull_allocator *allocator, struct lull_counters *counters,
                          const struct io_piece *pieces, struct lull_slice *held, size_t count,
                          size_t wrote);
void unsent_free(struct unsent *unsent);

/* Offers it to the endpoint once and counts what went. */
enum io unsent_write(struct unsent *unsent, struct endpoint *endpoint, size_t *wrote);

bool unsent_is_empty(const struct unsent *unsent);

#endif
