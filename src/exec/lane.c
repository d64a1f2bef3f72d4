/* SPDX-License-Identifier: MIT */
/*
 * Deadline lanes, see lane.h.
 *
 * A lane's Rescheduler is set to the first entry's instant when the lane stops being empty, or when
 * an entry comes to stand before all others. It is not moved when the first entry leaves: it fires
 * early once per timeout, at most, and is then set to the first that is left. When the last entry
 * leaves it is cancelled softly, one store.
 *
 * Which list an entry is in nobody asks: its neighbours are enough to take it out.
 */
#include "exec/lane.h"

#include <string.h>

#include "base/cold.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "exec/executor_parts.h"
#include "exec/rescheduler.h"

#define BY_VALUE_FIRST 8u

/* How many lanes a join without one looks at for one that it may take over. */
#define HAND_STEPS 8u

struct lane {
    struct list_node entries; /* earliest first */
    int64_t after_ns;         /* the timeout of those who join; of absolute instants: none */
    struct lull_rescheduler first_due;
    struct lanes *lanes;
    void *block;   /* that this stands in */
    bool was_used; /* since the hand last passed, or while it was the last one */
};

/* ---- finding a lane by its value: open addressing, linear probing */

static uint32_t home(const struct lanes *lanes, int64_t after_ns)
{
    /* Fibonacci hashing: timeouts are round numbers, the high bits of the product are not. */
    const uint64_t mixed = (uint64_t)after_ns * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(mixed >> 40) & (lanes->slots_count - 1);
}

static struct lane *find(const struct lanes *lanes, int64_t after_ns)
{
    if (lanes->slots_count == 0) {
        return NULL;
    }
    uint32_t slot = home(lanes, after_ns);
    while (lanes->by_value[slot] != NULL && lanes->by_value[slot]->after_ns != after_ns) {
        slot = (slot + 1) & (lanes->slots_count - 1);
    }
    return lanes->by_value[slot];
}

static void insert(struct lanes *lanes, struct lane *lane)
{
    uint32_t slot = home(lanes, lane->after_ns);
    while (lanes->by_value[slot] != NULL) {
        slot = (slot + 1) & (lanes->slots_count - 1);
    }
    lanes->by_value[slot] = lane;
}

/* Takes the lane out and closes the gap: what was pushed on past its home moves back. */
static void erase(struct lanes *lanes, const struct lane *lane)
{
    const uint32_t mask = lanes->slots_count - 1;
    uint32_t gap = home(lanes, lane->after_ns);
    while (lanes->by_value[gap] != lane) {
        gap = (gap + 1) & mask;
    }
    lanes->by_value[gap] = NULL;
    for (uint32_t slot = (gap + 1) & mask; lanes->by_value[slot] != NULL;
         slot = (slot + 1) & mask) {
        const uint32_t from_home = (slot - home(lanes, lanes->by_value[slot]->after_ns)) & mask;
        if (from_home >= ((slot - gap) & mask)) {
            lanes->by_value[gap] = lanes->by_value[slot];
            lanes->by_value[slot] = NULL;
            gap = slot;
        }
    }
}

/* Keeps the table at most half full with one lane more. False: no memory. */
static bool make_room(struct lanes *lanes)
{
    if ((lanes->count + 1) * 2 <= lanes->slots_count) {
        return true;
    }
    const struct lull_allocator *allocator = lanes->executor->allocator;
    const uint32_t more = lanes->slots_count == 0 ? BY_VALUE_FIRST : lanes->slots_count * 2;
    const size_t bytes = more * sizeof(struct lane *);
    void *block;
    struct lane **table = mem_lines(allocator, bytes, &block);
    if (table == NULL) {
        return false;
    }
    memset(table, 0, bytes);
    lanes->executor->counters.allocations++;
    mem_release(allocator, lanes->by_value_block);
    lanes->by_value = table;
    lanes->by_value_block = block;
    lanes->slots_count = more;
    for (uint32_t i = 0; i < lanes->count; i++) {
        insert(lanes, lanes->all[i]);
    }
    return true;
}

/* ---- lanes */

static inline struct lull_instant due_at_of(struct list_node *node)
{
    return LIST_ENTRY(node, struct lane_entry, in_lane)->due_at;
}

