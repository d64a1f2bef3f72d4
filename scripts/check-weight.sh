#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-weight.sh [--lib LIBLULL.SO] [--limit BYTES]: the shared library, stripped, weighs no more than 300 KiB.
#
# Of a build as it is released: CFLAGS with -O2, or by hand none, and no sanitizer (FLAGS). Other processors need more or less for the
# same program: there the weight is told, and is no fault.
set -eu
lib=${abs_top_builddir:-.}/.libs/liblull.so
limit=$((300 * 1024))
while test $# -gt 0; do
    case $1 in
    --lib) lib=$2 && shift 2 ;;
    --limit) limit=$2 && shift 2 ;;
    *) echo "check-weight: what is $1?" >&2 && exit 2 ;;
    esac
done

case " ${CFLAGS--O2} " in
*' -O2 '*) ;;
*) echo "check-weight: CFLAGS are ${CFLAGS-}, a release is built with -O2" && exit 77 ;;
esac
test -z "${FLAGS-}" || {
    echo "check-weight: a build with $FLAGS is no release"
    exit 77
}
test -f "$lib" || {
    echo "check-weight: no shared library at $lib"
    exit 77
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cp "$lib" "$work/liblull.so"
${STRIP:-strip} "$work/liblull.so"
${SIZE:-size} "$work/liblull.so"
bytes=$(wc -c <"$work/liblull.so")
echo "check-weight: $bytes bytes stripped, of $limit"
test "$bytes" -le "$limit" || test "$(uname -m)" != x86_64 || {
    echo "check-weight: too heavy by $((bytes - limit)) bytes"
    exit 1
}
