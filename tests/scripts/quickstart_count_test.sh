#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/count-tests.sh, what ./quickstart test counts with: nothing that did not run is counted as passed.
set -eu
. "$(dirname "$0")/plant.sh"

# program NAME: what the build leaves of a program; result NAME RESULT and log NAME LINE...: what a run leaves of any test.
program() { echo x | put "$1"; }
result() { printf ':test-result: %s\n:global-test-result: %s\n' "$2" "$2" | put "$1.trs"; }
log() {
    log_of=$1 && shift
    printf '%s\n' "$@" | put "$log_of.log"
}

# counts WHAT "PASSED FAILED SKIPPED" TEXT NAME...: the last line, and a line with TEXT before it unless TEXT is empty.
counts() {
    what=$1 sums=$2 text=$3 && shift 3
    cases=$((cases + 1))
    status=0
    said=$(printf '%s\n' "$@" | sh "$top/scripts/count-tests.sh" "$tree") || status=$?
    if test "$status" -ne 0 || test "$(printf '%s\n' "$said" | tail -n 1)" != "$sums" ||
        ! printf '%s\n' "$said" | grep -qF -e "$text"; then
        wrong=$((wrong + 1))
        printf 'not ok: %s: exit status %s, not "%s" with "%s"; said:\n%s\n' "$what" "$status" "$sums" "$text" "$said"
    fi
    if test -z "$text" && test "$(printf '%s\n' "$said" | wc -l)" -ne 1; then
        wrong=$((wrong + 1))
        printf 'not ok: %s: nothing failed, but it said:\n%s\n' "$what" "$said"
    fi
}

program a
result a PASS
log a 'Running suite(s): a' '100%: Checks: 12, Failures: 0, Errors: 0'
counts "a program that passed" "12 0 0" "" a
log a '66%: Checks: 12, Failures: 3, Errors: 1' 'a.c:1:F: no'
counts "failed cases, though the result is PASS" "8 4 0" "failed: a (4 of 12)" a
result a FAIL
counts "failed cases" "8 4 0" "failed: a (4 of 12)" a
log a '100%: Checks: 12, Failures: 0, Errors: 0'
counts "an exit status that says more than the summary" "12 1 0" "failed: a (FAIL, though all of 12 passed)" a
result a ERROR
counts "a hard error" "12 1 0" "failed: a (ERROR" a

result a PASS
log a '100%: Checks: 0, Failures: 0, Errors: 0'
counts "a program with no checks" "0 1 0" "failed: a (PASS, a summary of no checks)" a
log a 'Running suite(s): a'
counts "a program without a summary" "0 1 0" "failed: a (PASS, no summary)" a
drop a.log
counts "a program without a log" "0 1 0" "failed: a (PASS, no summary)" a
result a FAIL
counts "a program that crashed" "0 1 0" "failed: a (FAIL, no summary)" a
result a SKIP
log a '100%: Checks: 3, Failures: 0, Errors: 0'
counts "a program that says it was skipped" "3 1 0" "failed: a (SKIP" a
drop a.trs
counts "a program without a result" "3 1 0" "failed: a (no result" a

result a PASS
log a '100%: Checks: 3, Failures: 0, Errors: 0' 'x' '80%: Checks: 5, Failures: 1, Errors: 0' '100%: Checks: 2, Failures: 0, Errors: 0'
counts "several summaries" "9 1 0" "failed: a (1 of 10)" a
log a '100%: Checks: 3, Failures: 0, Errors: 0' '100%: Checks: 0, Failures: 0, Errors: 0'
counts "one of several with no checks" "3 1 0" "a summary of no checks" a
log a '100%: Checks: 0, Failures: 0, Errors: 0' '100%: Checks: 3, Failures: 0, Errors: 0'
counts "the first of several with no checks" "3 1 0" "a summary of no checks" a
log a 'Checks: 1, Failures: 2, Errors: 0'
counts "a summary that cannot be" "0 3 0" "2 failed of 1" a

# Scripts: no file of that name is in the build tree.
result s PASS
counts "a script that passed" "1 0 0" "" s
log s 'Checks: 7, Failures: 0, Errors: 0'
counts "a script with cases of its own" "7 0 0" "" s
log s 'Checks: 0, Failures: 0, Errors: 0'
counts "a script with no checks" "0 1 0" "failed: s (PASS, a summary of no checks)" s
drop s.log
result s SKIP
counts "a script that was skipped" "0 0 1" "skipped: s" s
for bad in FAIL XPASS XFAIL ERROR; do
    result s $bad
    counts "a script with $bad" "0 1 0" "failed: s ($bad, no summary)" s
done
drop s.trs
counts "a script without a result" "0 1 0" "failed: s (no result, no summary)" s

mkdir -p "$tree/tests/unit"
for name in b c; do
    program tests/unit/$name
    result tests/unit/$name PASS
    log tests/unit/$name '100%: Checks: 10, Failures: 0, Errors: 0'
done
result s SKIP
counts "all of them together" "20 1 1" "failed: tests/unit/d" tests/unit/b tests/unit/c tests/unit/d s
counts "no test" "0 0 0" "" ''

finish
