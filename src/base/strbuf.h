/* SPDX-License-Identifier: MIT */
/*
 * Text for people, built in memory of the caller.
 *
 * Decides: how a text that is too long is cut (never within a UTF-8 character, "..." at the end),
 * how durations and a peer's bytes look. Called wherever a line is made. Allocates nothing and
 * cannot fail. The text always has its NUL.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cold.h"

struct strbuf {
    char *text;  /* NUL-terminated at all times */
    size_t size; /* of the memory, the NUL included */
    size_t len;  /* of the text */
    bool is_cut; /* it did not fit; nothing more is added */
};

/* Starts an empty text in `size` bytes at `text`; size is above 0. */
void strbuf_init(struct strbuf *sb, char *text, size_t size);

LULL_COLD void strbuf_printf(struct strbuf *sb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
LULL_COLD void strbuf_vprintf(struct strbuf *sb, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Adds a C string, or `len` bytes, as they are. */
void strbuf_add(struct strbuf *sb, const char *text);
void strbuf_add_bytes(struct strbuf *sb, const void *bytes, size_t len);

/*
 * Adds a duration: "1.234 s", "35 ms", "1.5 us", "12 ns", "never". At most three decimals, cut, not
 * rounded; a negative one has a "-".
 */
LULL_COLD void strbuf_duration(struct strbuf *sb, int64_t ns);

/* What a noun wants behind a count: "%zu byte%s", n, plural_s(n). */
static inline const char *plural_s(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Adds the system's words for an errno as part of a sentence, without the capital letter: "connection refused". */
LULL_COLD void strbuf_errno(struct strbuf *sb, int sys_errno);

/*
 * Adds bytes of a peer in double quotes: printable ASCII as it is, '"' and '\' after a '\', all
 * else as \xNN. Past the first `max_bytes` it ends in "... (1234 bytes)".
 */
LULL_COLD void strbuf_quoted(struct strbuf *sb, const void *bytes, size_t len, size_t max_bytes);

/*
 * Adds a peer's text so that it stays on its line and cannot speak to a terminal: UTF-8 as it is, but control characters, the C1
 * ones too, and what is no UTF-8 as \xNN.
 */
LULL_COLD void strbuf_one_line(struct strbuf *sb, const void *bytes, size_t len);

#endif
