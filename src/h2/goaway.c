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
#define FIXED_BYTES      (GOAWAY_FIXED_BYTES - FRAME_HEAD_BYTES)
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

/* ---- a server that goes in order (RFC 9113 section 6.8) */

static void on_notice_seen(struct h2_ping *ping, int64_t rtt_ns, const char *why)
{
    struct h2_transport *t = container_of(ping, struct h2_transport, goaway.notice);
    (void)why;
    if (rtt_ns >= 0 && !t->is_lost && goaway_finish(t) != LULL_OK) {
        transport_lose(t, H2_LOST_NOMEM, 0, "no memory for GOAWAY");
    }
}

int goaway_start(struct h2_transport *t, const char *why)
{
    struct goaway_state *goaway = &t->goaway;
    struct strbuf sb;
    if (goaway->stage != GOAWAY_NONE) {
        return LULL_OK;
    }
    strbuf_init(&sb, goaway->why, sizeof(goaway->why));
    strbuf_add(&sb, why);
    h2_ping_init(&goaway->notice, on_notice_seen);
    goaway->stage = GOAWAY_NOTICED;
    goaway->is_notice_due = true;
    executor_post_flush(t->executor, &t->flush);
    /* Without its PING the notice is of little use. */
    return ping_for_drain(t, &goaway->notice) == LULL_OK ? LULL_OK : goaway_finish(t);
}

int goaway_finish(struct h2_transport *t)
{
    struct goaway_state *goaway = &t->goaway;
    if (goaway->stage != GOAWAY_NOTICED) {
        return LULL_OK;
    }
    if (nghttp2_submit_goaway(t->session.nghttp2, NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(t->session.nghttp2),
                              NGHTTP2_NO_ERROR, (const uint8_t *)goaway->why,
                              strlen(goaway->why)) != 0) {
        return LULL_RC_NOMEM;
    }
    goaway->stage = GOAWAY_FINAL;
    h2_ping_cancel(&goaway->notice);
    executor_post_flush(t->executor, &t->flush);
    return LULL_OK;
}

void goaway_on_sent(struct h2_transport *t)
{
    t->is_draining = true;
}

/* ---- frames by hand */

/* Into at least FRAME_HEAD_BYTES + FIXED_BYTES + why_max bytes; how many it took. `why` is cut. */
static size_t put_frame(uint8_t *frame, uint32_t last_stream_id, uint32_t code, const char *why,
                        size_t why_max)
{
    size_t why_len = strlen(why);
    why_len = why_len < why_max ? why_len : why_max;
    const size_t payload = FIXED_BYTES + why_len;
    memset(frame, 0, FRAME_HEAD_BYTES);
    frame[1] = (uint8_t)(payload >> 8);
    frame[2] = (uint8_t)payload;
    frame[3] = NGHTTP2_GOAWAY;
    put32(frame + FRAME_HEAD_BYTES, last_stream_id);
    put32(frame + FRAME_HEAD_BYTES + 4, code);
    if (why_len != 0) {
        memcpy(frame + FRAME_HEAD_BYTES + FIXED_BYTES, why, why_len);
    }
    return FRAME_HEAD_BYTES + payload;
}

/* nghttp2's own notice (nghttp2_submit_shutdown_notice) has no debug data, and an ordinary GOAWAY would end its taking of streams. */
size_t goaway_take_notice(struct h2_transport *t, uint8_t *frame)
{
    t->goaway.is_notice_due = false;
    return put_frame(frame, INT32_MAX, NGHTTP2_NO_ERROR, t->goaway.why, GOAWAY_DEBUG_BYTES);
}

/* Not through nghttp2, which would first have us send what it has queued. A server opens no streams. */
void goaway_write(struct h2_transport *t, uint32_t code, const char *why)
{
    uint8_t frame[FRAME_HEAD_BYTES + FIXED_BYTES + WHY_BYTES];
    const int32_t last_stream_id =
        transport_is_server(t) ? nghttp2_session_get_last_proc_stream_id(t->session.nghttp2) : 0;
    const size_t len = put_frame(frame, (uint32_t)last_stream_id, code, why, WHY_BYTES);
    send_last(t, frame, len);
}
