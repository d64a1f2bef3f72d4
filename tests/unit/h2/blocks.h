/* SPDX-License-Identifier: MIT */
/* Header blocks of the peer, put together field by field, and what came of them. */
#ifndef TESTS_UNIT_H2_BLOCKS_H
#define TESTS_UNIT_H2_BLOCKS_H

#include <stdio.h>

#include "tests/unit/h2/frames.h"

/* A block of literals without indexing, as the peer's HEADERS on stream 1. */
struct block {
    uint8_t bytes[60000];
    size_t len;
};

static struct block block;

static inline void add_int(uint8_t first, unsigned bits, size_t value)
{
    const size_t most = ((size_t)1 << bits) - 1;
    if (value < most) {
        block.bytes[block.len++] = (uint8_t)(first | value);
        return;
    }
    block.bytes[block.len++] = (uint8_t)(first | most);
    for (value -= most; value >= 128; value >>= 7) {
        block.bytes[block.len++] = (uint8_t)(value % 128 + 128);
    }
    block.bytes[block.len++] = (uint8_t)value;
}

static inline void add(const void *name, size_t name_len, const void *value, size_t value_len)
{
    block.bytes[block.len++] = 0;
    add_int(0, 7, name_len);
    memcpy(block.bytes + block.len, name, name_len);
    block.len += name_len;
    add_int(0, 7, value_len);
    memcpy(block.bytes + block.len, value, value_len);
    block.len += value_len;
}

static inline void add_text(const char *name, const char *value)
{
    add(name, strlen(name), value, strlen(value));
}

static inline struct heard *begin(void)
{
    block.len = 0;
    world_begin();
    return world_ready(1);
}

/* What the last test's on_trailers saw: kept here because the list is borrowed. */
static char seen[512];

static inline void see(struct h2_stream *stream, int status, const struct metadata_list *list)
{
    struct lull_metadata view = metadata_list_view(list);
    char *to = seen;
    hear_trailers(stream, status, list);
    for (size_t i = 0; i < view.count; i++) {
        to += sprintf(to, "%s=", view.items[i].key);
        for (size_t k = 0; k < view.items[i].value_len; k++) {
            const uint8_t c = ((const uint8_t *)view.items[i].value)[k];
            to += sprintf(to, c >= 0x20 && c < 0x7f ? "%c" : "<%02x>", c);
        }
        to += sprintf(to, ";");
    }
}

static const struct h2_stream_ops seeing_ops = {
    .on_headers = hear_headers,
    .on_message = hear_message,
    .on_raw = hear_raw,
    .on_trailers = see,
    .on_end_of_data = hear_end_of_data,
    .on_sent = hear_sent,
    .on_closed = hear_closed,
};

static inline void add_lasting(const char *name, const char *value)
{
    const size_t at = block.len;
    add_text(name, value);
    block.bytes[at] = 0x40;
}

/* A static entry, or the nth newest of those above from 62 on. */
static inline void add_entry(unsigned index)
{
    add_int(0x80, 7, index);
}

#define STATUS_200 8

/* The answer that was put together, on the nth stream; what was seen of it. */
static inline const char *answer(unsigned n)
{
    struct heard *h = n == 0 ? &calls[0] : open_call(n);
    h->stream.ops = &seeing_ops;
    run();
    seen[0] = '\0';
    say_frame(1, END_BOTH, 2 * n + 1, block.bytes, block.len);
    block.len = 0;
    run();
    return seen;
}

#endif
