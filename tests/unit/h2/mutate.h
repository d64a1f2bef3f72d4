/* SPDX-License-Identifier: MIT */
/*
 * Seeded damage to bytes, for the tests that say them to a transport.
 */
#ifndef TESTS_UNIT_H2_MUTATE_H
#define TESTS_UNIT_H2_MUTATE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/random.h"

#define STREAM_MAX 4096

static uint64_t state;

static inline size_t below(size_t n)
{
    return (size_t)(random_splitmix(&state) % n);
}

/* One to four places of `bytes`, which has room for STREAM_MAX. Returns the new length. */
static inline size_t mutate(uint8_t *bytes, size_t len)
{
    for (size_t n = 1 + below(4); n > 0 && len > 1; n--) {
        const size_t at = below(len);
        const size_t run_len = 1 + below(len - at < 12 ? len - at : 12);
        switch (below(6)) {
        case 0: /* a bit */
            bytes[at] ^= (uint8_t)(1u << below(8));
            break;
        case 1: /* a byte */
            bytes[at] = (uint8_t)below(256);
            break;
        case 2: /* cut out */
            memmove(bytes + at, bytes + at + run_len, len - at - run_len);
            len -= run_len;
            break;
        case 3: /* twice */
            if (len + run_len <= STREAM_MAX) {
                memmove(bytes + at + run_len, bytes + at, len - at);
                len += run_len;
            }
            break;
        case 4: /* extreme */
            bytes[at] = below(2) == 0 ? 0xff : 0;
            break;
        default: /* cut short */
            len = below(8) == 0 ? at + 1 : len;
            break;
        }
    }
    return len;
}

#endif
