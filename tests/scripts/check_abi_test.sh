#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/check-abi.sh catches what it is there for, on one small header.
set -eu
. "$(dirname "$0")/plant.sh"

check() { sh "$top/scripts/check-abi.sh" --root "$tree" "$@"; }

# header: the public header, with what the variables say.
header() {
    put include/lull/lull.h <<H
/* struct lull_never { int a; }; */
#ifndef LULL_H
#define LULL_H
#include <stddef.h>
#include <stdint.h>
#define LULL_API __attribute__((visibility("default")))
#define LULL_LIMIT $limit
#define LULL_VERSION "0.3"
#ifdef __cplusplus
extern "C" {
#endif
struct lull_thing;
enum lull_kind { LULL_KIND_A = 0, LULL_KIND_B = $value };
struct lull_options {
    size_t size; /**< [borrow]; not a field; either */
    $type a, *b;
    int (*hook)(void *ctx, int n);
    struct {
        int x;
        int y;
    } held[2];
$more};
struct lull_pair { int32_t one; int32_t two; $pair};
typedef void (*lull_fn)(struct lull_thing *thing);
static inline void lull_options_init(struct lull_options *options)
{
    if (options != NULL) {
        options->size = sizeof(*options);
    }
}
LULL_API int lull_thing_new(const struct lull_options *options, $argument);
#ifdef __cplusplus
}
#endif
#endif
H
}
usual() { limit=4 value=1 type=int64_t more='' pair='' argument='struct lull_thing **out'; }

usual
header
cc_is_64=0
check --update || cc_is_64=$?
test "$cc_is_64" -ne 77 || exit 77
cp "$tree/doc/lull.abi" "$tree/then"
passes "the same" check
passes "the same since then" check --since "$tree/then"
run cat "$tree/doc/lull.abi"
for line in 'LULL_LIMIT=4' 'enum lull_kind LULL_KIND_B=1' 'struct lull_options bytes=48 align=8' 'struct lull_options at=16 bytes=8 int64_t *b' \
    'struct lull_options at=24 bytes=8 int (*hook)(void *ctx, int n)' 'typedef void (*lull_fn)(struct lull_thing *thing)' \
    'int lull_thing_new(const struct lull_options *options, struct lull_thing **out)'; do
    passes "the table has: $line" grep -qxF -e "$line" "$tree/doc/lull.abi"
done
catches "a comment is no struct" "no such line" sh -c "grep -q never '$tree/doc/lull.abi' || { echo no such line; exit 1; }"

# each NAME TEXT: the header has changed, and an older program would not run.
each() {
    header
    catches "$1" "$2" check
    catches "$1, since then" "$2" check --since "$tree/then"
    usual
}
value=2 && each "an enumerator of another value" 'gone or changed: enum lull_kind LULL_KIND_B=1'
limit=5 && each "a constant of another value" 'gone or changed: LULL_LIMIT=4'
type=int32_t && each "a field that became smaller" 'gone or changed: struct lull_options at=16 bytes=8 int64_t *b'
type=uint64_t && each "a field of another type" 'gone or changed: struct lull_options at=8 bytes=8 int64_t a'
pair='int32_t three; ' && each "a struct without a size that grew" 'gone or changed: struct lull_pair bytes=8 align=4'
argument='struct lull_thing **out, int flags' && each "another prototype" 'gone or changed: int lull_thing_new('

more='    int32_t later;
'
header
catches "a struct with a size that grew is to be written down" "only additions" check
passes "a struct with a size may grow" check --since "$tree/then"
check --update
passes "written down" check
cp "$tree/doc/lull.abi" "$tree/then"
more='    int32_t later, too;
'
header
catches "in padding nobody says how old the program is" "in the place of something: struct lull_options at=52" check --since "$tree/then"
more=''
header
catches "and may not shrink" "gone or changed: struct lull_options at=48 bytes=4 int32_t later" check --since "$tree/then"

more='    unsigned bit : 1;
'
header
catches "what cannot be read is a fault" "cannot read: unsigned bit : 1" check

finish
