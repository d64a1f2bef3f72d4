#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/check-testing.sh catches what it is there for.
set -eu
. "$(dirname "$0")/plant.sh"

check() { sh "$top/scripts/check-testing.sh" "$tree"; }

# page LINE...: doc/TESTING.md
page() { printf '%s\n' "$@" | put doc/TESTING.md; }

printf '%s\n' 'START_TEST(an_early_one_waits)' 'START_TEST(an_early_one_fires)' | put tests/unit/exec/timer_test.c
echo 'START_TEST(a_lane_is_joined)' | put tests/unit/exec/lane_test.c
echo 'void lull_timer_arm(void);' | put include/lull/timer.h

# shellcheck disable=SC2016
{
    page '| 1 | early | timer: `an_early_one_waits`, `an_early_one_fires`; lane: `a_lane_is_joined` |' '`lull_timer_arm` and `someTest_ofOthers` in `tests/unit/`'
    passes "a page in order" check
    page '| 1 | early | exec/timer: `an_early_one_waits` (and `…_fires`), `an_early_…` |'
    passes "a directory, and families" check
    page '| 1 | `an_early_one_waits` |' '```c' '`no_such_test`' '```'
    passes "code is not read" check

    page 'see `a_lane_is_joined`' '| 1 | early | timer: `an_early_one_waits_long` |'
    catches "a test that was renamed" "doc/TESTING.md:2: no test an_early_one_waits_long" check
    page '| 1 | early | timer: `a_lane_is_joined` |'
    catches "a test of another program" "a_lane_is_joined is not in the program that is named" check
    page '| 1 | early | timers: `an_early_one_waits` |'
    catches "a program that was renamed" "no program timers" check
    page '| 1 | early | timer: `…_never` |'
    catches "a family without members" "no test of the family" check
    page '| 1 | early | lane: `an_early_…` |'
    catches "a family of another program" "no test of the family" check
    page '`a_lane_is_joined` in `tests/unit/none.c`'
    catches "a path that is gone" "tests/unit/none.c is not there" check
    page 'nothing'
    catches "a page without tests" "no test is named" check
}

finish
