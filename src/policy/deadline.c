/* SPDX-License-Identifier: MIT */
/*
 * Judges a call's timer entry and codes `grpc-timeout` (gRPC over HTTP/2, "Timeout"). Called by the
 * call and by framing. Must not know the timer queue: it answers instants and forgets them.
 */
#include "policy/deadline.h"

/* Timeout units, shortest first. */
static const struct {
    char letter;
    int64_t ns;
} units[] = {{'n', 1},           {'u', LULL_US},          {'m', LULL_MS},
             {'S', LULL_SECOND}, {'M', 60 * LULL_SECOND}, {'H', 3600 * LULL_SECOND}};

#define UNITS      (sizeof(units) / sizeof(units[0]))
#define MAX_DIGITS 8
#define MAX_VALUE  INT64_C(99999999)

static int64_t divide_up(int64_t ns, int64_t unit_ns)
{
    return ns / unit_ns + (ns % unit_ns != 0);
}

static size_t write_text(int64_t value, char letter, char *out)
{
    char digits[MAX_DIGITS];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    for (size_t i = 0; i < n; i++) {
        out[i] = digits[n - 1 - i];
    }
    out[n] = letter;
    out[n + 1] = '\0';
    return n + 1;
}

size_t deadline_encode(int64_t remaining_ns, char out[DEADLINE_TEXT_BYTES])
{
    if (remaining_ns == LULL_NEVER) {
        out[0] = '\0';
        return 0;
    }
    if (remaining_ns < 1) {
        remaining_ns = 1;
    }
    size_t u = 0;
    while (divide_up(remaining_ns, units[u].ns) > MAX_VALUE) {
        u++; /* ends: INT64_MAX ns are 2562048 hours */
    }
    return write_text(divide_up(remaining_ns, units[u].ns), units[u].letter, out);
}

bool deadline_decode(const char *text, size_t len, int64_t *out_ns)
{
    if (len < 2 || len > MAX_DIGITS + 1) {
        return false;
    }
    int64_t value = 0;
    for (size_t i = 0; i < len - 1; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (text[i] - '0');
    }
    for (size_t u = 0; u < UNITS; u++) {
        if (units[u].letter == text[len - 1]) {
            bool fits = value <= (LULL_NEVER - 1) / units[u].ns;
            *out_ns = fits ? value * units[u].ns : LULL_NEVER - 1;
            return true;
        }
    }
    return false;
}

static struct deadline_step finish(enum deadline_action action)
{
    struct deadline_step step = {action, false, lull_at(LULL_NEVER)};
    return step;
}

/* The same entry again at `at` or at the deadline, whichever is first; none when that never comes.
 */
static struct deadline_step rearm(const struct deadline *d, struct lull_instant at)
{
    struct deadline_step step = {DEADLINE_REARM, false, deadline_earlier(at, d->deadline_at)};
    if (step.next_at.ns == LULL_NEVER) {
        step.action = DEADLINE_NOTHING;
    }
    return step;
}

static struct lull_instant window_end(const struct deadline *d)
{
    bool is_byte_newer = lull_instant_before(d->resumed_at, d->last_byte_at);
    return lull_instant_add(is_byte_newer ? d->last_byte_at : d->resumed_at, d->window_ns);
}

int64_t deadline_window_of(int64_t channel_ns, int64_t call_ns)
{
    return call_ns != 0 ? call_ns : channel_ns;
}

int64_t deadline_left_ns(const struct deadline *deadline, struct lull_instant now)
{
    int64_t left_ns = lull_instant_diff(deadline->deadline_at, now);
    return left_ns > 0 ? left_ns : 0;
}

struct lull_instant deadline_on_window_opened(struct deadline *deadline, struct lull_instant now)
{
    deadline->is_window_open = true;
    deadline->last_byte_at = now;
    return deadline_earlier(window_end(deadline), deadline->deadline_at);
}

void deadline_on_paused(struct deadline *deadline)
{
    deadline->is_paused = true;
}

void deadline_on_resumed(struct deadline *deadline, struct lull_instant now)
{
    if (deadline->is_paused) {
        deadline->is_paused = false;
        deadline->paused_windows = 0;
        deadline->resumed_at = now;
    }
}

void deadline_on_attempt_over(struct deadline *deadline)
{
    deadline->is_window_open = false;
}

struct deadline_step deadline_on_timer(struct deadline *deadline, struct lull_instant now)
{
    if (deadline->is_done) {
        return finish(DEADLINE_NOTHING);
    }
    if (!lull_instant_before(now, deadline->deadline_at)) {
        return finish(DEADLINE_REACHED);
    }
    if (!deadline_has_window(deadline)) {
        return rearm(deadline, deadline->deadline_at);
    }
    if (deadline->is_paused) {
        struct deadline_step step = rearm(deadline, lull_instant_add(now, deadline->window_ns));
        if (deadline->paused_windows <= DEADLINE_PAUSE_REPORT_WINDOWS) {
            deadline->paused_windows++;
        }
        step.report_pause = deadline->paused_windows == DEADLINE_PAUSE_REPORT_WINDOWS;
        return step;
    }
    if (!deadline->is_window_open) {
        return rearm(deadline, deadline->deadline_at);
    }
    const struct lull_instant end_at = window_end(deadline);
    if (!lull_instant_before(now, end_at)) {
        return finish(DEADLINE_READ_TIMEOUT);
    }
    return rearm(deadline, end_at);
}
