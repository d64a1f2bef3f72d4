/* SPDX-License-Identifier: MIT */
/**
 * @file metadata.h
 * Key-value pairs that travel with a call. Keys are lower case; a key that ends in "-bin" has any
 * bytes as its value (base64 on the wire is ours to do), every other value is printable ASCII
 * (grpc/doc/PROTOCOL-HTTP2.md, Custom-Metadata).
 */
#ifndef LULL_METADATA_H
#define LULL_METADATA_H

#include <lull/rc.h>
#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One pair. Neither side needs a NUL. Since 0.1. */
struct lull_metadatum {
    const char *key;
    size_t key_len; /**< bytes */
    const void *value;
    size_t value_len; /**< bytes */
};

/** An ordered list of pairs; a key may come more than once. In what came, fields of HTTP/2's and gRPC's own (content-type, grpc-status)
 * are left out. Since 0.1. */
struct lull_metadata {
    const struct lull_metadatum *items; /**< [nullable] only when count is 0 */
    size_t count;
};

/** A pair of two C strings [borrow]: it points to them, so they are there as long as it is used. What starts or answers a call
 * copies its metadata before it returns. Neither may be NULL. Any thread. Since 0.1. */
LULL_API struct lull_metadatum lull_metadatum_text(const char *key, const char *value);

/**
 * The n-th value (from 0) of `key`, in the order of the list.
 * @param metadata [borrow, nullable]
 * @param key [borrow] NUL-terminated, lower case
 * @return [borrow, nullable] NULL when there are not so many. Any thread. Since 0.1.
 */
LULL_API const struct lull_metadatum *lull_metadata_find(const struct lull_metadata *metadata,
                                                         const char *key, size_t n);

/**
 * Judges metadata that an application wants to send: keys of [0-9a-z_.-], not empty, not starting
 * with ':' or "grpc-", not one that HTTP/2 or gRPC owns (te, content-type, user-agent, host,
 * connection, ...); values printable ASCII unless "-bin"; all of it no more than the 64 KiB of a
 * header block, counting 12 bytes for each pair and "-bin" values in base64.
 * @param metadata [borrow, nullable]
 * @param error [nullable] receives the code and a text that names the pair (by number and key) and
 * the fault, or both sizes
 * @return LULL_OK, LULL_RC_INVALID or, before a byte is looked at, LULL_RC_LIMIT. Any thread. Since 0.1.
 */
LULL_API int lull_metadata_check(const struct lull_metadata *metadata, struct lull_error *error);

#ifdef __cplusplus
}
#endif

#endif
