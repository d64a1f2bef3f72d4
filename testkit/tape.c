/* SPDX-License-Identifier: MIT */
#include "testkit/tape.h"

#include "base/strbuf.h"

#include <inttypes.h>
#include <string.h>

void tape_init(struct tape *tape)
{
    buf_init(&tape->text, NULL, 0);
    tape->is_cut = false;
}

void tape_fini(struct tape *tape)
{
    buf_fini(&tape->text);
}

static void add(struct tape *tape, const char *text, size_t len)
{
    if (buf_append(&tape->text, text, len) != LULL_OK) {
        tape->is_cut = true;
    }
}

void tape_line(struct tape *tape, struct lull_instant at, const char *who, const char *format, ...)
{
    char line[512];
    struct strbuf sb;
    va_list args;

    strbuf_init(&sb, line, sizeof(line));
    strbuf_printf(&sb, "%" PRId64 " %s ", at.ns, who);
    va_start(args, format);
    strbuf_vprintf(&sb, format, args);
    va_end(args);
    add(tape, line, sb.len);
    add(tape, "\n", 1);
}

void tape_bytes(struct tape *tape, struct lull_instant at, const char *who, const uint8_t *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    char head[96];
    struct strbuf sb;

    strbuf_init(&sb, head, sizeof(head));
    strbuf_printf(&sb, "%" PRId64 " %s ", at.ns, who);
    add(tape, head, sb.len);
    for (size_t i = 0; i < len; i++) {
        const char pair[2] = {digits[bytes[i] >> 4], digits[bytes[i] & 15]};
        add(tape, pair, sizeof(pair));
    }
    add(tape, "\n", 1);
}

bool tape_same(const struct tape *a, const struct tape *b)
{
    size_t len = buf_len(&a->text);

    return !a->is_cut && !b->is_cut && len > 0 && len == buf_len(&b->text) &&
           memcmp(buf_data(&a->text), buf_data(&b->text), len) == 0;
}
