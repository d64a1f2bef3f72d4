/* SPDX-License-Identifier: MIT */
/*
 * The line of a call that failed: see ending.h.
 */
#include "ending.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

/*
 * The part of the record's line that says when the channel dials or asks again, which it will not: the tool ends. NULL: there is none.
 * It is the last of its kind, what is before it may quote a peer, and it goes up to the parenthesis that it is in, or, of a name, to
 * the times. *rest is what follows it.
 */
static const char *next_attempt(const struct lull_failure *failure, const char **rest)
{
    static const char words[] = "; next ";
    const bool is_name = failure->phase == LULL_PHASE_RESOLVING;
    const char *found = NULL;
    const bool is_attempt = failure->phase == LULL_PHASE_BACKOFF ||
                            failure->reason == LULL_REASON_CONNECT ||
                            failure->reason == LULL_REASON_TLS;
    if (!is_attempt && !is_name) {
        return NULL;
    }
    for (const char *at = strstr(failure->line, words); at != NULL; at = strstr(at + 1, words)) {
        found = at;
    }
    if (found == NULL) {
        return NULL;
    }
    *rest = is_name ? strstr(found, " [") : strchr(found, ')');
    if (*rest == NULL && is_name) {
        *rest = found + strlen(found);
    }
    return *rest != NULL ? found : NULL;
}

/* The line for a call that failed: the server's own words when it spoke, else the record of what broke. */
void tool_ending_print(const struct lull_status *status)
{
    const struct lull_failure *failure = status->failure;
    const char *text = status->message;
    size_t len = status->message_len;
    if (failure != NULL && failure->reason != LULL_REASON_SERVER) {
        text = failure->line;
        len = strlen(text);
    }
    const char *name = lull_code_name((int)status->code);
    size_t name_len = strlen(name);
    (void)fputs("lull: ", stderr);
    /* The record's line may name the code itself; once is enough. */
    if (len < name_len || memcmp(text, name, name_len) != 0) {
        (void)fputs(name, stderr);
        (void)fputs(len == 0 ? "" : ": ", stderr);
    }
    const char *rest = NULL;
    const char *next =
        failure != NULL && text == failure->line ? next_attempt(failure, &rest) : NULL;
    if (next == NULL) {
        tool_text_put(stderr, text, len);
    } else {
        tool_text_put(stderr, text, (size_t)(next - text));
        tool_text_put(stderr, rest, strlen(rest));
    }
    (void)fputc('\n', stderr);
}
