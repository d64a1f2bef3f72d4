/* SPDX-License-Identifier: MIT */
/*
 * See eyeballs.h.
 */
#include "policy/eyeballs.h"

void eyeballs_init(struct eyeballs *eyeballs, struct eyeballs_try *tries, size_t count)
{
    eyeballs->tries = tries;
    eyeballs->count = count < EYEBALLS_MAX ? count : EYEBALLS_MAX;
    eyeballs->winner = EYEBALLS_NONE;
    eyeballs->next_start_at = lull_at(INT64_MIN);
    for (size_t i = 0; i < eyeballs->count; i++) {
        eyeballs->tries[i].state = EYEBALLS_UNTRIED;
        eyeballs->tries[i].limit_at = lull_at(LULL_NEVER);
    }
}

/* The first in that state; EYEBALLS_NONE. */
static size_t first(const struct eyeballs *eyeballs, enum eyeballs_state state)
{
    for (size_t i = 0; i < eyeballs->count; i++) {
        if (eyeballs->tries[i].state == state) {
            return i;
        }
    }
    return EYEBALLS_NONE;
}

/* The one whose limit comes first; EYEBALLS_NONE. */
static size_t shortest(const struct eyeballs *eyeballs)
{
    size_t least = EYEBALLS_NONE;

    for (size_t i = 0; i < eyeballs->count; i++) {
        const struct eyeballs_try *one = &eyeballs->tries[i];

        if (one->state == EYEBALLS_TRYING &&
            (least == EYEBALLS_NONE ||
             lull_instant_before(one->limit_at, eyeballs->tries[least].limit_at))) {
            least = i;
        }
    }
    return least;
}

struct eyeballs_step eyeballs_next(const struct eyeballs *eyeballs, struct lull_instant now)
{
    struct eyeballs_step step = {EYEBALLS_WAIT, EYEBALLS_NONE, lull_at(LULL_NEVER)};
    const size_t trying = shortest(eyeballs);
    const size_t untried =
        eyeballs->winner == EYEBALLS_NONE ? first(eyeballs, EYEBALLS_UNTRIED) : EYEBALLS_NONE;

    if (trying != EYEBALLS_NONE && !lull_instant_before(now, eyeballs->tries[trying].limit_at)) {
        step.action = EYEBALLS_EXPIRE;
        step.index = trying;
        return step;
    }
    if (untried != EYEBALLS_NONE &&
        (trying == EYEBALLS_NONE || !lull_instant_before(now, eyeballs->next_start_at))) {
        step.action = EYEBALLS_START;
        step.index = untried;
        return step;
    }
    if (trying == EYEBALLS_NONE) {
        step.action = EYEBALLS_OVER;
        return step;
    }
    step.next_at = eyeballs->tries[trying].limit_at;
    if (untried != EYEBALLS_NONE && lull_instant_before(eyeballs->next_start_at, step.next_at)) {
        step.next_at = eyeballs->next_start_at;
    }
    return step;
}

void eyeballs_on_started(struct eyeballs *eyeballs, size_t index, struct lull_instant now,
                         struct lull_instant limit_at)
{
    eyeballs->tries[index].state = EYEBALLS_TRYING;
    eyeballs->tries[index].limit_at = limit_at;
    eyeballs->next_start_at = lull_instant_add(now, EYEBALLS_HEAD_START_NS);
}

void eyeballs_on_failed(struct eyeballs *eyeballs, size_t index, struct lull_instant now)
{
    eyeballs->tries[index].state = EYEBALLS_FAILED;
    eyeballs->next_start_at = now;
    if (eyeballs->winner == index) {
        eyeballs->winner = EYEBALLS_NONE;
    }
}

void eyeballs_on_connected(struct eyeballs *eyeballs, size_t index)
{
    eyeballs->winner = index;
}
