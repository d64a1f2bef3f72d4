/* SPDX-License-Identifier: MIT */
/*
 * The two timeouts of a call, on one timer entry, and how a deadline is written in `grpc-timeout`:
 * arithmetic only. Called by the call (which owns the entry) and by framing. Must not know streams,
 * lanes or why a call is done.
 *
 * The deadline covers everything from the call's creation. The read window covers an attempt: it
 * opens when the request is out, and each HEADERS or DATA of the stream moves it on. Moving it is
 * one store: the entry is left where it is and looks again when it fires. A call whose window can
 * never beat its deadline does not pay for it.
 */
#ifndef POLICY_DEADLINE_H
#define POLICY_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "lull/types.h"

/* Bytes for deadline_encode: eight digits, a unit, a NUL. */
#define DEADLINE_TEXT_BYTES 10

/* A pause that was granted this many windows in a row is reported. */
#define DEADLINE_PAUSE_REPORT_WINDOWS 10

/*
 * Writes `grpc-timeout` for what is left: at most eight digits in the smallest unit that fits,
 * rounded up so that the server never gives up before us; "1n" when nothing is left. Returns the
 * length without the NUL; 0, and an empty text, for LULL_NEVER: the header is left out.
 */
size_t deadline_encode(int64_t remaining_ns, char out[DEADLINE_TEXT_BYTES]);

/*
 * Reads `grpc-timeout`: one to eight digits and one of H M S m u n; leading zeros and 0 are legal.
 * False, and *out_ns left alone, for anything else. What does not fit becomes LULL_NEVER - 1 and
 * not LULL_NEVER: a deadline was given, and passing it on must write one.
 */
bool deadline_decode(const char *text, size_t len, int64_t *out_ns);

enum deadline_action {
    DEADLINE_NOTHING,     /* the entry is not wanted now */
    DEADLINE_REARM,       /* the same entry at next_at */
    DEADLINE_REACHED,     /* the call ends DEADLINE_EXCEEDED: its deadline */
    DEADLINE_READ_TIMEOUT /* the call ends DEADLINE_EXCEEDED, RST_STREAM(CANCEL): its read window */
};

struct deadline_step {
    enum deadline_action action;
    bool report_pause;           /* said once a pause: reading has been paused for ten windows */
    struct lull_instant next_at; /* LULL_NEVER unless REARM */
};

/* The facts of one call. The owner may read any field; it writes the one flag that says so. */
struct deadline {
    struct lull_instant deadline_at;  /* LULL_NEVER: none */
    int64_t window_ns;                /* LULL_NEVER: none, or none that could matter */
    struct lull_instant last_byte_at; /* the last HEADERS or DATA, else the window's opening */
    struct lull_instant resumed_at;   /* the last resume; INT64_MIN: none */
    uint8_t paused_windows;           /* granted to the pause under way */
    bool is_window_open;
    bool is_paused;   /* by the application */
    bool is_done;     /* owner: the call has its status, trailers that wait behind unread messages
                         included */
};

/*
 * The window of a call: its own word if it has one, else the channel's. 0: no word; LULL_NEVER: the
 * word is "none".
 */
int64_t deadline_window_of(int64_t channel_ns, int64_t call_ns);

static inline struct lull_instant deadline_earlier(struct lull_instant a, struct lull_instant b)
{
    return lull_instant_before(a, b) ? a : b;
}

/*
 * Starts a call at `now` and returns when its entry first has to look, LULL_NEVER: no entry. A
 * window that is off (0, negative, LULL_NEVER) or not shorter than what is left of the deadline is
 * dropped here. A deadline that is not after now is the caller's to fail, through the executor,
 * without an entry (deadline_left_ns tells).
 */
static inline struct lull_instant deadline_init(struct deadline *deadline, struct lull_instant now,
                                                struct lull_instant deadline_at, int64_t window_ns)
{
    if (window_ns <= 0 || window_ns >= lull_instant_diff(deadline_at, now)) {
        window_ns = LULL_NEVER;
    }
    deadline->deadline_at = deadline_at;
    deadline->window_ns = window_ns;
    deadline->last_byte_at = now;
    deadline->resumed_at = lull_at(INT64_MIN);
    deadline->paused_windows = 0;
    deadline->is_window_open = false;
    deadline->is_paused = false;
    deadline->is_done = false;
    /* The window opens later than now, so it cannot end before this. */
    return deadline_earlier(lull_instant_add(now, window_ns), deadline_at);
}

/* What is left of the deadline, 0 when it is reached, LULL_NEVER when there is none. */
int64_t deadline_left_ns(const struct deadline *deadline, struct lull_instant now);

/* True when bytes, the opening and pauses have to be reported. Reporting them all the same is
 * harmless. */
static inline bool deadline_has_window(const struct deadline *deadline)
{
    return deadline->window_ns != LULL_NEVER;
}

/*
 * The request's last byte (client streams: HEADERS) went to the socket. Returns the instant at
 * which the entry must look at the latest: re-arm only an entry that is armed for later or not at
 * all. Only after a fire before the opening can that be so.
 */
struct lull_instant deadline_on_window_opened(struct deadline *deadline, struct lull_instant now);

/* True when `at`, which is not before `now`, is a whole window later. */
static inline bool deadline_is_window_later(const struct deadline *deadline, struct lull_instant now,
                                            struct lull_instant at)
{
    return (uint64_t)at.ns - (uint64_t)now.ns == (uint64_t)deadline->window_ns;
}

/* HEADERS or DATA of this stream came. */
static inline void deadline_on_byte(struct deadline *deadline, struct lull_instant now)
{
    deadline->last_byte_at = now;
}

/* The application stopped reading, and went on. A resume starts a whole window: flow control may
 * have held the peer back. */
void deadline_on_paused(struct deadline *deadline);
void deadline_on_resumed(struct deadline *deadline, struct lull_instant now);

/* An attempt is over and another may follow (retry, drain, another subchannel): the window is closed
 * until that one's request is out, so nothing but the deadline is judged; the entry stays. */
void deadline_on_attempt_over(struct deadline *deadline);

/*
 * The entry fired, perhaps early or late; what happened earlier in the turn has been reported. In
 * this order: done; deadline; paused; window not open; window past; the rest of the
 * window. At most one re-arm comes of it, not past the deadline, and not past a window once that is
 * open or paused. Before READ_TIMEOUT is carried out the transport has read once in this turn.
 */
struct deadline_step deadline_on_timer(struct deadline *deadline, struct lull_instant now);

#endif
