/* SPDX-License-Identifier: MIT */
/**
 * @file world.h
 * Everything outside the library in one struct: time, chance, connections, names, the loop. The
 * real one by default, a simulated one in tests.
 */
#ifndef LULL_WORLD_H
#define LULL_WORLD_H

#include <lull/clock.h>
#include <lull/loop.h>
#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lull_random;
struct lull_dialer;
struct lull_listener;
struct lull_resolver;

/** A source of chance for jitter and ids; not for secrets. Since 0.1. */
struct lull_random {
    uint64_t (*next)(struct lull_random *random); /**< the next 64 bits */
};

/** A seeded generator: the same seed gives the same bits everywhere. Layout not stable before 1.0.
 * Since 0.1. */
struct lull_random_seeded {
    struct lull_random base;
    uint64_t state[4];
};

/** Seeds the generator. Since 0.1. */
LULL_API void lull_random_seed(struct lull_random_seeded *random, uint64_t seed);

/** A double in [lo, hi) from any source. Since 0.1. */
LULL_API double lull_random_between(struct lull_random *random, double lo, double hi);

/** The world a channel lives in. NULL members mean the real thing. In a struct of another release,
 * from 0.3, what is missing is NULL, and what this one does not know has to be NULL. Since 0.1. */
struct lull_world {
    size_t size;
    struct lull_clock
        *clock; /**< [borrow] goes with the loop's executor, which must use the same one */
    struct lull_random *random; /**< [borrow] jitter */
    struct lull_dialer *dial;   /**< [borrow] makes outgoing connections; private until 1.0 (testkit
                                   makes simulated ones) */
    struct lull_listener *listen;  /**< [borrow] accepts connections; private until 1.0 */
    struct lull_resolver *resolve; /**< [borrow] answers names; private until 1.0 */
    struct lull_loop *loop;        /**< [borrow] who drives */
};

/** Fills in NULLs. Since 0.1. */
static inline void lull_world_init(struct lull_world *world)
{
    world->size = sizeof(*world);
    world->clock = NULL;
    world->random = NULL;
    world->dial = NULL;
    world->listen = NULL;
    world->resolve = NULL;
    world->loop = NULL;
}

#ifdef __cplusplus
}
#endif

#endif
