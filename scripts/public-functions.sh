#!/bin/sh
# SPDX-License-Identifier: MIT
#
# public-functions.sh HEADER...: the names that are declared LULL_API in these headers, sorted, one a line.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
test $# -gt 0 || exit 0

# A preprocessor line ends a statement too; what is left is read up to each ; or brace.
for header in "$@"; do
    awk -f "$here/strip-c.awk" "$header" | awk '
        continued || /^[ \t]*#/ { continued = /\\$/; print ";"; next }
        { print }
    '
done | tr '\n\t' '  ' | tr '{}' ';;' | tr ';' '\n' | awk '
    !/(^|[^A-Za-z0-9_])LULL_API([^A-Za-z0-9_]|$)/ { next }
    {
        if (match($0, /lull_[a-z0-9_]+[ ]*\(/))
            name = substr($0, RSTART, RLENGTH - 1)
        else if (match($0, /lull_[a-z0-9_]+[ ]*(\[.*)?$/))
            name = substr($0, RSTART, RLENGTH)
        else {
            print "public-functions: cannot read: " $0 | "cat >&2"
            exit 1
        }
        gsub(/[ ]|\[.*/, "", name)
        print name
    }
' | LC_ALL=C sort -u
