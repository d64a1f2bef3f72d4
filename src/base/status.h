/* SPDX-License-Identifier: MIT */
/*
 * Which gRPC status an HTTP/2 outcome is, by the tables of gRPC's own documents.
 *
 * Decides: the mapping tables, nothing else. Called by h2/ and channel/. Must not know about
 * streams or calls: who wins when several of these are known is decided there. The public side is
 * lull/status.h.
 */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "lull/status.h"

/* The code for a reply without grpc-status (grpc/doc/http-grpc-status-mapping.md). 0: there was no
 * :status. */
enum lull_code status_from_http(int http_status);

/* The code for RST_STREAM with this error code (grpc/doc/PROTOCOL-HTTP2.md, Errors; RFC 9113
 * section 7). */
enum lull_code status_from_h2_error(uint32_t code);

/*
 * Reads the value of grpc-status: one or two digits. A number above 16 is UNKNOWN. Anything else is
 * UNKNOWN too, and false is returned, so that the caller can say so.
 */
bool status_parse_grpc(const uint8_t *value, size_t len, enum lull_code *out);

/* "REFUSED_STREAM"; "unknown error code" for a value that RFC 9113 does not list. Static. */
const char *status_h2_error_name(uint32_t code);

/* Adds GOAWAY(NO_ERROR, "debug"): the peer's debug data [nullable] quoted, the first 48 bytes of it. */
void status_goaway_text(struct strbuf *sb, uint32_t code, const uint8_t *debug, size_t debug_len);

#endif
