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

# ---- braces elsewhere than in column 0
{ printf 'int f(void) {\n' && filler 150 && printf '}\n'; } | put src/base/a.c
catches "a brace at the end of the declarator's line" "src/base/a.c:f: 152 lines" check
{ printf 'static int\n  second(int a,\n      int b) {\n' && filler 69 && printf '}\n'; } | put src/base/a.c
catches "a declarator of three lines" "src/base/a.c:second: 71 lines" check
{ printf '  int f(void)\n  {\n' && filler 70 && printf '  }\n'; } | put src/base/a.c
catches "an indented function" "src/base/a.c:f: 72 lines" check
{ printf '__attribute__((cold)) int f(void) __attribute__((noinline(1)))\n{\n' && filler 70 && printf '}\n'; } | put src/base/a.c
catches "a function with attributes" "src/base/a.c:f: 72 lines" check
{ printf 'int f(void)\n{\n  if (a) {\n' && filler 40 && printf '}\n' && filler 40 && printf '}\n'; } | put src/base/a.c
catches "a } in column 0 inside a function" "src/base/a.c:44: a } in column 0 that ends no function" check
{ printf 'int f(void)\n{\n#if A\n  if (a) {\n#else\n  if (b) {\n#endif\n  }\n}\n'; } | put src/base/a.c
catches "braces that an #if has twice" "a } in column 0 that ends no function" check
{ printf 'int f(void)\n{\n  x = "}"; /* } */ y = (char[]){123};\n' && filler 68 && printf '}\n'; } | put src/base/a.c
catches "braces in strings and comments" "src/base/a.c:f: 71 lines" check
{ printf 'extern "C" {\nstatic inline int f(void) {\n' && filler 70 && printf '}\n}\n'; } | put src/base/a.c
catches "a function for C++ too" "src/base/a.c:f: 72 lines" check
{ printf 'static const struct a all[] = {\n' && awk 'BEGIN { for (i = 0; i < 200; i++) print "    {1, f(2)}," }' && printf '};\n'; } |
    put src/base/a.c
{ printf 'struct a {\n' && awk 'BEGIN { for (i = 0; i < 200; i++) print "    int (*f)(int);" }' && printf '};\n'; } |
    put src/base/a.h
{ printf '#define A(x) \\\n' && awk 'BEGIN { for (i = 0; i < 80; i++) print "    f(x) { \\" }' && printf '    }\n'; } | put src/base/b.h
passes "what is long and no function" check
drop src/base/a.c src/base/a.h src/base/b.h

filler 600 | put tool/a.c
passes "a file of 600 lines" check
for file in src/h2/a.c include/lull/a.h tool/a.h testkit/a.c tests/sim/a.c tests/peers/a.sh tests/peers/a.py examples/a.c \
    scripts/a.sh scripts/a.awk quickstart src/base/a.inc; do
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
