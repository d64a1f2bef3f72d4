/* SPDX-License-Identifier: MIT */
/*
 * As much of etcd's v3 protobuf messages as the stream tests use, by field number (etcd's api/etcdserverpb/rpc.proto and
 * api/mvccpb/kv.proto), written and read.
 *
 * Decides: how they look as bytes. Called by the peer tests, which talk to a real etcd, and by the simulated one, so that what both
 * read and write is the same. Public headers only. Must not know what is sent when. A message that does not fit is cut, and then no
 * reader accepts it.
 */
#ifndef TESTS_SUPPORT_ETCD_WIRE_H
#define TESTS_SUPPORT_ETCD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ETCD_TEXT_BYTES = 64, ETCD_EVENTS_MAX = 4 };

struct etcd_message {
    uint8_t bytes[512];
    size_t len;
    bool is_cut;
};

/* A key and what was stored under it. */
struct etcd_kv {
    char key[ETCD_TEXT_BYTES];
    char value[ETCD_TEXT_BYTES];
    int64_t create_revision, mod_revision, version;
};

struct etcd_watch_response {
    int64_t revision, watch_id;
    bool is_created, is_canceled;
    unsigned events; /* all of them, also those beyond ETCD_EVENTS_MAX */
    unsigned puts;   /* of these */
    struct etcd_kv kv[ETCD_EVENTS_MAX];
};

/* LeaseGrantResponse and LeaseKeepAliveResponse have the same fields. */
struct etcd_lease {
    int64_t revision, id, ttl;
};

/* Requests. */
void etcd_write_put(struct etcd_message *to, const char *key, const char *value);
void etcd_write_range(struct etcd_message *to, const char *key);
void etcd_write_watch_create(struct etcd_message *to, const char *key);
void etcd_write_watch_cancel(struct etcd_message *to, int64_t watch_id);
void etcd_write_lease_grant(struct etcd_message *to, int64_t ttl);
void etcd_write_lease_keepalive(struct etcd_message *to, int64_t id);

/* A response, as etcd writes it: one event at most, with kv[0]. */
void etcd_write_watch_response(struct etcd_message *to, const struct etcd_watch_response *from);

/* False: that is no such message. */
bool etcd_read_revision(const uint8_t *bytes, size_t len,
                        int64_t *revision); /* of any response's header */
bool etcd_read_watch_response(const uint8_t *bytes, size_t len, struct etcd_watch_response *out);
bool etcd_read_lease(const uint8_t *bytes, size_t len, struct etcd_lease *out);

#endif
