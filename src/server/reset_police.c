/* SPDX-License-Identifier: MIT */
/*
 * See reset_police.h. The bucket is kept in ns, so that a slow trickle loses nothing to rounding.
 */
#include "server/reset_police.h"

#define TOKEN_NS (LULL_SECOND / RESET_POLICE_EACH_S)
#define FULL_NS  (RESET_POLICE_BURST * TOKEN_NS)

void reset_police_init(struct reset_police *police, struct lull_instant now)
{
    police->tokens_ns = FULL_NS;
    police->at = now;
}

bool reset_police_permits(struct reset_police *police, struct lull_instant now)
{
    const int64_t since_ns = lull_instant_diff(now, police->at);
    if (since_ns > 0) {
        police->at = now;
        police->tokens_ns = lull_duration_add(police->tokens_ns, since_ns);
        if (police->tokens_ns > FULL_NS) {
            police->tokens_ns = FULL_NS;
        }
    }
    if (police->tokens_ns < TOKEN_NS) {
        return false;
    }
    police->tokens_ns -= TOKEN_NS;
    return true;
}
