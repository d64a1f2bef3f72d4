/* SPDX-License-Identifier: MIT */
/*
 * Metadata: the list that owns its pairs, and what an application may send. See metadata.h and
 * lull/metadata.h.
 */
#include "base/metadata.h"

#include <stdint.h>
#include <string.h>

#include "base/ascii.h"
#include "base/base64.h"
#include "base/cold.h"
#include "base/mem.h"
#include "base/rc.h"
#include "base/strbuf.h"

#define FIRST_ITEMS ((size_t)4)
#define FIRST_BYTES ((size_t)128)

/* How much of a faulty key an error shows. */
#define SHOWN_KEY_BYTES ((size_t)64)

bool metadata_is_binary(const char *key, size_t key_len)
{
    return key_len >= 4 && memcmp(key + key_len - 4, "-bin", 4) == 0;
}

void metadata_list_init(struct metadata_list *list, const struct lull_allocator *allocator,
                        size_t limit_bytes)
{
    memset(list, 0, sizeof(*list));
    list->allocator = allocator;
    list->limit_bytes = limit_bytes;
}

void metadata_list_fini(struct metadata_list *list)
{
    mem_release(list->allocator, list->items);
    mem_release(list->allocator, list->bytes);
    metadata_list_init(list, list->allocator, list->limit_bytes);
}

void metadata_list_reset(struct metadata_list *list)
{
    list->count = 0;
    list->bytes_len = 0;
    list->size_bytes = 0;
}

struct lull_metadata metadata_list_view(const struct metadata_list *list)
{
    struct lull_metadata view;
    view.items = list->items;
    view.count = list->count;
    return view;
}

