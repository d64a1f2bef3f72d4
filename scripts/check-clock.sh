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

faults=0
files=0
while IFS= read -r file; do
    files=$((files + 1))
    test "$file" = src/time/clock_monotonic.c && continue
    case $file in
    src/loop/*) loop=1 ;;
    *) loop=0 ;;
    esac
    case $file in
    tests/unit/* | tests/sim/*) waits=1 ;;
    *) waits=0 ;;
    esac
    awk -f "$here/strip-c.awk" "$file" | awk -v file="$file" -v loop="$loop" -v waits="$waits" '
        function fault(text) {
            printf "%s:%d: %s\n", file, NR, text
            faults++
        }
        # The last argument of a call that ends on this line, or "" when it does not.
        function last_argument(call,    at, depth, c, start, i) {
            at = match($0, "(^|[^A-Za-z0-9_])" call "[ \t]*\\(")
            if (at == 0)
                return "0"
            i = at + RLENGTH
            start = i
            depth = 1
            for (; i <= length($0); i++) {
                c = substr($0, i, 1)
                if (c == "(")
                    depth++
                else if (c == ")" && --depth == 0)
                    break
                else if (c == "," && depth == 1)
                    start = i + 1
            }
            if (depth > 0)
                return ""
            c = substr($0, start, i - start)
            gsub(/[ \t]/, "", c)
            return c
        }
        /(^|[^A-Za-z0-9_])(clock_gettime|clock_getres|gettimeofday|ftime|timespec_get)[ \t]*\(/ {
            fault("reads a real clock; take now by value or ask the clock seam")
        }
        /(^|[^A-Za-z0-9_.>])(time|clock)[ \t]*\(/ { fault("calls time() or clock(); take now by value or ask the clock seam") }
        /(^|[^A-Za-z0-9_])CLOCK_(REALTIME|MONOTONIC|BOOTTIME|TAI|PROCESS_CPUTIME_ID|THREAD_CPUTIME_ID)([^A-Za-z0-9]|$)/ {
            if (!(loop && /timerfd_create[ \t]*\([ \t]*CLOCK_(BOOTTIME|MONOTONIC)[^A-Za-z0-9_]/))
                fault("names a real clock; only src/time/clock_monotonic.c may")
        }
        waits && /(^|[^A-Za-z0-9_])(sleep|usleep|nanosleep|clock_nanosleep|thrd_sleep)[ \t]*\(/ {
            fault("a unit or sim test does not sleep; advance the fake clock")
        }
        waits {
            if (last_argument("poll") != "0" || last_argument("epoll_wait") != "0")
                fault("a unit or sim test does not wait in poll; give it a timeout of 0, on the same line")
            if (/(^|[^A-Za-z0-9_])(select|pselect|ppoll|epoll_pwait)[ \t]*\(/)
                fault("a unit or sim test does not wait in select; use poll with a timeout of 0")
        }
        END { exit faults > 0 }
    ' || faults=$((faults + 1))
done <<LIST
$(find src include tool testkit tests examples -name '*.[ch]' 2>/dev/null | LC_ALL=C sort)
LIST

if test "$faults" -gt 0; then
    echo "check-clock: $faults file(s) with a clock of their own"
    exit 1
fi
echo "check-clock: $files files, one clock"
