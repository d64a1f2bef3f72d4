#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-size.sh [ROOT]: no file past 600 lines, no function past 70.
#
# A function is counted from its { to its }, wherever they stand; braces that do not balance in one of the branches of an #if are a
# fault, because nobody could count them. What is over the limit may stand in doc/allow-size.txt, one a line:
#
#   YYYY-MM-DD path lines             a file
#   YYYY-MM-DD path:function lines    a function
#
# The list may only shrink: it was closed on the day below, an entry may not grow, and one that is no longer needed must go.
set -eu
closed_on=2026-12-01
file_limit=600
function_limit=70

here=$(cd "$(dirname "$0")" && pwd)
root=${1:-$here/..}
cd "$root"

list=doc/allow-size.txt
test -f "$list" || list=/dev/null

find src include tool testkit tests examples scripts quickstart autogen.sh .ci -type f \
    '(' -name '*.[ch]' -o -name '*.inc' -o -name '*.inl' -o -name '*.def' -o -name '*.sh' -o -name '*.awk' -o -name '*.py' \
    -o -name '*.mk' -o -name setup -o -name quickstart -o -name run ')' 2>/dev/null |
LC_ALL=C sort | {
    set --
    while IFS= read -r file; do
        set -- "$@" "$file"
    done
    if test $# -eq 0; then
        echo "check-size: no file under $root" >&2
        exit 1
    fi
    awk -v where=1 -f "$here/strip-c.awk" "$@" |
        awk -v closed_on="$closed_on" -v file_limit="$file_limit" -v function_limit="$function_limit" -v list="$list" \
            -f "$here/check-size.awk"
}
