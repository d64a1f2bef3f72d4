/* SPDX-License-Identifier: MIT */
/**
 * @file trace.h
 * Counters that prove what the library does not do, and a hook that tells what it does.
 */
#ifndef LULL_TRACE_H
#define LULL_TRACE_H

#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What an executor and everything on it has done since it was made. Read in context or between
 * turns. Since 0.1. */
struct lull_counters {
    size_t size;    /**< sizeof(struct lull_counters) of the library; fields are appended only */
    uint64_t turns; /**< turns run */
    uint64_t timer_arms;    /**< timers put into the timer queue (a move within it is one too) */
    uint64_t timer_disarms; /**< timers taken out before they fired */
    uint64_t timer_fires;   /**< timers that fired */
    uint64_t timers_armed;  /**< in the queue now */
    uint64_t alarms;        /**< alarms asked of the loop */
    uint64_t posts;         /**< tasks run */
    uint64_t submits;       /**< nodes taken from the inbox */
    uint64_t clock_reads;   /**< reads of the monotonic hand */
    uint64_t
        allocations; /**< blocks asked of the allocator, resizes included: by the executor, by
                        everything on it, nghttp2 included, and by recyclers for a claim that found
                        none kept */
    uint64_t pool_claims; /**< objects claimed from recyclers; of these, nghttp2's blocks up to 512 bytes */
    uint64_t pool_misses; /**< claims that had to go to the allocator: all of them with --disable-pool */
    uint64_t syscalls;    /**< system calls made by net/ and loop/ */
    uint64_t reads;       /**< of these, reads from sockets */
    uint64_t writes;      /**< of these, writes to sockets */
    uint64_t wakeups;     /**< times the loop's poll returned */
    uint64_t pings_sent;  /**< PING frames without the ACK flag */
    uint64_t calls_started;
    uint64_t calls_closed;
};

/** What happened. Values are fixed; more may come. Since 0.1. */
enum lull_event_kind {
    LULL_EVENT_STATE = 0, /**< the channel's connectivity changed; detail says from what to what and why. Of a server (since 0.3): it
                             listens, shuts down, is closed */
    LULL_EVENT_DIAL = 1,      /**< a connection attempt started; detail has the address */
    LULL_EVENT_CONNECTED = 2, /**< the connect completed */
    LULL_EVENT_SETTINGS = 3,  /**< the server's first SETTINGS came: READY */
    LULL_EVENT_DIAL_FAILED =
        4,               /**< an attempt failed; detail has the reason and the next attempt */
    LULL_EVENT_LOST = 5, /**< a READY connection ended */
    LULL_EVENT_GOAWAY = 6,
    LULL_EVENT_CALL_STARTED = 7,
    LULL_EVENT_CALL_SENT = 8,    /**< the request's HEADERS were handed to the transport; detail has
                                    stream id, grpc-timeout */
    LULL_EVENT_CALL_HEADERS = 9, /**< response headers came */
    LULL_EVENT_CALL_MESSAGE = 10, /**< a whole message came; detail has its length */
    LULL_EVENT_CALL_CLOSED = 11,  /**< detail has the status line */
    LULL_EVENT_PING = 12,
    LULL_EVENT_WARNING = 13, /**< something an operator should know */
    LULL_EVENT_NAME = 14,    /**< the target's name is asked for, or was answered; detail has the
                                addresses. Since 0.3 */
    LULL_EVENT_NAME_FAILED =
        15 /**< no answer, or a bad one; detail has the reason and what next. Since 0.3 */
};

/** One thing that happened. Borrowed for the hook. Since 0.1. */
struct lull_event {
    enum lull_event_kind kind;
    struct lull_instant at;
    uint64_t call_id;   /**< counts calls of a channel from 1; 0 when it is not about a call */
    const char *target; /**< the channel's target */
    const char *detail; /**< one readable line without control characters, never NULL */
};

/** The name of a kind ("dial failed"); "event" for a value that is none. Static. Any thread, hooks included. Since 0.3. */
LULL_API const char *lull_event_name(int kind);

/** Where events go. Called inside a turn; must not call into lull. No text is made where there is
 * no hook. Since 0.1. */
struct lull_trace {
    void (*event)(void *ctx, const struct lull_event *event);
    void *ctx;
};

#ifdef __cplusplus
}
#endif

#endif
