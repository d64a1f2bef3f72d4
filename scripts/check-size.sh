#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-size.sh [ROOT]: no file past 600 lines, no function past 70.
#
# A function is what stands between a { in column 0 and the next } in column 0, both counted. What is over the limit may stand in
# doc/allow-size.txt, one a line:
#
#   YYYY-MM-DD path lines             a file
#   YYYY-MM-DD path:function lines    a function
#
# The list may only shrink: it was closed on the day below, an entry may not grow, and one that is no longer needed must go.
set -eu
closed_on=2026-12-01
file_limit=600
function_limit=70

root=${1:-$(dirname "$0")/..}
cd "$root"

list=doc/allow-size.txt
test -f "$list" || list=/dev/null

find src include tool testkit tests examples -type f \
    '(' -name '*.[ch]' -o -name '*.sh' -o -name '*.py' -o -name '*.mk' -o -name setup ')' 2>/dev/null |
LC_ALL=C sort | {
    set --
    while IFS= read -r file; do
        set -- "$@" "$file"
    done
    awk -v closed_on="$closed_on" -v file_limit="$file_limit" -v function_limit="$function_limit" -v list="$list" '
        function fault(text) {
            print text
            faults++
        }
        # Past the limit: over is a fault, unless the list allows as much.
        function judge(what, lines, limit) {
            if (lines <= limit)
                return
            if (what in allowed) {
                needed[what] = 1
                if (lines > allowed[what])
                    fault(what ": grew to " lines " lines, " list " allows " allowed[what])
            } else {
                fault(what ": " lines " lines, the limit is " limit)
            }
        }
        function close_file() {
            if (path != "")
                judge(path, lines, file_limit)
        }

        FILENAME == list {
            sub(/#.*/, "")
            if (NF == 0)
                next
            if (NF != 3 || $1 !~ /^[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]$/ || $3 !~ /^[0-9]+$/)
                fault(list ":" FNR ": cannot read this line")
            else if ($1 > closed_on)
                fault(list ":" FNR ": the list was closed on " closed_on)
            else
                allowed[$2] = $3 + 0
            next
        }

        FNR == 1 {
            close_file()
            path = FILENAME
            is_c = path ~ /\.[ch]$/
            start = 0
            name = "?"
        }
        { lines = FNR }
        !is_c { next }

        # The last line in column 0 with a name before a ( is the one that a { in column 0 belongs to.
        /^[A-Za-z_].*\(/ {
            name = $0
            if (name ~ /^START_TEST[ \t]*\(/)
                sub(/^START_TEST[ \t]*\([ \t]*/, "", name)
            else
                sub(/[ \t]*\(.*/, "", name)
            if (match(name, /[A-Za-z0-9_]+$/))
                name = substr(name, RSTART, RLENGTH)
            else
                sub(/[^A-Za-z0-9_].*/, "", name)
        }
        /^\{/ { start = FNR }
        /^\}/ {
            if (start > 0)
                judge(path ":" name, FNR - start + 1, function_limit)
            start = 0
        }

        END {
            close_file()
            for (what in allowed)
                if (!(what in needed))
                    fault(what ": fits again or is gone; take it off " list)
            if (faults > 0) {
                printf "check-size: %d fault(s)\n", faults
                exit 1
            }
            print "check-size: every file and function fits"
        }
    ' "$list" "$@"
}
