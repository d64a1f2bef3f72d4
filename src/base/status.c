/* SPDX-License-Identifier: MIT */
/*
 * Names and mapping tables of status codes. See status.h and lull/status.h.
 */
#include "base/status.h"

#include <inttypes.h>

#include "lull/rc.h"

/* Of a peer's debug data. */
#define DEBUG_QUOTED_BYTES 48

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const code_names[] = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
};

static const char *const phase_names[LULL_PHASE_COUNT] = {
    [LULL_PHASE_START] = "start",
    [LULL_PHASE_RESOLVING] = "resolving",
    [LULL_PHASE_CONNECTING] = "connecting",
    [LULL_PHASE_HANDSHAKE] = "handshake",
    [LULL_PHASE_SETTINGS] = "settings",
    [LULL_PHASE_BACKOFF] = "backoff",
    [LULL_PHASE_QUEUED] = "queued",
    [LULL_PHASE_SENDING] = "sending",
    [LULL_PHASE_WAITING] = "waiting",
    [LULL_PHASE_READING] = "reading",
    [LULL_PHASE_DONE] = "done",
};

static const char *const reason_names[] = {
    [LULL_REASON_NONE] = "none",
    [LULL_REASON_SERVER] = "server",
    [LULL_REASON_HTTP] = "http",
    [LULL_REASON_DEADLINE] = "deadline",
    [LULL_REASON_READ_TIMEOUT] = "read timeout",
    [LULL_REASON_CANCELLED] = "cancelled",
    [LULL_REASON_CONNECT] = "connect",
    [LULL_REASON_TRANSPORT] = "transport",
    [LULL_REASON_KEEPALIVE] = "keepalive",
    [LULL_REASON_RESET] = "reset",
    [LULL_REASON_GOAWAY] = "goaway",
    [LULL_REASON_PROTOCOL] = "protocol",
    [LULL_REASON_LIMIT] = "limit",
    [LULL_REASON_INVALID] = "invalid",
    [LULL_REASON_CHANNEL_CLOSED] = "channel closed",
    [LULL_REASON_INTERNAL] = "internal",
    [LULL_REASON_RESOLVE] = "resolve",
    [LULL_REASON_TLS] = "tls",
};

/* RFC 9113 section 7, in the order of the codes. */
static const struct {
    const char *name;
    enum lull_code code;
} h2_errors[] = {
    {"NO_ERROR", LULL_CODE_INTERNAL}, /* a stream may not end well without trailers */
    {"PROTOCOL_ERROR", LULL_CODE_INTERNAL},
    {"INTERNAL_ERROR", LULL_CODE_INTERNAL},
    {"FLOW_CONTROL_ERROR", LULL_CODE_INTERNAL},
    {"SETTINGS_TIMEOUT", LULL_CODE_INTERNAL},
    {"STREAM_CLOSED", LULL_CODE_INTERNAL},
    {"FRAME_SIZE_ERROR", LULL_CODE_INTERNAL},
    {"REFUSED_STREAM", LULL_CODE_UNAVAILABLE},
    {"CANCEL", LULL_CODE_CANCELLED},
    {"COMPRESSION_ERROR", LULL_CODE_INTERNAL},
    {"CONNECT_ERROR", LULL_CODE_INTERNAL},
    {"ENHANCE_YOUR_CALM", LULL_CODE_RESOURCE_EXHAUSTED},
    {"INADEQUATE_SECURITY", LULL_CODE_PERMISSION_DENIED},
    {"HTTP_1_1_REQUIRED", LULL_CODE_UNKNOWN},
};

static const char *name_at(const char *const *names, size_t count, int value, const char *otherwise)
{
    return value < 0 || (size_t)value >= count ? otherwise : names[value];
}

const char *lull_code_name(int code)
{
    return name_at(code_names, COUNT(code_names), code, "UNKNOWN");
}

const char *lull_phase_name(int phase)
{
    return name_at(phase_names, COUNT(phase_names), phase, "unknown");
}

const char *lull_reason_name(int reason)
{
    return name_at(reason_names, COUNT(reason_names), reason, "unknown");
}

enum lull_code lull_code_from_rc(int rc)
{
    switch (rc) {
    case LULL_OK:
        return LULL_CODE_OK;
    case LULL_RC_NOMEM:
    case LULL_RC_LIMIT:
        return LULL_CODE_RESOURCE_EXHAUSTED;
    case LULL_RC_INVALID:
        return LULL_CODE_INVALID_ARGUMENT;
    case LULL_RC_CLOSED:
        return LULL_CODE_UNAVAILABLE;
    case LULL_RC_UNSUPPORTED:
        return LULL_CODE_UNIMPLEMENTED;
    case LULL_RC_STATE:
        return LULL_CODE_FAILED_PRECONDITION;
    default:
        return LULL_CODE_INTERNAL;
    }
}

enum lull_code status_from_http(int http_status)
{
    /* No :status at all, or an informational one that ended the stream: the reply is broken. */
    if (http_status < 200) {
        return LULL_CODE_INTERNAL;
    }
    switch (http_status) {
    case 400:
    case 431: /* the document's table leaves it out, but it is a fault of our request as 400 is */
        return LULL_CODE_INTERNAL;
    case 401:
        return LULL_CODE_UNAUTHENTICATED;
    case 403:
        return LULL_CODE_PERMISSION_DENIED;
    case 404:
        return LULL_CODE_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return LULL_CODE_UNAVAILABLE;
    default:
        return LULL_CODE_UNKNOWN;
    }
}

enum lull_code status_from_h2_error(uint32_t code)
{
    return code < COUNT(h2_errors) ? h2_errors[code].code : LULL_CODE_UNKNOWN;
}

const char *status_h2_error_name(uint32_t code)
{
    return code < COUNT(h2_errors) ? h2_errors[code].name : "unknown error code";
}

void status_goaway_text(struct strbuf *sb, uint32_t code, const uint8_t *debug, size_t debug_len)
{
    if (code < COUNT(h2_errors)) {
        strbuf_printf(sb, "GOAWAY(%s", h2_errors[code].name);
    } else {
        strbuf_printf(sb, "GOAWAY(error code 0x%" PRIx32, code);
    }
    if (debug_len > 0) {
        strbuf_add(sb, ", ");
        strbuf_quoted(sb, debug, debug_len, DEBUG_QUOTED_BYTES);
    }
    strbuf_add(sb, ")");
}

bool status_parse_grpc(const uint8_t *value, size_t len, enum lull_code *out)
{
    unsigned number = 0;
    *out = LULL_CODE_UNKNOWN;
    if (len < 1 || len > 2) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (value[i] < '0' || value[i] > '9') {
            return false;
        }
        number = number * 10 + (unsigned)(value[i] - '0');
    }
    if (number <= LULL_CODE_UNAUTHENTICATED) {
        *out = (enum lull_code)number;
    }
    return true;
}
