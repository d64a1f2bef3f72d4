/* SPDX-License-Identifier: MIT */
/*
 * Slabs of one size that are used again.
 *
 * Decides: that a slab goes back to the recycler that it came from, on whatever thread it is let go, be the transport there or not. Called by
 * framing.c (messages that came) and outbox.c (messages that go). Must not know what is in them. In context.
 */
#ifndef H2_SLABS_H
#define H2_SLABS_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

struct h2_transport;
struct lull_recycler;

/* A slab of `bytes` with one reference, from a recycler that is made when it is first asked; NULL: no memory. */
struct lull_slab *slabs_claim(struct h2_transport *t, struct lull_recycler **from, const char *name, size_t bytes, uint32_t keep);

#endif