static void first_due(struct lull_rescheduler *r, struct lull_instant now)
{
    struct lane *lane = container_of(r, struct lane, first_due);
    struct lull_executor *executor = lane->lanes->executor;
    struct list_node *expiring = &executor->lanes.expiring;
    struct list_node *head = &lane->entries;
    struct list_node *first = head->next;
    struct list_node *node = first;
    while (node != head && !lull_instant_before(now, due_at_of(node))) {
        node = node->next;
    }
    if (node != head) {
        rescheduler_set(r, due_at_of(node));
    }
    if (node == first) {
        return;
    }
    /* All that are due now, and not those who join meanwhile. Out of the lane first, all at once, so that the lane is whole while
     * the callbacks run, and may be freed by them. */
    list_init(expiring);
    expiring->next = first;
    expiring->prev = node->prev;
    expiring->prev->next = expiring;
    first->prev = expiring;
    head->next = node;
    node->prev = head;
    while ((node = expiring->next) != expiring) {
        struct lane_entry *entry = LIST_ENTRY(node, struct lane_entry, in_lane);
        expiring->next = node->next;
        expiring->next->prev = expiring;
        entry->due_at = lull_at(LULL_NEVER);
        entry->expired(entry, executor->front.now_is_stale ? executor_fresh_now(executor) : executor->turn_now);
    }
}

/* A lane that nobody finds by its value yet; NULL: no memory. */
static struct lane *new_lane(struct lanes *lanes, int64_t after_ns)
{
    struct lull_executor *executor = lanes->executor;
    void *block;
    struct lane *lane = mem_lines(executor->allocator, sizeof(*lane), &block);
    if (lane == NULL) {
        return NULL;
    }
    if (lull_rescheduler_init(&lane->first_due, executor, first_due) != LULL_OK) {
        mem_release(executor->allocator, block);
        return NULL;
    }
    executor->counters.allocations++;
    list_init(&lane->entries);
    lane->after_ns = after_ns;
    lane->lanes = lanes;
    lane->block = block;
    lane->was_used = false;
    return lane;
}

/* One lane more for this value; NULL: no memory. */
static struct lane *make_lane(struct lanes *lanes, int64_t after_ns)
{
    struct lane *lane = make_room(lanes) ? new_lane(lanes, after_ns) : NULL;
    if (lane == NULL) {
        return NULL;
    }
    lanes->all[lanes->count++] = lane;
    insert(lanes, lane);
    return lane;
}

/* A lane that is empty and was not used lately, given to this value; NULL: none near the hand. */
static struct lane *recycle_lane(struct lanes *lanes, int64_t after_ns)
{
    for (uint32_t step = 0; step < HAND_STEPS; step++) {
        struct lane *lane = lanes->all[lanes->hand];
        lanes->hand = (lanes->hand + 1) % lanes->count;
        if (lane->was_used || lane == lanes->last) {
            /* A second chance: between two calls every lane is empty for a moment. */
            lane->was_used = false;
        } else if (list_is_empty(&lane->entries)) {
            erase(lanes, lane);
            lane->after_ns = after_ns;
            insert(lanes, lane);
            return lane;
        }
    }
    return NULL;
}

/* The lane for this value, NULL when there is none to be had. */
static struct lane *lane_for(struct lanes *lanes, int64_t after_ns)
{
    struct lane *lane = find(lanes, after_ns);
    if (lane == NULL) {
        lane =
            lanes->count < LANES_MAX ? make_lane(lanes, after_ns) : recycle_lane(lanes, after_ns);
    }
    if (lane != NULL) {
        if (lanes->last != NULL) {
            lanes->last->was_used = true;
        }
        lane->was_used = true;
        lanes->last = lane;
    }
    return lane;
}

void lanes_init(struct lanes *lanes, struct lull_executor *executor)
{
    memset(lanes, 0, sizeof(*lanes));
    lanes->executor = executor;
    list_init(&lanes->expiring);
}

static void free_lane(struct lanes *lanes, struct lane *lane)
{
    lull_rescheduler_fini(&lane->first_due);
    mem_release(lanes->executor->allocator, lane->block);
}

static void disarm_empty(struct lane *lane)
{
    if (list_is_empty(&lane->entries)) {
        lull_rescheduler_disarm(&lane->first_due);
    }
}

