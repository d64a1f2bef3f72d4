#!/bin/sh
# SPDX-License-Identifier: MIT
#
# abi-since-tag.sh BUILD: is the library as it is a stand-in for the one of the newest release? Run by `qa.sh abi`; BUILD is a built tree.
#
# The newest tag v* is built beside it and abidiff compares the two libraries, by their debugging information: a function that went is a
# fault, what changed in types is told, with who sees it. Whether a type changed so that a program would notice is judged by doc/lull.abi of that tag.
# Without a tag there is nothing to stand in for, which is said, and no fault.
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)

tag=$(git describe --tags --abbrev=0 --match 'v*' HEAD 2>/dev/null) || {
    echo "abi: no release is tagged yet: nothing to compare with; what there is, doc/lull.abi:"
    CC=${CC:-cc} sh scripts/check-abi.sh
    exit 0
}
command -v abidiff >/dev/null 2>&1 || {
    echo "abi: abidiff was not found; on Debian: apt-get install abigail-tools" >&2
    exit 1
}

then=$build/then
rm -rf "$then"
mkdir -p "$then/build"
git archive "$tag" | tar -x -C "$then"
echo "abi: building $tag"
(cd "$then" && ./autogen.sh && cd build && ../configure --quiet CFLAGS='-g -O1' && make -j"$(nproc)" liblull.la) >"$then/log" 2>&1 || {
    tail -n 20 "$then/log"
    echo "abi: $tag does not build here"
    exit 1
}

faults=0
# A new soname is the way to say that the two are not the same: then nothing is compared.
soname() { objdump -p "$1" | awk '$1 == "SONAME" { print $2 }'; }
was=$(soname "$then/build/.libs/liblull.so")
is=$(soname "$build/.libs/liblull.so")
if test "$was" != "$is"; then
    echo "abi: $tag was $was, this is $is: programs are built anew"
    exit 0
fi
# Bit 3 of its status: something is gone. Bit 2, types that changed, is what the table judges. Bits 0 and 1: abidiff itself failed.
status=0
abidiff --headers-dir1 "$then/include" --headers-dir2 include "$then/build/.libs/liblull.so" "$build/.libs/liblull.so" || status=$?
test $((status & 3)) -eq 0 || exit 1
test $((status & 8)) -eq 0 || faults=1
git show "$tag:doc/lull.abi" | sh scripts/check-abi.sh --since - || faults=1
test "$faults" -eq 0 || exit 1
echo "abi: programs built with $tag run with this library"
