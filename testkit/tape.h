/* SPDX-License-Identifier: MIT */
/*
 * A record of everything that happened in a simulated world, as text, for comparing two runs to the byte.
 *
 * Decides: the form of a line (virtual time, who, what). Called by the simulator and its peers. Must not know what the lines mean.
 */
#ifndef TESTKIT_TAPE_H
#define TESTKIT_TAPE_H

#include "base/buf.h"
#include "lull/types.h"

struct tape {
    struct buf text;
    bool is_cut; /* no memory: what follows is missing, and comparisons must fail */
};

void tape_init(struct tape *tape);
void tape_fini(struct tape *tape);

/* Adds a line "<ns> <who> <what>". */
void tape_line(struct tape *tape, struct lull_instant at, const char *who, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds a line with bytes in hex. */
void tape_bytes(struct tape *tape, struct lull_instant at, const char *who, const uint8_t *bytes, size_t len);

/* True when both are whole, not empty, and the same to the byte. */
bool tape_same(const struct tape *a, const struct tape *b);

#endif
