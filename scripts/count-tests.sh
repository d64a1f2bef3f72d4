#!/bin/sh
# SPDX-License-Identifier: MIT
#
# count-tests.sh BUILD <NAMES: counts the results that `make check` left in BUILD for these tests, a name without suffix a line. The last
# line is "PASSED FAILED SKIPPED", before it stands a line about each test that did not pass.
#
# A test counts by the cases of its "Checks: a, Failures: b, Errors: c" lines, of all of them if there are several; a script without
# one as one case. One more failed where the cases do not say it themselves: a test that left no result, or one that is neither PASS
# nor, for a script, SKIP; a program without such a line, because it never came to the end of its cases; and a line with no
# checks, because nothing was looked at.
set -eu
build=${1:?count-tests: which build?}
passed=0
failed=0
skipped=0

# summaries LOG: how many there are, how many of them have no checks, and the sums of checks and of what failed.
summaries() {
    sed -n 's/^.*Checks: *\([0-9][0-9]*\), Failures: *\([0-9][0-9]*\), Errors: *\([0-9][0-9]*\).*$/\1 \2 \3/p' "$1" 2>/dev/null |
        awk '{ empty += $1 == 0; checks += $1; wrong += $2 + $3 } END { print NR, empty + 0, checks + 0, wrong + 0 }'
}

while IFS= read -r name || test -n "$name"; do
    test -n "$name" || continue
    result=$(sed -n 's/^:test-result: *\([A-Z]*\).*/\1/p' "$build/$name.trs" 2>/dev/null | tail -n 1)
    IFS=' ' read -r count empty checks wrong <<SUMS
$(summaries "$build/$name.log")
SUMS
    is_program=no
    test -f "$build/$name" && is_program=yes

    if test "$is_program" = no && test "$result" = SKIP; then
        skipped=$((skipped + 1))
        echo "skipped: $name"
        continue
    fi
    if test "$is_program" = no && test "$result" = PASS && test "$count" -eq 0; then
        passed=$((passed + 1))
        continue
    fi
    if test "$count" -eq 0; then
        why="${result:-no result}, no summary"
    elif test "$empty" -gt 0; then
        why="${result:-no result}, a summary of no checks"
    elif test "$wrong" -gt "$checks"; then
        why="$wrong failed of $checks"
    elif test "$result" != PASS && test "$wrong" -eq 0; then
        # Its exit status says more than its summary does.
        why="${result:-no result}, though all of $checks passed"
    else
        why=
        test "$wrong" -eq 0 || echo "failed: $name ($wrong of $checks)"
    fi
    if test -n "$why"; then
        failed=$((failed + 1))
        echo "failed: $name ($why)"
    fi
    failed=$((failed + wrong))
    test "$wrong" -gt "$checks" || passed=$((passed + checks - wrong))
done
echo "$passed $failed $skipped"
