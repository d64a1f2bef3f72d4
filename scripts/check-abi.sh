#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-abi.sh [--root ROOT]: what a compiled program knows of the public headers is what doc/lull.abi says: sizes, offsets and types of
# fields, values of enumerators and constants, prototypes. The table is that of a system where long and pointers have 64 bits.
#
#   --update        writes the table; read the diff before you commit it
#   --since TABLE   compares with the table of an earlier release ("-": standard input): what is only new passes, what is gone or
#                   changed fails, for a program that was built then does not run now. A struct that begins with its size may grow at
#                   its end.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/..
mode=same
since=
while test $# -gt 0; do
    case $1 in
    --root) root=$2 && shift 2 ;;
    --update) mode=update && shift ;;
    --since) mode=since && since=$2 && shift 2 ;;
    *) echo "check-abi: what is $1?" >&2 && exit 2 ;;
    esac
done
table=$root/doc/lull.abi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

if ! echo 'char is_64[sizeof(long) == 8 && sizeof(void *) == 8 ? 1 : -1];' | ${CC:-cc} -x c -fsyntax-only - 2>/dev/null; then
    echo "check-abi: the table is of systems whose long and pointers have 64 bits"
    exit 77
fi

# Adapters are compiled into the program itself, so nothing of them is in the library.
find "$root/include/lull" -name '*.h' ! -path '*/adapters/*' | LC_ALL=C sort | {
    set --
    while IFS= read -r header; do
        set -- "$@" "$header"
    done
    awk -f "$here/strip-c.awk" "$@"
} >"$work/headers"
awk -f "$here/check-abi.awk" "$work/headers" >"$work/print.c"
${CC:-cc} -std=c11 -I"$root/include" -o "$work/print" "$work/print.c"
"$work/print" >"$work/now" || {
    echo "check-abi: what $CC compiles does not run here"
    exit 77
}
test -s "$work/now"

case $mode in
update)
    mkdir -p "$root/doc"
    cp "$work/now" "$table"
    exit 0
    ;;
since) cat -- "$since" >"$work/then" ;;
same) cp "$table" "$work/then" ;;
esac

LC_ALL=C sort "$work/then" >"$work/then.sorted"
LC_ALL=C sort "$work/now" >"$work/now.sorted"
LC_ALL=C comm -23 "$work/then.sorted" "$work/now.sorted" >"$work/gone"
LC_ALL=C comm -13 "$work/then.sorted" "$work/now.sorted" >"$work/new"

# What a program that was built then would notice: all that is gone, and a field that is new where something was. A struct that begins with
# its size may have grown: its line is gone, and all that is new in it stands behind its old end.
awk '
    FNR == 1 { file++ }
    { key = $1 " " $2; split($3, number, "="); is_whole = /^struct lull_[a-z0-9_]+ bytes=/; is_field = /^struct lull_[a-z0-9_]+ at=/ }
    file == 1 && is_whole { old_bytes[key] = number[2]; old_align[key] = $4 }
    file == 1 && is_field && $3 == "at=0" && $4 == "bytes=8" && $5 == "size_t" && $6 == "size" { is_sized[key] = 1 }
    file == 2 && is_whole { bytes[key] = number[2]; align[key] = $4 }
    file == 2 && is_field && (key in old_bytes) && number[2] + 0 < old_bytes[key] + 0 { print "in the place of something: " $0 }
    file == 3 && is_whole && (key in is_sized) && bytes[key] + 0 > old_bytes[key] + 0 && align[key] == old_align[key] { next }
    file == 3
' "$work/then" "$work/new" "$work/gone" >"$work/broken"

if test "$mode" = since; then
    sed 's/^/check-abi: gone or changed: /' "$work/broken"
    if test -s "$work/broken"; then
        echo "check-abi: programs built with that release would not run with this library: it needs a new soname (doc/RELEASING.md)"
        exit 1
    fi
    echo "check-abi: nothing of $(wc -l <"$work/then") lines is gone or changed, $(wc -l <"$work/new") are new"
    exit 0
fi
if test -s "$work/gone" || test -s "$work/new"; then
    sed 's/^/check-abi: gone or changed: /' "$work/gone"
    sed 's/^/check-abi: new:  /' "$work/new"
    if test -s "$work/broken"; then
        echo "check-abi: programs would have to be built anew. If that is meant: scripts/check-abi.sh --update, and doc/RELEASING.md on sonames"
    else
        echo "check-abi: only additions. Write them down: scripts/check-abi.sh --update"
    fi
    exit 1
fi
echo "check-abi: $(wc -l <"$work/now") lines, as doc/lull.abi says"