void lanes_disarm_empty(struct lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->count; i++) {
        disarm_empty(lanes->all[i]);
    }
    if (lanes->instants != NULL) {
        disarm_empty(lanes->instants);
    }
}

void lanes_trim(struct lanes *lanes)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->all[i];
        if (list_is_empty(&lane->entries)) {
            erase(lanes, lane);
            free_lane(lanes, lane);
        } else {
            lanes->all[kept++] = lane;
        }
    }
    if (lanes->instants != NULL && list_is_empty(&lanes->instants->entries)) {
        free_lane(lanes, lanes->instants);
        lanes->instants = NULL;
    }
    lanes->count = kept;
    lanes->last = NULL;
    lanes->hand = 0;
    if (kept == 0) {
        mem_release(lanes->executor->allocator, lanes->by_value_block);
        lanes->by_value = NULL;
        lanes->by_value_block = NULL;
        lanes->slots_count = 0;
    }
}

void lanes_fini(struct lanes *lanes)
{
    lanes_trim(lanes);
    LULL_INVARIANT(lanes->count == 0 && lanes->instants == NULL, "an executor is freed while an entry waits in a lane");
}

/* ---- entries */

static inline bool may_touch(const struct lane_entry *entry)
{
    return entry->timer.executor != NULL && executor_is_here(entry->timer.executor);
}

static inline struct timerq *queue_of(const struct lane_entry *entry)
{
    return &entry->timer.executor->timers;
}

LULL_COLD static void own_timer_expired(struct lull_timer *timer, struct lull_instant now)
{
    struct lane_entry *entry = container_of(timer, struct lane_entry, timer);
    entry->due_at = lull_at(LULL_NEVER);
    entry->expired(entry, now);
}

int lane_entry_init(struct lane_entry *entry, struct lull_executor *executor,
                    lane_expired_fn expired)
{
    entry->due_at = lull_at(LULL_NEVER);
    entry->expired = expired;
    return lull_timer_init(&entry->timer, executor, own_timer_expired);
}

void lane_entry_fini(struct lane_entry *entry)
{
    if (entry->timer.executor == NULL) {
        return;
    }
    lane_leave(entry); /* asserts the context, and leaves no timer armed */
    timerq_unreserve(queue_of(entry));
    entry->timer.executor = NULL;
}

bool lane_entry_is_waiting(const struct lane_entry *entry)
{
    return entry->timer.executor != NULL && entry->due_at.ns != LULL_NEVER;
}

/* Ends the entry's wait. In context. */
static inline void take_out(struct lane_entry *entry)
{
    struct list_node *prev = entry->in_lane.prev;
    struct list_node *next = entry->in_lane.next;
    entry->due_at = lull_at(LULL_NEVER);
    if (timerq_is_armed(&entry->timer)) {
        timerq_disarm(queue_of(entry), &entry->timer);
        return;
    }
    prev->next = next;
    next->prev = prev;
    /* Alone, its neighbours were both the head: the lane's, or of those about to expire. */
    if (prev == next && prev != &entry->timer.executor->lanes.expiring) {
        rescheduler_cancel(&LIST_ENTRY(prev, struct lane, entries)->first_due);
    }
}

/*
 * Joining is written so that the usual case, the last value again and the last to expire, is one straight run of stores: whatever
 * else there is stands in functions that are not inlined and are called last, so that nothing is saved for them.
 */

static inline void link_behind(struct lane *lane, struct list_node *after, struct list_node *next,
                               struct lane_entry *entry)
{
    entry->in_lane.prev = after;
    after->next = &entry->in_lane;
    entry->in_lane.next = next;
    next->prev = &entry->in_lane;
    if (after == &lane->entries) {
        rescheduler_set(&lane->first_due, entry->due_at);
    }
}

/* Behind the last of those that are due before it, which is looked for from the tail. */
static LULL_NOT_INLINE void enqueue_within(struct lane *lane, struct lane_entry *entry)
{
    struct list_node *after = lane->entries.prev;
    while (after != &lane->entries && lull_instant_before(entry->due_at, due_at_of(after))) {
        after = after->prev;
    }
    link_behind(lane, after, after->next, entry);
}

