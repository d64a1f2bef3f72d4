/* SPDX-License-Identifier: MIT */
/**
 * @file log.h
 * Lines for a program's log: what happens to connections, and why. Off unless asked for, per channel and per server; there is no
 * global log. For programs that want to act on events there is trace.h, which tells the same things by kind.
 */
#ifndef LULL_LOG_H
#define LULL_LOG_H

#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How much a line matters: numbers of syslog (RFC 5424 section 6.2.1), the smaller the graver. Values are fixed; more may come. Since 0.3. */
enum lull_log_level {
    LULL_LOG_WARNING = 4, /**< what an operator should know: an attempt or a name that failed, a connection lost, pings that the server
                             forbids and the interval that follows, a server that has no descriptors left */
    LULL_LOG_INFO = 6,    /**< the life of connections: states, names, dials, connects, GOAWAY, shutdown, close */
    LULL_LOG_DEBUG = 7    /**< each call and each PING */
};

/** One line. Borrowed for the callback. Since 0.3. */
struct lull_log_line {
    size_t size; /**< sizeof(struct lull_log_line) of the library; fields are appended only */
    enum lull_log_level level;
    struct lull_instant at; /**< of the loop's clock, not the wall's */
    const char *name;       /**< whose line it is: the channel's target, or a server's first address ("" before it has one); never NULL */
    const char *text; /**< "dial failed: 10.0.0.1:80 attempt 1: connection refused; next in 1 s". One line without a newline, 1200 bytes at
                         most; control characters, and what a peer sent that is no UTF-8, are written as `\xNN`. For people, in words
                         that change; never NULL */
};

/**
 * Where lines go: a member of lull_channel_options and lull_server_options.
 *
 * `line` is called inline where the thing happens: inside a turn, on the thread that is in it, or, for what a function does at once
 * (lull_channel_new, lull_channel_close, lull_server_listen and their like), inside that function. It must not call into lull, but for
 * names of codes and lull_instant_ and lull_duration_ arithmetic. No lock is held but the turn: a line that waits for a thread that waits
 * for this loop waits for ever. Lines of one channel or server never overlap. Without `line` no text is made and no clock read. Since 0.3.
 */
struct lull_log {
    void (*line)(void *ctx, const struct lull_log_line *line); /**< [nullable] NULL: no log */
    void *ctx;                                                 /**< [borrow] handed to line; outlives the channel or server */
    int level; /**< lines of this level and graver ones; 0: LULL_LOG_INFO; else 1 to 7, the rest is LULL_RC_INVALID */
};

/** The name of a level ("warning"); "unknown" for a value that is none. Static. Any thread. Since 0.3. */
LULL_API const char *lull_log_level_name(int level);

#ifdef __cplusplus
}
#endif

#endif
