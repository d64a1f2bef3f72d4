#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-asserting.sh [--root ROOT]: the asserting mode of recyclers, off, changes no instruction.
#
# The recycler is compiled three times with the build's compiler at -O2: as it is; with each line that calls a hook (asserting_...)
# emptied and without the header that defines them; and in the asserting mode. The first two must be the same instructions, the
# third must not be, or nothing was compared. Needs objdump, which comes with the compiler's binutils.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/..
if test "${1-}" = --root; then
    root=$2
fi
root=$(cd "$root" && pwd)
sources='src/base/recycler.c src/base/recycler_port.c'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# tree NAME: a copy of what the recycler is made of; the same relative names, since a trap tells its file.
tree() {
    mkdir -p "$work/$1/src/base" "$work/$1/include"
    cp "$root"/src/base/*.h "$work/$1/src/base"
    cp -R "$root/include/lull" "$work/$1/include"
    for source in $sources; do
        cp "$root/$source" "$work/$1/src/base"
    done
}

# code NAME FLAG...: its instructions, relocations included.
code() {
    name=$1 && shift
    for source in $sources; do
        object=$(basename "$source" .c).o
        (cd "$work/$name" && ${CC:-cc} -std=gnu11 -O2 -Werror=implicit-function-declaration -Iinclude -Isrc -I. "$@" -c "$source" -o "$object") || return 1
        (cd "$work/$name" && ${OBJDUMP:-objdump} -d -r --no-show-raw-insn "$object") || return 1
    done >"$work/$name.raw"
    # The compiler numbers its string literals, those of the hooks too.
    sed 's/\.L[A-Za-z.]*[0-9][0-9]*/.L/' "$work/$name.raw" >"$work/$name.code"
}

tree plain
tree stripped
tree asserting
hooks=0
for file in recycler_parts.h recycler.c recycler_port.c; do
    file=$work/stripped/src/base/$file
    hooks=$((hooks + $(grep -c 'asserting_[a-z_]*(' "$file" || :)))
    # The lines stay, so that __LINE__ does.
    sed -e 's/^ *asserting_[a-z_]*(.*);$//' -e 's/^#include "base\/recycler_asserting.h"$//' "$file" >"$work/file"
    cat "$work/file" >"$file"
done
rm -f "$work/stripped/src/base/recycler_asserting.h"
if test "$hooks" -eq 0; then
    echo "check-asserting: no hook in the recycler: nothing to compare"
    exit 1
fi

code plain
if ! code stripped 2>"$work/errors"; then
    cat "$work/errors"
    echo "check-asserting: a hook does not stand alone on its line"
    exit 1
fi
code asserting -DLULL_ASSERTING_POOL
if ! diff "$work/plain.code" "$work/stripped.code" >"$work/diff"; then
    head -n 20 "$work/diff"
    echo "check-asserting: the asserting mode changes the recycler though it is off"
    exit 1
fi
if diff "$work/plain.code" "$work/asserting.code" >"$work/diff"; then
    echo "check-asserting: the asserting mode does nothing"
    exit 1
fi
echo "check-asserting: $hooks hooks, $(grep -c '^ *[0-9a-f]*:' "$work/plain.code") instructions, none of a hook's when it is off"
