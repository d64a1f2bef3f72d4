#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-clock.sh [ROOT]: only src/time/clock_monotonic.c reads a real clock, and unit and sim tests never wait for one.
#
# Everything else takes `now` by value or asks the clock seam. The loop may create its one timerfd, on CLOCK_BOOTTIME or,
# where the kernel has none, on CLOCK_MONOTONIC.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=${1:-$here/..}
cd "$root"

# Who may, and why: file, name, reason.
may=$(
    cat <<'LIST'
src/exec/wait_cell.c sys/syscall.h the number of the futex call
src/exec/wait_cell.c syscall the futex, which has no function in the C library
src/exec/wait_cell.c SYS_futex sleeps and wakes; reads no clock
src/exec/wait_cell.c lull_clock_system where there is no futex, a condition's timeout is an instant of the wall clock
src/loop/loop_alarm.c time.h its timerfd takes a timespec
src/time/clock_monotonic.c lull_clock_system it is the system clock
include/lull/clock.h lull_clock_system declares it
src/exec/executor.c lull_clock_system the default of an executor without a clock
src/loop/loop_alarm.c lull_clock_system asks whether the clock is the one its timerfd runs on; reads nothing
tests/unit/time/clock_monotonic_test.c lull_clock_system the test of that clock: twice in order, never a duration
tests/unit/exec/executor_test.c lull_clock_system the same default, compared as a pointer
tests/unit/loop/loop_test.c lull_loop_run its loop is a struct of the test's own functions: none of them waits
tests/unit/loop/loop_test.c lull_loop_run_once the same; the timeouts are what it looks at
tests/integ/sync_cost_test.c getrusage counts context switches, not time
tests/unit/server/listener_test.c __asm__ names its own accept4 for the linker
tests/unit/server/listener_test.c SYS_accept4 what that accept4 does when there are descriptors left
LIST
)

find src include tool testkit tests examples -name '*.[ch]' 2>/dev/null | LC_ALL=C sort | {
    set --
    while IFS= read -r file; do
        set -- "$@" "$file"
    done
    if test $# -eq 0; then
        echo "check-clock: no source file under $root" >&2
        exit 1
    fi
    awk -v keep=1 -v where=1 -f "$here/strip-c.awk" "$@" | MAY=$may awk -f "$here/check-clock.awk"
}
