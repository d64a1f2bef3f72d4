#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the program many_test, which starts its servers itself. Its last line has the counts.
set -u
program=${abs_top_builddir:-.}/tests/peers/many_test
if ! [ -x "$program" ]; then
    echo "error: there is no $program; make builds it"
    exit 1
fi
exec "$program"
