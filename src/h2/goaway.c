/* SPDX-License-Identifier: MIT */
/*
 * The two directions of GOAWAY. See goaway.h.
 */
#include "h2/goaway.h"

#include <string.h>

#include "base/status.h"
#include "base/strbuf.h"
#include "h2/inner.h"

#define FRAME_HEAD_BYTES 9
#define FIXED_BYTES      8
#define WHY_BYTES        128

void goaway_on_received(struct h2_transport *t, int32_t last_stream_id, uint32_t code,
                        const uint8_t *debug, size_t debug_len)
{
    struct goaway_state *goaway = &t->goaway;
    const size_t kept = debug_len < GOAWAY_DEBUG_BYTES ? debug_len : GOAWAY_DEBUG_BYTES;
    goaway->is_seen = true;
    goaway->last_stream_id = last_stream_id;
    goaway->code = code;
    goaway->debug_len = debug_len;
    if (kept != 0) {
        memcpy(goaway->debug, debug, kept);
    }
    t->ops->on_goaway(t, code, last_stream_id, debug, debug_len);
}

void goaway_describe(const struct goaway_state *goaway, struct strbuf *sb)
{
    strbuf_printf(sb, "GOAWAY(%s", status_h2_error_name(goaway->code));
    if (goaway->debug_len != 0) {
        strbuf_add(sb, ", ");
        strbuf_quoted(sb, goaway->debug, goaway->debug_len, GOAWAY_DEBUG_BYTES);
    }
    strbuf_add(sb, ")");
}

static void put32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

/*
 * By hand and not through nghttp2, which would first have us send what it has queued. A server opens no streams, so the last
 * stream id is 0.
 */
void goaway_write(struct h2_transport *t, uint32_t code, const char *why)
{
    uint8_t frame[FRAME_HEAD_BYTES + FIXED_BYTES + WHY_BYTES];
    size_t why_len = strlen(why);
    size_t payload;
    why_len = why_len < WHY_BYTES ? why_len : WHY_BYTES;
    payload = FIXED_BYTES + why_len;
    memset(frame, 0, FRAME_HEAD_BYTES + FIXED_BYTES);
    frame[1] = (uint8_t)(payload >> 8);
    frame[2] = (uint8_t)payload;
    frame[3] = NGHTTP2_GOAWAY;
    put32(frame + FRAME_HEAD_BYTES + 4, code);
    if (why_len != 0) {
        memcpy(frame + FRAME_HEAD_BYTES + FIXED_BYTES, why, why_len);
    }
    send_last(t, frame, FRAME_HEAD_BYTES + payload);
}
