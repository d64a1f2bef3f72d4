#!/bin/sh
# SPDX-License-Identifier: MIT
#
# bad_input_table_test.sh [--update]: the tables of doc/BAD_INPUT.md are what the programs print today. Each program named in a line
# "<!-- rows of PROGRAM -->" is run, and its rows stand between that line and the next "<!-- end -->". With --update they are written.
set -eu
page=${srcdir:-$(dirname "$0")/../..}/doc/BAD_INPUT.md
build=${abs_top_builddir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
checks=0
failures=0

# The rows of a program; a test that is not in this build (TLS) has none, and its table is left alone.
rows() {
    if test -x "$build/$1"; then
        LULL_TEST_TABLE=$work/new CK_FORK=yes "$build/$1" >"$work/said" 2>&1 || {
            cat "$work/said"
            return 1
        }
    fi
}

programs=$(sed -n 's/^<!-- rows of \(.*\) -->$/\1/p' "$page")
for program in $programs; do
    : >"$work/new"
    checks=$((checks + 1))
    if ! rows "$program"; then
        failures=$((failures + 1))
        continue
    fi
    test -s "$work/new" || {
        echo "skipped: $program is not in this build"
        continue
    }
    awk -v program="$program" '
        $0 == "<!-- end -->" { is_in = 0 }
        is_in && /^\| / && !/^\| (input|---) / { print }
        $0 == "<!-- rows of " program " -->" { is_in = 1 }' "$page" >"$work/old"
    if test "${1:-}" = --update; then
        awk -v program="$program" -v new="$work/new" '
            $0 == "<!-- end -->" { is_in = 0 }
            !is_in { print }
            $0 == "<!-- rows of " program " -->" {
                is_in = 1
                print "\n| input | outcome | message |\n| --- | --- | --- |"
                while ((getline line < new) > 0) { print line }
                print ""
            }' "$page" >"$work/page"
        cat "$work/page" >"$page"
    elif diff -u "$work/old" "$work/new"; then
        echo "ok: $(wc -l <"$work/new") rows of $program"
    else
        failures=$((failures + 1))
        echo "not ok: doc/BAD_INPUT.md is not what $program prints; $0 --update writes it"
    fi
done
test "$checks" -gt 0
printf 'Checks: %d, Failures: %d, Errors: 0\n' "$checks" "$failures"
test "$failures" -eq 0
