/* SPDX-License-Identifier: MIT */
/*
 * xoshiro256** seeded by splitmix64. See random.h and lull/world.h.
 */
#include "base/random.h"

#include <stdatomic.h>
#include <sys/random.h>
#include <unistd.h> /* where musl has getentropy */

#include "base/container.h"

static uint64_t rotate_left(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

/* Splitmix64: a counter that steps by the odd golden-ratio constant, and a mix of its bits. */
uint64_t random_splitmix(uint64_t *state)
{
    uint64_t z;
    *state += UINT64_C(0x9e3779b97f4a7c15);
    z = *state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/*
 * Xoshiro256: a linear step of 256 bits of state (shift 17, rotation 45). The output scrambles the
 * second word: times 5, rotated by 7, times 9.
 */
static uint64_t seeded_next(struct lull_random *random)
{
    struct lull_random_seeded *seeded = container_of(random, struct lull_random_seeded, base);
    uint64_t *s = seeded->state;
    uint64_t output = rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return output;
}

void lull_random_seed(struct lull_random_seeded *random, uint64_t seed)
{
    random->base.next = seeded_next;
    /* Splitmix64 visits each value once, so the four words cannot all be zero, which would stick.
     */
    for (int i = 0; i < 4; i++) {
        random->state[i] = random_splitmix(&seed);
    }
}

double lull_random_between(struct lull_random *random, double lo, double hi)
{
    /* The top 53 bits, as many as a double holds: u is in [0, 1). */
    double u = (double)(random->next(random) >> 11) * 0x1.0p-53;
    double value = lo * (1.0 - u) + hi * u;
    /* The sum may round up to hi, or the range may be empty. */
    return value >= lo && value < hi ? value : lo;
}

uint64_t random_system_seed(void)
{
    static _Atomic uint64_t calls;
    uint64_t seed;
    if (getentropy(&seed, sizeof(seed)) != 0) {
        /* No entropy here: jitter asks only that two processes differ, and their stacks do. */
        seed = (uint64_t)(uintptr_t)&seed + atomic_fetch_add(&calls, 1);
        seed = random_splitmix(&seed);
    }
    return seed;
}
