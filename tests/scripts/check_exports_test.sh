#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/check-exports.sh catches what it is there for, on a shared library of two functions.
set -eu
. "$(dirname "$0")/plant.sh"

check() { sh "$top/scripts/check-exports.sh" --root "$tree" --lib "$tree/liblull.so"; }

# map NAME...: the export list with these public names.
map() {
    {
        printf '/* { not: a; node } */\nLULL_0 {\nglobal:\n'
        printf '    %s;\n' "$@"
        printf 'local:\n    *;\n};\nLULL_PRIVATE {\n};\n'
    } | put src/liblull.map
}

# build: the library as its source and its map are now.
build() {
    ${CC:-cc} -shared -fPIC -Wl,--version-script="$tree/src/liblull.map" -o "$tree/liblull.so" "$tree/lib.c"
}

# header LINE...: the public header.
header() {
    { printf '#define LULL_API __attribute__((visibility("default"), \\\n    unused))\n' && printf '%s\n' "$@"; } |
        put include/lull/a.h
}
one='/** Says LULL_API lull_never(void); in a comment. */
LULL_API const char *lull_one(
    int a, int (*then)(void *));'
two='static inline int lull_inline(void) { return 1; }
LULL_API int lull_two(void);'

echo 'int lull_one(void); int lull_one(void) { return 1; } int lull_two(void); int lull_two(void) { return 2; }' | put lib.c
header "$one" "$two"
map lull_one lull_two
build
passes "three equal lists" check

header "$one" "$two" 'LULL_API void lull_three(void);'
catches "declared, not in the map" "declared LULL_API, not in src/liblull.map: lull_three" check
header "$one"
catches "in the map, not declared" "not declared LULL_API: lull_two" check
header "$one" "$two"

map lull_one
build
map lull_one lull_two
catches "in the map, not exported" "not exported by the library: lull_two" check
map lull_one lull_two lull_ghost
header "$one" "$two" 'LULL_API void lull_ghost(void);'
build
catches "declared and in the map, but nobody wrote it" "not exported by the library: lull_ghost" check

header "$one" "$two"
map 'lull_*'
build
catches "a pattern in the map" "the map names a pattern: lull_*" check
map lull_one lull_two
echo 'int noun_verb(void); int noun_verb(void) { return 0; }' >>"$tree/lib.c"
${CC:-cc} -shared -fPIC -o "$tree/liblull.so" "$tree/lib.c"
catches "exported though internal" "exported by the library, not in src/liblull.map: noun_verb" check

map lull_old
sh "$top/scripts/check-exports.sh" --root "$tree" --update
build
passes "--update writes the declared names" check

printf 'AC_INIT([lull], [9.1])\n' | put configure.ac
printf 'liblull.so.0 liblull0 #MINVER#\n LULL_0@LULL_0 0.3\n lull_one@LULL_0 0.3\n lull_gone@LULL_0 0.3\n' | put debian/liblull0.symbols
catches "Debian's list is behind" "declared LULL_API, not in debian/liblull0.symbols: lull_two" check
catches "Debian's list names what is gone" "in debian/liblull0.symbols, not declared LULL_API: lull_gone" check
sh "$top/scripts/check-exports.sh" --root "$tree" --update
passes "--update writes Debian's list" check
passes "what was there keeps its version" grep -qx ' lull_one@LULL_0 0.3' "$tree/debian/liblull0.symbols"
passes "what is new has this one" grep -qx ' lull_two@LULL_0 9.1' "$tree/debian/liblull0.symbols"

# 77 is a skip for the test harness: headers and map were compared, the library was not.
drop liblull.so
cases=$((cases + 1))
run check
if test "$status" -ne 77; then
    wrong=$((wrong + 1))
    printf 'not ok: no library is a skip: exit status %s, said:\n%s\n' "$status" "$said"
fi

finish
