#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-layers.sh [ROOT]: every #include keeps to the layers of doc/LAYERS.txt.
#
#   src/          own directory or a lower layer, written "dir/file.h"; the same for public headers, by their `public` and
#                 `only` lines; operating system headers only in loop and net, but for the `system` lines; policy only
#                 C headers without allocation, files or time; other libraries only by a `library` line. No prototype of
#                 somebody else's function in a .c file, and no file I/O above base but in loop and net.
#   include/lull  C headers and each other (adapters/ may include the library that it adapts to)
#   tool/, examples/, testkit/, tests/   other libraries only by a `library` line; tool/ and examples/ never src/
#
# An include names its file by a literal and its file ends in .h, so that what this script reads is all there is.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=${1:-$here/..}
cd "$root"
if ! test -f doc/LAYERS.txt; then
    echo "check-layers: no doc/LAYERS.txt under $root" >&2
    exit 1
fi

faults=0
# C under another name would be read by the compiler and by nobody else.
if find src include tool examples testkit tests -type f '(' -name '*.inc' -o -name '*.inl' -o -name '*.def' -o -name '*.tbl' \
    -o -name '*.c.*' -o -name '*.h.*' -o -name '*.[CHSsxi]' -o -name '*.cc' -o -name '*.cpp' -o -name '*.cxx' \
    -o -name '*.hh' -o -name '*.hpp' -o -name '*.hxx' ')' 2>/dev/null |
    LC_ALL=C sort | sed 's/$/: C source is called .c or .h here/' | grep .; then
    faults=1
fi

find src include tool examples testkit tests -name '*.[ch]' 2>/dev/null | LC_ALL=C sort | {
    set --
    while IFS= read -r file; do
        set -- "$@" "$file"
    done
    if test $# -eq 0; then
        echo "check-layers: no source file under $root" >&2
        exit 1
    fi
    awk -v keep=1 -v where=1 -f "$here/strip-c.awk" "$@" | awk -v faults="$faults" -f "$here/check-layers.awk"
}
