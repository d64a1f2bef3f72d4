/* SPDX-License-Identifier: MIT */
#include "tests/support/hostile_alarm.h"

#include <errno.h>
#include <string.h>

#define DUE_MAX (sizeof(((struct hostile_alarm *)0)->goes_off) / sizeof(struct lull_instant))

/* splitmix64: below `limit`, which is not 0. */
static uint64_t draw(struct hostile_alarm *alarm, uint64_t limit)
{
    uint64_t z = (alarm->chance += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % limit;
}

void hostile_alarm_init(struct hostile_alarm *alarm, unsigned ways, unsigned refuse_every, uint64_t seed)
{
    memset(alarm, 0, sizeof(*alarm));
    alarm->ways = ways;
    alarm->refuse_every = refuse_every;
    alarm->chance = seed;
    alarm->counted_on = lull_at(LULL_NEVER);
}

static bool is_hostile(const struct hostile_alarm *alarm, unsigned way)
{
    return (alarm->ways & way) != 0;
}

static void drop(struct hostile_alarm *alarm, size_t i)
{
    alarm->count--;
    memmove(&alarm->goes_off[i], &alarm->goes_off[i + 1], (alarm->count - i) * sizeof(alarm->goes_off[0]));
}

/* When an alarm for `at` goes off here: early and late by turns, if it does both. */
static struct lull_instant moved(struct hostile_alarm *alarm, struct lull_instant now, struct lull_instant at)
{
    const int64_t wait_ns = lull_instant_diff(at, now);
    const bool is_early = is_hostile(alarm, HOSTILE_EARLY) && (!is_hostile(alarm, HOSTILE_LATE) || draw(alarm, 2) == 0);
    if (is_early && wait_ns > LULL_MS) {
        return lull_instant_add(now, (int64_t)draw(alarm, (uint64_t)wait_ns / 2));
    }
    return is_hostile(alarm, HOSTILE_LATE) ? lull_instant_add(at, (int64_t)draw(alarm, HOSTILE_LATE_NS)) : at;
}

static int refuse(struct hostile_alarm *alarm, struct lull_instant at)
{
    alarm->refused++;
    alarm->bites += lull_instant_before(at, alarm->counted_on);
    return ENOMEM;
}

int hostile_alarm_set(struct hostile_alarm *alarm, struct lull_instant now, struct lull_instant at)
{
    if (at.ns == LULL_NEVER) {
        /* Whoever takes it back may be gone the next moment. */
        alarm->count = 0;
        alarm->has_newest = false;
        alarm->counted_on = at;
        return 0;
    }
    alarm->asked++;
    if (!lull_instant_before(now, alarm->counted_on)) {
        alarm->counted_on = lull_at(LULL_NEVER);
    }
    if (is_hostile(alarm, HOSTILE_REFUSES) && alarm->asked % alarm->refuse_every == 0) {
        return refuse(alarm, at);
    }
    if (alarm->has_newest && (!is_hostile(alarm, HOSTILE_STALE) || draw(alarm, 2) == 0)) {
        drop(alarm, 0);
    }
    if (alarm->count == DUE_MAX) {
        drop(alarm, DUE_MAX - 1);
    }
    memmove(&alarm->goes_off[1], &alarm->goes_off[0], alarm->count * sizeof(alarm->goes_off[0]));
    alarm->count++;
    alarm->goes_off[0] = moved(alarm, now, at);
    alarm->has_newest = true;
    alarm->counted_on = at;
    return 0;
}

bool hostile_alarm_calls_inside(struct hostile_alarm *alarm)
{
    if (!is_hostile(alarm, HOSTILE_INSIDE) || draw(alarm, 4) != 0) {
        return false;
    }
    alarm->counted_on = lull_at(LULL_NEVER);
    if (alarm->has_newest && draw(alarm, 2) == 0) {
        alarm->has_newest = false;
        drop(alarm, 0);
    }
    return true;
}

static size_t first(const struct hostile_alarm *alarm)
{
    size_t best = 0;
    for (size_t i = 1; i < alarm->count; i++) {
        best = lull_instant_before(alarm->goes_off[i], alarm->goes_off[best]) ? i : best;
    }
    return best;
}

struct lull_instant hostile_alarm_next(const struct hostile_alarm *alarm)
{
    return alarm->count > 0 ? alarm->goes_off[first(alarm)] : lull_at(LULL_NEVER);
}

bool hostile_alarm_take(struct hostile_alarm *alarm, struct lull_instant now)
{
    if (alarm->count == 0) {
        return false;
    }
    const size_t i = first(alarm);
    if (lull_instant_before(now, alarm->goes_off[i])) {
        return false;
    }
    alarm->counted_on = lull_at(LULL_NEVER);
    if (is_hostile(alarm, HOSTILE_TWICE) && draw(alarm, 2) == 0) {
        return true; /* it stays, and goes off again */
    }
    if (i == 0) {
        alarm->has_newest = false;
    }
    drop(alarm, i);
    return true;
}
