#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The demonstration that ./quickstart shows sees every step of a channel's life, in real time.
set -u
out=$("${abs_top_builddir:?}/examples/life" 2>&1)
status=$?
printf '%s\n' "$out"
seen=$(printf '%s\n' "$out" | grep -c ' ms     ok ')
missed=$(printf '%s\n' "$out" | grep -c 'NOT SEEN')
if test "$status" -ne 0 && test "$missed" -eq 0; then
    missed=1
fi
if test "$seen" -lt 9 && test "$missed" -eq 0; then
    missed=1
fi
printf 'Checks: %d, Failures: %d, Errors: 0\n' "$((seen + missed))" "$missed"
test "$missed" -eq 0