static size_t add_saturating(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static size_t with(const struct metadata_list *list, size_t key_len, size_t value_len)
{
    size_t weight = add_saturating(add_saturating(key_len, value_len), METADATA_WEIGHT_BYTES);
    return add_saturating(list->size_bytes, weight);
}

bool metadata_list_has_room(const struct metadata_list *list, size_t key_len, size_t value_len)
{
    return list->limit_bytes == 0 || with(list, key_len, value_len) <= list->limit_bytes;
}

int metadata_list_charge(struct metadata_list *list, size_t key_len, size_t value_len)
{
    if (!metadata_list_has_room(list, key_len, value_len)) {
        return LULL_RC_LIMIT;
    }
    list->size_bytes = with(list, key_len, value_len);
    return LULL_OK;
}

/* Twice as much, at least `first` and `need`. */
static size_t grown(size_t cap, size_t first, size_t need)
{
    size_t next = cap > SIZE_MAX / 2 ? SIZE_MAX : cap * 2;
    if (next < first) {
        next = first;
    }
    return next < need ? need : next;
}

/* Room for `len` more bytes. The items point into the block, so they move with it while both blocks
 * exist. */
LULL_COLD static int grow_bytes(struct metadata_list *list, size_t len)
{
    size_t cap;
    char *bytes;
    if (len <= list->bytes_cap - list->bytes_len) {
        return LULL_OK;
    }
    if (len > SIZE_MAX - list->bytes_len) {
        return LULL_RC_NOMEM;
    }
    cap = grown(list->bytes_cap, FIRST_BYTES, list->bytes_len + len);
    bytes = mem_alloc(list->allocator, cap);
    if (bytes == NULL) {
        return LULL_RC_NOMEM;
    }
    if (list->bytes_len != 0) {
        memcpy(bytes, list->bytes, list->bytes_len);
    }
    for (size_t i = 0; i < list->count; i++) {
        struct lull_metadatum *item = &list->items[i];
        if ((uintptr_t)item->key - (uintptr_t)list->bytes < list->bytes_cap) { /* not borrowed */
            item->key = bytes + (item->key - list->bytes);
            item->value = bytes + ((const char *)item->value - list->bytes);
        }
    }
    mem_release(list->allocator, list->bytes);
    list->bytes = bytes;
    list->bytes_cap = cap;
    return LULL_OK;
}

LULL_COLD static int grow_items(struct metadata_list *list)
{
    size_t cap;
    struct lull_metadatum *items;
    if (list->count < list->items_cap) {
        return LULL_OK;
    }
    cap = grown(list->items_cap, FIRST_ITEMS, list->count + 1);
    items = mem_resize_array(list->allocator, list->items, cap, sizeof(*items));
    if (items == NULL) {
        return LULL_RC_NOMEM;
    }
    list->items = items;
    list->items_cap = cap;
    return LULL_OK;
}

/* A place for one more item and `need` bytes. */
LULL_COLD static int make_room(struct metadata_list *list, size_t need)
{
    const int rc = grow_items(list);
    return rc == LULL_OK ? grow_bytes(list, need) : rc;
}

/* Adds a key and room for a value of up to `value_max` bytes, which finish() then closes. Changes
 * nothing on failure. */
static int begin(struct metadata_list *list, const char *key, size_t key_len, size_t value_max,
                 char **value)
{
    const size_t need = add_saturating(add_saturating(key_len, value_max), 2);
    struct lull_metadatum *item;
    char *at;
    if (list->count == list->items_cap || need > list->bytes_cap - list->bytes_len) {
        const int rc = make_room(list, need);
        if (rc != LULL_OK) {
            return rc;
        }
    }
    at = list->bytes + list->bytes_len;
    item = &list->items[list->count];
    if (key_len != 0) {
        memcpy(at, key, key_len);
    }
    at[key_len] = '\0';
    *value = at + key_len + 1;
    item->key = at;
    item->key_len = key_len;
    item->value = *value;
    return LULL_OK;
}

static void finish(struct metadata_list *list, char *value, size_t value_len)
{
    value[value_len] = '\0';
    list->items[list->count].value_len = value_len;
    list->bytes_len = (size_t)(value + value_len + 1 - list->bytes);
    list->count++;
}

/* Adds a pair whose bytes are at hand and whose value weighs `wire_len`. */
static int add_plain(struct metadata_list *list, const char *key, size_t key_len, const void *value,
                     size_t value_len, size_t wire_len)
{
    size_t size_bytes = list->size_bytes;
    char *room;
    int rc = metadata_list_charge(list, key_len, wire_len);
    if (rc != LULL_OK) {
        return rc;
    }
    rc = begin(list, key, key_len, value_len, &room);
    if (rc != LULL_OK) {
        list->size_bytes = size_bytes;
        return rc;
    }
    if (value_len != 0) {
        memcpy(room, value, value_len);
    }
    finish(list, room, value_len);
    return LULL_OK;
}

int metadata_list_add(struct metadata_list *list, const char *key, size_t key_len,
                      const void *value, size_t value_len)
{
    size_t wire_len =
        metadata_is_binary(key, key_len) ? base64_encoded_length(value_len) : value_len;
    return add_plain(list, key, key_len, value, value_len, wire_len);
}

/* Where a list was, so that a failure half-way can be undone. */
struct mark {
    size_t count;
    size_t bytes_len;
    size_t size_bytes;
};

static struct mark mark_of(const struct metadata_list *list)
{
    struct mark mark = {list->count, list->bytes_len, list->size_bytes};
    return mark;
}

static void go_back(struct metadata_list *list, struct mark mark)
{
    list->count = mark.count;
    list->bytes_len = mark.bytes_len;
    list->size_bytes = mark.size_bytes;
}

int metadata_list_add_all(struct metadata_list *list, const struct lull_metadata *metadata)
{
    struct mark start = mark_of(list);
    for (size_t i = 0; metadata != NULL && i < metadata->count; i++) {
        const struct lull_metadatum *item = &metadata->items[i];
        int rc = metadata_list_add(list, item->key, item->key_len, item->value, item->value_len);
        if (rc != LULL_OK) {
            go_back(list, start);
            return rc;
        }
    }
    return LULL_OK;
}

/* Adds one base64 text as a pair. */
static int add_base64(struct metadata_list *list, const char *key, size_t key_len, const char *text,
                      size_t len)
{
    char *room;
    size_t value_len = 0;
    int rc = metadata_list_charge(list, key_len, len);
    if (rc == LULL_OK) {
        rc = begin(list, key, key_len, base64_decoded_max(len), &room);
    }
    if (rc != LULL_OK) {
        return rc;
    }
    if (!base64_decode(text, len, room, &value_len)) {
        return LULL_RC_INVALID;
    }
    finish(list, room, value_len);
    return LULL_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Fields joined by an HTTP intermediary come as "a,b" or "a, b" (RFC 9110 section 5.3): blanks are
 * not part of a value. */
static int add_joined(struct metadata_list *list, const char *key, size_t key_len, const char *text,
                      size_t len)
{
    size_t from = 0;
    for (;;) {
        size_t to = from;
        size_t next;
        int rc;
        while (to < len && text[to] != ',') {
            to++;
        }
        next = to;
        while (from < to && is_blank(text[from])) {
            from++;
        }
        while (to > from && is_blank(text[to - 1])) {
            to--;
        }
        rc = add_base64(list, key, key_len, text + from, to - from);
        if (rc != LULL_OK || next == len) {
            return rc;
        }
        from = next + 1;
    }
}

int metadata_list_add_wire(struct metadata_list *list, const char *key, size_t key_len,
                           const void *value, size_t value_len)
{
    struct mark start = mark_of(list);
    int rc;
    if (!metadata_is_binary(key, key_len)) {
        return add_plain(list, key, key_len, value, value_len, value_len);
    }
    /* An empty value has no bytes to point at. */
    rc = add_joined(list, key, key_len, value_len == 0 ? "" : value, value_len);
    if (rc != LULL_OK) {
        go_back(list, start);
    }
    return rc;
}

struct lull_metadatum lull_metadatum_text(const char *key, const char *value)
{
    struct lull_metadatum pair;
    pair.key = key;
    pair.key_len = strlen(key);
    pair.value = value;
    pair.value_len = strlen(value);
    return pair;
}

static bool is_key(const struct lull_metadatum *item, const char *key, size_t key_len)
{
    return item->key_len == key_len && memcmp(item->key, key, key_len) == 0;
}

const struct lull_metadatum *lull_metadata_find(const struct lull_metadata *metadata,
                                                const char *key, size_t n)
{
    size_t key_len = strlen(key);
    for (size_t i = 0; metadata != NULL && i < metadata->count; i++) {
        if (is_key(&metadata->items[i], key, key_len) && n-- == 0) {
            return &metadata->items[i];
        }
    }
    return NULL;
}

/* Names that HTTP/2 forbids (RFC 9113 section 8.2.2) or that gRPC sets itself (PROTOCOL-HTTP2.md,
 * Requests). */
static const char *const owned_names[] = {
    "connection", "content-length",   "content-type", "host",
    "keep-alive", "proxy-connection", "te",           "transfer-encoding",
    "upgrade",    "user-agent",
};

static bool is_key_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_' || c == '-' || c == '.';
}

/* What is wrong with a key; NULL: nothing. */
static const char *key_fault(const struct lull_metadatum *item)
{
    if (item->key_len == 0 || item->key == NULL) {
        return "the key is empty";
    }
    if (item->key[0] == ':') {
        return "keys that start with ':' belong to HTTP/2";
    }
    for (size_t i = 0; i < item->key_len; i++) {
        if (item->key[i] >= 'A' && item->key[i] <= 'Z') {
            return "the key has an upper-case letter";
        }
        if (!is_key_char(item->key[i])) {
            return "the key has a character outside 0-9 a-z _ - .";
        }
    }
    if (item->key_len >= 5 && memcmp(item->key, "grpc-", 5) == 0) {
        return "keys that start with \"grpc-\" belong to gRPC";
    }
    for (size_t i = 0; i < sizeof(owned_names) / sizeof(owned_names[0]); i++) {
        if (is_key(item, owned_names[i], strlen(owned_names[i]))) {
            return "the key belongs to HTTP/2 or gRPC";
        }
    }
    return NULL;
}

static const char *value_fault(const struct lull_metadatum *item)
{
    const uint8_t *value = item->value;
    if (value == NULL && item->value_len != 0) {
        return "the value is NULL";
    }
    if (metadata_is_binary(item->key, item->key_len)) {
        return NULL;
    }
    return ascii_is_printable(value, item->value_len)
               ? NULL
               : "the value has a byte outside printable ASCII and the key does not end in \"-bin\"";
}

/* The key's end is looked at only if so long a key could be sent. */
static size_t pair_bytes(const struct lull_metadatum *item)
{
    size_t value_len = item->value_len;
    if (item->key != NULL && item->key_len <= METADATA_BLOCK_MAX_BYTES &&
        metadata_is_binary(item->key, item->key_len)) {
        value_len = base64_encoded_length(value_len);
    }
    return add_saturating(add_saturating(item->key_len, value_len), METADATA_FIELD_BYTES);
}

size_t metadata_block_bytes(const struct lull_metadata *metadata)
{
    size_t sum = 0;
    for (size_t i = 0; metadata != NULL && i < metadata->count; i++) {
        if (i == METADATA_BLOCK_MAX_BYTES / METADATA_FIELD_BYTES) {
            return SIZE_MAX;
        }
        sum = add_saturating(sum, pair_bytes(&metadata->items[i]));
    }
    return sum;
}

static LULL_COLD int fail_pair(struct lull_error *error, size_t i, const struct lull_metadatum *item,
                               const char *fault)
{
    /* Each byte shows as four at most. */
    char key[SHOWN_KEY_BYTES * 4 + 32];
    struct strbuf sb;
    strbuf_init(&sb, key, sizeof(key));
    strbuf_quoted(&sb, item->key, item->key == NULL ? 0 : item->key_len, SHOWN_KEY_BYTES);
    return rc_fail(error, LULL_RC_INVALID, "metadata[%zu] %s: %s", i, key, fault);
}

int metadata_check(const struct lull_metadata *metadata, size_t other, struct lull_error *error)
{
    const size_t count = metadata == NULL ? 0 : metadata->count;
    if (count != 0 && metadata->items == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "metadata items is NULL, and count is %zu", count);
    }
    /* First, so that a length that was never meant is not followed to the end of memory. */
    const size_t bytes = count == 0 ? other : add_saturating(metadata_block_bytes(metadata), other);
    if (bytes > METADATA_BLOCK_MAX_BYTES) {
        return rc_fail(error, LULL_RC_LIMIT,
                       "the metadata takes %zu bytes of a header block, of which at most %zu can be sent",
                       bytes, METADATA_BLOCK_MAX_BYTES);
    }
    for (size_t i = 0; i < count; i++) {
        const struct lull_metadatum *item = &metadata->items[i];
        const char *fault = key_fault(item);
        if (fault == NULL) {
            fault = value_fault(item);
        }
        if (fault != NULL) {
            return fail_pair(error, i, item, fault);
        }
    }
    return rc_ok(error);
}

int lull_metadata_check(const struct lull_metadata *metadata, struct lull_error *error)
{
    return metadata_check(metadata, 0, error);
}
