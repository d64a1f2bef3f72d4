#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/check-race.sh catches what it is there for.
set -eu
. "$(dirname "$0")/plant.sh"

check() { sh "$top/scripts/check-race.sh" "$tree"; }

put tests/race.mk <<'MK'
RACE_NAMES = \
	tests/unit/a/one_test \
	tests/integ/two_test
MK
put tests/unit/a/local.mk <<'MK'
check_PROGRAMS += \
	tests/unit/a/one_test
MK
put tests/integ/local.mk <<'MK'
check_PROGRAMS += tests/integ/two_test
MK
printf '%s\n' 'x = pthread_create(&t, NULL, f, NULL);' | put tests/unit/a/one_test.c
printf '%s\n' 'ck_assert_int_eq(lull_loop_start(loop), LULL_OK);' | put tests/integ/two_test.c
printf '%s\n' 'int alone;' | put tests/integ/alone_test.c
passes "a tree in order" check

printf '%s\n' 'pthread_create (&t, NULL, f, NULL);' | put tests/integ/three_test.c
catches "a program with threads that nobody lists" "tests/integ/three_test has threads" check
drop tests/integ/three_test.c

printf '%s\n' 'static void f(void) { pthread_create(&t, NULL, f, NULL); }' | put tests/integ/support.h
printf '%s\n' '#include "tests/integ/support.h"' | put tests/integ/four_test.c
catches "threads of a header" "tests/integ/four_test has threads" check
drop tests/integ/four_test.c

put tests/integ/local.mk <<'MK'
check_PROGRAMS += tests/integ/other_test tests/integ/two_test2
MK
catches "a name without a program" "tests/integ/two_test is no program" check
finish
