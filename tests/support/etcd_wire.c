/* SPDX-License-Identifier: MIT */
#include "tests/support/etcd_wire.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* ---- writing */

static void put_bytes(struct etcd_message *to, const void *bytes, size_t len)
{
    if (len > sizeof(to->bytes) - to->len) {
        to->is_cut = true;
        return;
    }
    if (len > 0) {
        memcpy(to->bytes + to->len, bytes, len);
    }
    to->len += len;
}

static void put_varint(struct etcd_message *to, uint64_t value)
{
    do {
        uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        put_bytes(to, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

/* As proto3: what is 0 is not written. */
static void put_number(struct etcd_message *to, unsigned field, int64_t value)
{
    if (value != 0) {
        put_varint(to, field << 3 | WIRE_VARINT);
        put_varint(to, (uint64_t)value);
    }
}

static void put_text(struct etcd_message *to, unsigned field, const void *bytes, size_t len)
{
    put_varint(to, field << 3 | WIRE_BYTES);
    put_varint(to, len);
    put_bytes(to, bytes, len);
}

static void put_message(struct etcd_message *to, unsigned field, const struct etcd_message *inner)
{
    put_text(to, field, inner->bytes, inner->len);
    to->is_cut = to->is_cut || inner->is_cut;
}

static void start(struct etcd_message *to)
{
    memset(to, 0, sizeof(*to));
}

void etcd_write_put(struct etcd_message *to, const char *key, const char *value)
{
    start(to);
    put_text(to, 1, key, strlen(key));
    put_text(to, 2, value, strlen(value));
}

void etcd_write_range(struct etcd_message *to, const char *key)
{
    start(to);
    put_text(to, 1, key, strlen(key));
}

void etcd_write_watch_create(struct etcd_message *to, const char *key)
{
    struct etcd_message create;
    etcd_write_range(&create, key); /* the same field */
    start(to);
    put_message(to, 1, &create);
}

void etcd_write_watch_cancel(struct etcd_message *to, int64_t watch_id)
{
    struct etcd_message cancel;
    start(&cancel);
    put_number(&cancel, 1, watch_id);
    start(to);
    put_message(to, 2, &cancel);
}

void etcd_write_lease_grant(struct etcd_message *to, int64_t ttl)
{
    start(to);
    put_number(to, 1, ttl);
}

void etcd_write_lease_keepalive(struct etcd_message *to, int64_t id)
{
    start(to);
    put_number(to, 1, id);
}

static void put_kv_event(struct etcd_message *to, const struct etcd_kv *from)
{
    struct etcd_message kv, event;
    start(&kv);
    put_text(&kv, 1, from->key, strlen(from->key));
    put_number(&kv, 2, from->create_revision);
    put_number(&kv, 3, from->mod_revision);
    put_number(&kv, 4, from->version);
    put_text(&kv, 5, from->value, strlen(from->value));
    start(&event); /* its type, PUT, is 0 */
    put_message(&event, 2, &kv);
    put_message(to, 11, &event);
}

void etcd_write_watch_response(struct etcd_message *to, const struct etcd_watch_response *from)
{
    struct etcd_message header;
    start(&header);
    put_number(&header, 1, 0x7e27652122e8b2ae); /* cluster and member, as large as they are */
    put_number(&header, 2, 0x1cd2654fb02f8a5b);
    put_number(&header, 3, from->revision);
    put_number(&header, 4, 2);
    start(to);
    put_message(to, 1, &header);
    put_number(to, 2, from->watch_id);
    put_number(to, 3, from->is_created);
    put_number(to, 4, from->is_canceled);
    if (from->events > 0) {
        put_kv_event(to, &from->kv[0]);
    }
}

/* ---- reading */

struct reader {
    const uint8_t *at;
    size_t left;
    bool is_wrong;
};

struct field {
    unsigned number;
    uint64_t value;       /* of a varint */
    const uint8_t *bytes; /* of the rest */
    size_t len;
};

static uint64_t get_varint(struct reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && r->left > 0; shift += 7) {
        uint8_t byte = *r->at++;
        r->left--;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            return value;
        }
    }
    r->is_wrong = true;
    return 0;
}

/* False at the end, and where something is wrong. */
static bool get_field(struct reader *r, struct field *f)
{
    if (r->left == 0) {
        return false;
    }
    memset(f, 0, sizeof(*f));
    uint64_t tag = get_varint(r);
    f->number = (unsigned)(tag >> 3);
    if ((tag & 7) == WIRE_VARINT) {
        f->value = get_varint(r);
    } else if ((tag & 7) == WIRE_BYTES) {
        uint64_t len = get_varint(r);
        if (len > r->left) {
            r->is_wrong = true;
            return false;
        }
        f->bytes = r->at;
        f->len = (size_t)len;
        r->at += len;
        r->left -= (size_t)len;
    } else {
        r->is_wrong = true; /* these messages have no other kind */
    }
    return !r->is_wrong;
}

static bool get_text(const struct field *f, char text[ETCD_TEXT_BYTES])
{
    if (f->len >= ETCD_TEXT_BYTES || f->bytes == NULL) {
        return false;
    }
    memcpy(text, f->bytes, f->len);
    text[f->len] = '\0';
    return true;
}

static bool read_header(const struct field *header, int64_t *revision)
{
    struct reader r = {header->bytes, header->len, false};
    struct field f;
    while (get_field(&r, &f)) {
        if (f.number == 3) {
            *revision = (int64_t)f.value;
        }
    }
    return !r.is_wrong;
}

bool etcd_read_revision(const uint8_t *bytes, size_t len, int64_t *revision)
{
    struct reader r = {bytes, len, false};
    struct field f;
    *revision = 0;
    while (get_field(&r, &f)) {
        r.is_wrong = f.number == 1 && !read_header(&f, revision);
    }
    return !r.is_wrong && *revision > 0;
}

static bool read_kv(const struct field *from, struct etcd_kv *kv)
{
    struct reader r = {from->bytes, from->len, false};
    struct field f;
    while (get_field(&r, &f)) {
        if (f.number == 1 || f.number == 5) {
            r.is_wrong = !get_text(&f, f.number == 1 ? kv->key : kv->value);
        } else if (f.number == 2) {
            kv->create_revision = (int64_t)f.value;
        } else if (f.number == 3) {
            kv->mod_revision = (int64_t)f.value;
        } else if (f.number == 4) {
            kv->version = (int64_t)f.value;
        }
    }
    return !r.is_wrong;
}

static bool read_event(const struct field *from, struct etcd_watch_response *out)
{
    struct reader r = {from->bytes, from->len, false};
    struct etcd_kv kv;
    struct field f;
    uint64_t type = 0;
    memset(&kv, 0, sizeof(kv));
    while (get_field(&r, &f)) {
        if (f.number == 1) {
            type = f.value;
        } else if (f.number == 2) {
            r.is_wrong = !read_kv(&f, &kv);
        }
    }
    if (out->events < ETCD_EVENTS_MAX) {
        out->kv[out->events] = kv;
    }
    out->events++;
    out->puts += type == 0;
    return !r.is_wrong;
}

bool etcd_read_watch_response(const uint8_t *bytes, size_t len, struct etcd_watch_response *out)
{
    struct reader r = {bytes, len, false};
    struct field f;
    memset(out, 0, sizeof(*out));
    while (get_field(&r, &f)) {
        if (f.number == 1) {
            r.is_wrong = !read_header(&f, &out->revision);
        } else if (f.number == 2) {
            out->watch_id = (int64_t)f.value;
        } else if (f.number == 3) {
            out->is_created = f.value != 0;
        } else if (f.number == 4) {
            out->is_canceled = f.value != 0;
        } else if (f.number == 11) {
            r.is_wrong = !read_event(&f, out);
        }
    }
    return !r.is_wrong && out->revision > 0;
}

bool etcd_read_lease(const uint8_t *bytes, size_t len, struct etcd_lease *out)
{
    struct reader r = {bytes, len, false};
    struct field f;
    memset(out, 0, sizeof(*out));
    while (get_field(&r, &f)) {
        if (f.number == 1) {
            r.is_wrong = !read_header(&f, &out->revision);
        } else if (f.number == 2) {
            out->id = (int64_t)f.value;
        } else if (f.number == 3) {
            out->ttl = (int64_t)f.value;
        }
    }
    return !r.is_wrong && out->revision > 0;
}
