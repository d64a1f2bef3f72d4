#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/check-weight.sh weighs what is stripped, and what is released.
set -eu
. "$(dirname "$0")/plant.sh"

check() { CFLAGS=${flags--O2} FLAGS=${sanitizer-} sh "$top/scripts/check-weight.sh" --lib "$tree/liblull.so" "$@"; }

echo 'int one(void); int one(void) { return 1; } const char heavy[20000] = "x";' | put one.c
${CC:-cc} -g -shared -fPIC -o "$tree/liblull.so" "$tree/one.c"
passes "within the limit" check --limit 60000
catches "too heavy" "too heavy by" check --limit 20000
flags=-O0
run check --limit 1
passes "not optimised: not looked at" test "$status" -eq 77
flags=-O2 sanitizer=-fsanitize=address
run check --limit 1
passes "a sanitizer: not looked at" test "$status" -eq 77
finish
