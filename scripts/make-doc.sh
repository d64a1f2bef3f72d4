#!/bin/sh
# SPDX-License-Identifier: MIT
#
# make-doc.sh OUT VERSION: the reference of the API, OUT/html and OUT/man/man3, by Doxygen; a warning of it is a fault. `make doc` runs it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/.." && pwd)
out=$1
version=$2
command -v doxygen >/dev/null 2>&1 || {
    echo "make-doc: doxygen was not found; on Debian: apt-get install doxygen" >&2
    exit 1
}

rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
sed -e "s|@TOP@|$top|g" -e "s|@OUT@|$out|g" -e "s|@VERSION@|$version|g" "$top/doc/Doxyfile.in" >"$out/Doxyfile"
doxygen "$out/Doxyfile"
rm "$out/Doxyfile"

# There is a page for each header and each struct, and one that refers to it for each name in it. Pages of fields ("size") and headers
# ("call.h") would be in everybody's way, so the former go and the latter get our name; the day of the build is not in them.
cd "$out/man/man3"
for page in *; do
    case $page in
    *.h.3) name=lull_$page ;;
    lull_* | LULL_*) name=$page ;;
    *) rm -f -- "$page" && continue ;;
    esac
    # "lull/sync.h" of the heading is what a program includes.
    include=$(sed -n -e 's|^\.TH "\([a-z_/]*\)\.h".*|\\\\fC#include <\1.h>\\\\fP|p' -e 1q "$page")
    sed -e "s|^\.SH SYNOPSIS\$|&\n.PP\n$include|" -e 's|^\.so man3/\([a-z]*\.h\.3\)$|.so man3/lull_\1|' -e 's|^\(\.TH "[^"]*" 3 \)"[^"]*"|\1""|' -e "s|^'|\\\\\&'|" "$page" >"$name.new"
    rm -- "$page"
    mv -- "$name.new" "$name"
done
