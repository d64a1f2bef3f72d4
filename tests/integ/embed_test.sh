#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The examples that put lull into another loop: each makes a call to a server of its own, which must be answered.
set -u
checks=0
failures=0
# shellcheck disable=SC2153
for example in ${EMBEDDED?which examples were built?}; do
    checks=$((checks + 1))
    # The suffix that programs have on some systems is make's affair.
    if out=$("${abs_top_builddir:?}/$example" 2>&1) && test "$out" = answered; then
        echo "ok: $example"
    else
        failures=$((failures + 1))
        echo "not ok: $example: $out"
    fi
done
# Built with poll(2) and without any of the libraries there is none.
test "$checks" -gt 0 || exit 77
printf 'Checks: %d, Failures: %d, Errors: 0\n' "$checks" "$failures"
test "$failures" -eq 0