static inline void enqueue(struct lane *lane, struct lane_entry *entry)
{
    struct list_node *last = lane->entries.prev;
    if (last != &lane->entries && lull_instant_before(entry->due_at, due_at_of(last))) {
        enqueue_within(lane, entry);
        return;
    }
    link_behind(lane, last, &lane->entries, entry);
}

/* Behind the last of those that are due before it, if that is near the end. */
static inline bool enqueue_near_the_end(struct lane *lane, struct lane_entry *entry)
{
    struct list_node *after = lane->entries.prev;
    uint32_t steps = 0;
    while (after != &lane->entries && lull_instant_before(entry->due_at, due_at_of(after))) {
        if (steps++ == LANE_INSTANT_STEPS) {
            return false;
        }
        after = after->prev;
    }
    link_behind(lane, after, after->next, entry);
    return true;
}

/* A value that is not the last one's, or a sum that is never. */
static LULL_NOT_INLINE void join_other(struct lane_entry *entry, struct lull_instant now,
                                  int64_t after_ns)
{
    /* All that is due at once is one value. */
    const int64_t timeout_ns = after_ns > 0 ? after_ns : 0;
    const struct lull_instant due_at = lull_instant_add(now, timeout_ns);
    if (due_at.ns == LULL_NEVER) {
        return;
    }
    entry->due_at = due_at;
    struct lane *lane = lane_for(&entry->timer.executor->lanes, timeout_ns);
    if (lane != NULL) {
        enqueue(lane, entry);
    } else {
        timerq_arm(queue_of(entry), &entry->timer, due_at);
    }
}

/* It waits for nothing. In context. */
static inline void join(struct lane_entry *entry, struct lull_instant now, int64_t after_ns)
{
    struct lane *last = entry->timer.executor->lanes.last;
    /* A lane's timeout is not negative. */
    if (last == NULL || last->after_ns != after_ns || now.ns >= LULL_NEVER - last->after_ns) {
        join_other(entry, now, after_ns);
        return;
    }
    entry->due_at = lull_at(now.ns + after_ns);
    enqueue(last, entry);
}

static LULL_NOT_INLINE void join_again(struct lane_entry *entry, struct lull_instant now,
                                  int64_t after_ns)
{
    take_out(entry);
    join(entry, now, after_ns);
}

void lane_join(struct lane_entry *entry, struct lull_instant now, int64_t after_ns)
{
    LULL_INVARIANT(may_touch(entry), "a lane is joined outside the context");
    if (entry->due_at.ns != LULL_NEVER) {
        join_again(entry, now, after_ns);
    } else {
        join(entry, now, after_ns);
    }
}

/* The first absolute instant, or one that stands far from the end. */
static LULL_NOT_INLINE void join_at_elsewhere(struct lane_entry *entry)
{
    struct lanes *lanes = &entry->timer.executor->lanes;
    if (lanes->instants == NULL) {
        lanes->instants = new_lane(lanes, LULL_NEVER);
        if (lanes->instants != NULL && enqueue_near_the_end(lanes->instants, entry)) {
            return;
        }
    }
    timerq_arm(queue_of(entry), &entry->timer, entry->due_at);
}

/* It waits for nothing. In context. */
static inline void join_at(struct lane_entry *entry, struct lull_instant at)
{
    struct lane *lane = entry->timer.executor->lanes.instants;
    if (at.ns == LULL_NEVER) {
        return;
    }
    entry->due_at = at;
    if (lane == NULL || !enqueue_near_the_end(lane, entry)) {
        join_at_elsewhere(entry);
    }
}

static LULL_NOT_INLINE void join_at_again(struct lane_entry *entry, struct lull_instant at)
{
    take_out(entry);
    join_at(entry, at);
}

void lane_join_at(struct lane_entry *entry, struct lull_instant at)
{
    LULL_INVARIANT(may_touch(entry), "a lane is joined outside the context");
    if (entry->due_at.ns != LULL_NEVER) {
        join_at_again(entry, at);
    } else {
        join_at(entry, at);
    }
}

void lane_reopen(struct lane_entry *entry, struct lull_instant now, int64_t after_ns)
{
    lane_join(entry, now, after_ns);
}

void lane_leave(struct lane_entry *entry)
{
    LULL_INVARIANT(may_touch(entry), "a lane is left outside the context");
    if (entry->due_at.ns != LULL_NEVER) {
        take_out(entry);
    }
}
