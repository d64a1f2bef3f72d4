/* SPDX-License-Identifier: MIT */
/*
 * The timer queue, see timerq.h.
 */
#include "time/timerq.h"

#include <string.h>

#include "base/invariant.h"
#include "base/mem.h"

#define CHILDREN         4u
#define SLOTS_LIMIT      (UINT32_C(1) << 30)

/* So many unreserves in a row must find the queue mostly unused before it shrinks: a burst of calls
 * that comes and goes takes no memory each time. */
#define SHRINK_PATIENCE 256u

void timerq_init(struct timerq *queue, const struct lull_allocator *allocator,
                 struct lull_counters *counters)
{
    memset(queue, 0, sizeof(*queue));
    queue->allocator = allocator;
    queue->counters = counters;
}

void timerq_fini(struct timerq *queue)
{
    LULL_INVARIANT(queue->reserved == 0, "an executor or loop is freed while timers on it are not "
                                         "fini'd: a channel on it is not unref'd, or a "
                                         "timer of yours");
    mem_release(queue->allocator, queue->memory);
    queue->memory = NULL;
    queue->heap = NULL;
    queue->capacity = 0;
}

/* Moves the heap to a block of `capacity` slots, 0 for none. False: no memory, nothing changed. */
static bool resize(struct timerq *queue, uint32_t capacity)
{
    void *memory = NULL;
    struct timerq_entry *heap = NULL;
    if (capacity > 0) {
        const size_t lead = MEM_LINE_BYTES - sizeof(*heap);
        char *lines = mem_lines(queue->allocator, (size_t)capacity * sizeof(*heap) + lead, &memory);
        if (lines == NULL) {
            return false;
        }
        queue->counters->allocations++;
        /* heap[1], the first of four children, starts a line; so do 5, 9, ... */
        heap = (struct timerq_entry *)(void *)(lines + lead);
        if (queue->count > 0) {
            memcpy(heap, queue->heap, queue->count * sizeof(*heap));
        }
    }
    mem_release(queue->allocator, queue->memory);
    queue->memory = memory;
    queue->heap = heap;
    queue->capacity = capacity;
    return true;
}

int timerq_reserve(struct timerq *queue)
{
    if (timerq_reserve_at_hand(queue)) {
        return LULL_OK;
    }
    const uint32_t more = queue->capacity == 0 ? TIMERQ_SLOTS_MIN : queue->capacity * 2;
    if (more > SLOTS_LIMIT || !resize(queue, more)) {
        return LULL_RC_NOMEM;
    }
    queue->reserved++;
    return LULL_OK;
}

void timerq_unreserve(struct timerq *queue)
{
    LULL_INVARIANT(queue->reserved > 0, "a timer's slot is given back twice");
    queue->reserved--;
    if (queue->reserved >= queue->capacity / 4 || queue->capacity <= TIMERQ_SLOTS_MIN) {
        queue->low_for = 0;
        return;
    }
    if (++queue->low_for >= SHRINK_PATIENCE) {
        queue->low_for = 0;
        /* Without memory for a smaller block the larger one serves on. */
        (void)resize(queue, queue->capacity / 2);
    }
}

void timerq_trim(struct timerq *queue)
{
    uint32_t capacity = queue->reserved == 0 ? 0 : TIMERQ_SLOTS_MIN;
    while (capacity < queue->reserved) {
        capacity *= 2;
    }
    if (capacity < queue->capacity) {
        (void)resize(queue, capacity);
    }
    queue->low_for = 0;
}

static inline bool is_before(const struct timerq_entry *a, const struct timerq_entry *b)
{
    return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->timer->seq < b->timer->seq);
}

static inline void put(struct timerq *queue, uint32_t slot, struct timerq_entry entry)
{
    queue->heap[slot] = entry;
    entry.timer->slot = slot;
}

/* Finds `entry` its place, from the hole at `slot` toward the root. */
static void sift_up(struct timerq *queue, uint32_t slot, struct timerq_entry entry)
{
    while (slot > 0) {
        const uint32_t parent = (slot - 1) / CHILDREN;
        if (!is_before(&entry, &queue->heap[parent])) {
            break;
        }
        put(queue, slot, queue->heap[parent]);
        slot = parent;
    }
    put(queue, slot, entry);
}

/* Finds `entry` its place, from the hole at `slot` toward the leaves. */
static void sift_down(struct timerq *queue, uint32_t slot, struct timerq_entry entry)
{
    for (;;) {
        const uint32_t first = slot * CHILDREN + 1;
        if (first >= queue->count) {
            break;
        }
        const uint32_t end = queue->count - first < CHILDREN ? queue->count : first + CHILDREN;
        uint32_t best = first;
        for (uint32_t child = first + 1; child < end; child++) {
            if (is_before(&queue->heap[child], &queue->heap[best])) {
                best = child;
            }
        }
        if (!is_before(&queue->heap[best], &entry)) {
            break;
        }
        put(queue, slot, queue->heap[best]);
        slot = best;
    }
    put(queue, slot, entry);
}

