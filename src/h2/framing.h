/* SPDX-License-Identifier: MIT */
/*
 * gRPC's message framing (grpc/doc/PROTOCOL-HTTP2.md, Length-Prefixed-Message): a flag byte, four bytes of length, the message.
 *
 * Decides: which prefix is legal and how a message is put together: in one slab, asked for only after the length was judged,
 * of the message's own length up to 64 KiB, and growing with what has come beyond. Called by session_cb.c (receiving) and send.c (the prefix). Must not know what a message means.
 */
#ifndef H2_FRAMING_H
#define H2_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct h2_stream;

#define FRAMING_PREFIX_BYTES 5

static inline void framing_prefix(uint8_t prefix[FRAMING_PREFIX_BYTES], uint32_t len)
{
    prefix[0] = 0;
    prefix[1] = (uint8_t)(len >> 24);
    prefix[2] = (uint8_t)(len >> 16);
    prefix[3] = (uint8_t)(len >> 8);
    prefix[4] = (uint8_t)len;
}

/* What a prefix says. */
static inline uint32_t framing_length(const uint8_t prefix[FRAMING_PREFIX_BYTES])
{
    return (uint32_t)prefix[1] << 24 | (uint32_t)prefix[2] << 16 | (uint32_t)prefix[3] << 8 |
           prefix[4];
}

/* Bytes of DATA, cut anywhere. Tells on_message for each whole message, or on_run for several; a fault ends the stream. */
void framing_on_data(struct h2_stream *stream, const uint8_t *bytes, size_t len);

/* True when a message has begun and is not whole. */
bool framing_is_cut(const struct h2_stream *stream);

/* The stream ended within a message: it is failed, saying where. */
void framing_fail_cut(struct h2_stream *stream);

#endif
