#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/check-size.sh catches what it is there for.
set -eu
. "$(dirname "$0")/plant.sh"

check() { sh "$top/scripts/check-size.sh" "$tree"; }

# filler COUNT: so many lines.
filler() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print "    work();" }'; }

# fn NAME LINES: a function whose braces and body make so many lines.
fn() {
    printf 'static int %s(int a,\n    int b)\n{\n' "$1"
    filler $(($2 - 2))
    printf '}\n\n'
}

fn first 70 | put src/base/a.c
passes "a function of 70 lines" check
{ fn first 70 && fn second 71; } | put src/base/a.c
catches "a function of 71 lines" "src/base/a.c:second: 71 lines" check
{ printf 'START_TEST(a_long_story)\n{\n' && filler 69 && printf '}\nEND_TEST\n'; } | put tests/unit/base/a_test.c
drop src/base/a.c
catches "a test of 71 lines" "tests/unit/base/a_test.c:a_long_story: 71 lines" check
drop tests/unit/base/a_test.c

filler 600 | put tool/a.c
passes "a file of 600 lines" check
for file in src/h2/a.c include/lull/a.h tool/a.h testkit/a.c tests/sim/a.c tests/peers/a.sh tests/peers/a.py examples/a.c; do
    filler 601 | put "$file"
    catches "601 lines in $file" "$file: 601 lines" check
    drop "$file"
done

fn big 75 | put src/base/a.c
filler 650 | put src/base/b.c
put doc/allow-size.txt <<'LIST'
# comment
2026-11-30 src/base/a.c:big 75
2026-11-30 src/base/b.c 650
LIST
passes "what is on the list" check
fn big 76 | put src/base/a.c
catches "an entry that grew" "src/base/a.c:big: grew to 76 lines" check
fn big 60 | put src/base/a.c
catches "an entry that is no longer needed" "src/base/a.c:big: fits again" check
printf '2099-01-01 src/base/b.c 650\n' | put doc/allow-size.txt
catches "an entry after the list was closed" "the list was closed" check
printf 'src/base/b.c 650\n' | put doc/allow-size.txt
catches "an entry without a date" "cannot read this line" check

finish