/* Puts `entry` where the hole at `slot` is, and restores the order in either direction. */
static void settle(struct timerq *queue, uint32_t slot, struct timerq_entry entry)
{
    if (slot > 0 && is_before(&entry, &queue->heap[(slot - 1) / CHILDREN])) {
        sift_up(queue, slot, entry);
    } else {
        sift_down(queue, slot, entry);
    }
}

/* The first of the four from `first` on: two pairs, then the winners, so that the compares need not wait for each other. */
static inline uint32_t first_of_four(const struct timerq_entry *heap, uint32_t first)
{
    const uint32_t left = first + is_before(&heap[first + 1], &heap[first]);
    const uint32_t right = first + 2 + is_before(&heap[first + 3], &heap[first + 2]);
    return is_before(&heap[right], &heap[left]) ? right : left;
}

/*
 * Fills the hole at `slot` with the last entry. That one came from the leaves and nearly always belongs there: so the hole sinks to a
 * leaf by the first of the children alone, and the entry climbs from there, as far as it must.
 */
static void remove_at(struct timerq *queue, uint32_t slot)
{
    const uint32_t count = --queue->count;
    if (slot == count) {
        return;
    }
    const struct timerq_entry last = queue->heap[count];
    for (uint32_t first; (first = slot * CHILDREN + 1) < count;) {
        uint32_t best = first;
        if (count - first >= CHILDREN) {
            best = first_of_four(queue->heap, first);
        } else {
            for (uint32_t child = first + 1; child < count; child++) {
                best = is_before(&queue->heap[child], &queue->heap[best]) ? child : best;
            }
        }
        put(queue, slot, queue->heap[best]);
        slot = best;
    }
    sift_up(queue, slot, last);
}

/* Among the due ones nobody asks for the order any more: the field is the link back. */
static struct lull_timer *due_before(const struct lull_timer *timer)
{
    return (struct lull_timer *)(uintptr_t)timer->seq;
}

static void due_set_before(struct lull_timer *timer, struct lull_timer *before)
{
    timer->seq = (uintptr_t)before;
}

static void due_append(struct timerq *queue, struct lull_timer *timer)
{
    timer->slot = TIMERQ_SLOT_DUE;
    timer->next = NULL;
    due_set_before(timer, queue->due_last);
    if (queue->due_last != NULL) {
        queue->due_last->next = timer;
    } else {
        queue->due_first = timer;
    }
    queue->due_last = timer;
}

static void due_remove(struct timerq *queue, struct lull_timer *timer)
{
    struct lull_timer *before = due_before(timer);
    if (before != NULL) {
        before->next = timer->next;
    } else {
        queue->due_first = timer->next;
    }
    if (timer->next != NULL) {
        due_set_before(timer->next, before);
    } else {
        queue->due_last = before;
    }
    timer->next = NULL;
}

void timerq_arm(struct timerq *queue, struct lull_timer *timer, struct lull_instant at)
{
    const struct timerq_entry entry = {.at_ns = at.ns, .timer = timer};
    const uint32_t slot = timer->slot;
    queue->counters->timer_arms++;
    if (slot == TIMERQ_SLOT_DUE) {
        due_remove(queue, timer);
    }
    timer->at = at;
    timer->seq = queue->next_seq++;
    if (slot < queue->count) {
        settle(queue, slot, entry);
        return;
    }
    queue->counters->timers_armed += slot == TIMERQ_SLOT_IDLE;
    LULL_INVARIANT(queue->count < queue->reserved, "a timer without a slot is armed");
    sift_up(queue, queue->count++, entry);
}

void timerq_disarm(struct timerq *queue, struct lull_timer *timer)
{
    const uint32_t slot = timer->slot;
    if (slot == TIMERQ_SLOT_IDLE) {
        return;
    }
    if (slot == TIMERQ_SLOT_DUE) {
        due_remove(queue, timer);
    } else {
        remove_at(queue, slot);
    }
    timer->slot = TIMERQ_SLOT_IDLE;
    timer->at = lull_at(LULL_NEVER);
    queue->counters->timer_disarms++;
    queue->counters->timers_armed--;
}

void timerq_take_due(struct timerq *queue, struct lull_instant now)
{
    LULL_INVARIANT(queue->due_first == NULL, "a due pass starts inside another");
    while (queue->count > 0 && queue->heap[0].at_ns <= now.ns) {
        struct lull_timer *timer = queue->heap[0].timer;
        remove_at(queue, 0);
        due_append(queue, timer);
    }
}

struct lull_timer *timerq_next_due(struct timerq *queue)
{
    struct lull_timer *timer = queue->due_first;
    if (timer != NULL) {
        due_remove(queue, timer);
        timer->slot = TIMERQ_SLOT_IDLE;
        timer->at = lull_at(LULL_NEVER);
        queue->counters->timer_fires++;
        queue->counters->timers_armed--;
    }
    return timer;
}
