/* SPDX-License-Identifier: MIT */
/*
 * The seeded generator behind lull_random_seed (lull/world.h).
 *
 * Decides: which bits follow from a seed, for ever: xoshiro256** (Blackman and Vigna, "Scrambled
 * linear pseudorandom number generators", 2021), its state filled by splitmix64 as its authors
 * advise. Used for jitter and by simulations. Never for secrets.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

#include "lull/world.h"

/* The next output of splitmix64 (Steele, Lea, Flood 2014), moving its state on. Spreads seeds and
 * hashes. */
uint64_t random_splitmix(uint64_t *state);

/* A seed from the system, different in each process and at each call. Any thread. */
uint64_t random_system_seed(void);

#endif
