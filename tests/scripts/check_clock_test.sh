#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/check-clock.sh catches what it is there for.
set -eu
. "$(dirname "$0")/plant.sh"

check() { sh "$top/scripts/check-clock.sh" "$tree"; }

# fault NAME TEXT FILE LINE / fine NAME FILE LINE: planted, judged, taken out.
fault() {
    printf '%s\n' "$4" | put "$3"
    catches "$1" "$2" check
    drop "$3"
}
fine() {
    printf '%s\n' "$3" | put "$2"
    passes "$1" check
    drop "$2"
}

put src/time/clock_monotonic.c <<'C'
#include <time.h>
int f(void) { struct timespec t; return clock_gettime(CLOCK_BOOTTIME, &t) + clock_gettime(CLOCK_MONOTONIC, &t); }
C
passes "a tree in order" check

for call in 'clock_gettime(1, &t);' 'gettimeofday(&t, 0);' 'timespec_get(&t, TIME_UTC);' 'ftime(&t);'; do
    fault "$call" "src/exec/a.c:1: reads a real clock" src/exec/a.c "$call"
done
fault "time(" "calls time()" src/base/a.c 'srand(time(NULL));'
fault "clock (" "calls time()" testkit/a.c 'x = clock ();'
fault "a clock in a public header" "reads a real clock" include/lull/a.h 'static inline int f(void) { return clock_gettime(1, 0); }'
fault "a clock in the tool" "calls time()" tool/a.c 't = time(0);'
fault "the name of a clock" "names a real clock" src/net/a.c 'f(CLOCK_MONOTONIC);'
fine "the timerfd of the loop" src/loop/loop_epoll.c 'int fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK);'
fine "its timerfd on an old kernel" src/loop/loop_epoll.c 'int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);'
fault "a timerfd elsewhere" "names a real clock" src/exec/a.c 'int fd = timerfd_create(CLOCK_BOOTTIME, 0);'
fault "a timerfd on another clock" "names a real clock" src/loop/a.c 'int fd = timerfd_create(CLOCK_REALTIME, 0);'
fine "our own names" src/exec/a.c 'q->time(x); lull_clock_now(c); wall_time(c); clock->now(c); CLOCK_FAKE_H'
fine "words in comments and strings" src/exec/a.c '/* clock_gettime( */ char *a = "it is \" time("; // time('
fault "code between comments" "calls time()" src/exec/a.c '/* a */ x = time(0); /* b */'

for dir in unit/exec sim; do
    for call in 'sleep(1);' 'usleep(1);' 'nanosleep(&t, 0);' 'clock_nanosleep(0, 0, &t, 0);'; do
        fault "$call in $dir" "does not sleep" tests/$dir/a_test.c "$call"
    done
    fault "poll with a timeout in $dir" "does not wait in poll" tests/$dir/a_test.c 'poll(fds, f(1, 2), 100);'
    fault "poll on two lines in $dir" "does not wait in poll" tests/$dir/a_test.c 'poll(fds, 1,'
    fine "poll that does not wait in $dir" tests/$dir/a_test.c 'ck_assert_int_eq(poll(&p, 1, 0), 1);'
    fault "epoll_wait with a timeout in $dir" "does not wait in poll" tests/$dir/a_test.c 'epoll_wait(e, ev, 1, -1);'
    fault "select in $dir" "does not wait in select" tests/$dir/a_test.c 'select(1, &r, 0, 0, &t);'
done
fine "an integration test may wait" tests/integ/a_test.c 'poll(fds, 1, 100);'

finish
