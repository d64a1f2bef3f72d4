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
# However it is written: on two lines, in parentheses, as a pointer, past the C library.
fault "a name and its parenthesis on two lines" "src/exec/a.c:2: reads a real clock" src/exec/a.c 'int f(void) {
    return clock_gettime
    (1, 0); }'
fault "time and its parenthesis on two lines" "src/exec/a.c:1: calls time()" src/exec/a.c 'int f(void) { return time
(0); }'
fault "a name in parentheses" "calls time()" src/exec/a.c 'int f(void) { return (time)(0); }'
fault "a dereferenced name" "calls time()" src/exec/a.c 'int f(void) { return ( *time ) (0); }'
fault "clock_gettime in parentheses" "reads a real clock" src/exec/a.c 'int f(void) { return (clock_gettime)(1, 0); }'
fault "clock_gettime as an argument" "reads a real clock" src/exec/a.c 'int f(void) { return g(clock_gettime); }'
fault "clock_gettime as a value" "reads a real clock" testkit/a.c 'static int (*f)(int, void *) = clock_gettime;'
fault "time as a value" "takes time() as a pointer" testkit/a.c 'f = time;'
fault "a spliced name" "reads a real clock" src/exec/a.c 'int f(void) { return clock_get\
time(1, 0); }'
fault "in a macro" "src/exec/a.c:1: reads a real clock" src/exec/a.c '#define NOW(t) \
    clock_gettime(1, t)'
for call in 'syscall(228, 1, 0);' 'syscall(SYS_clock_gettime, 1, 0);' 'f(SYS_time);' '__asm__("rdtsc");' 'f = syscall;'; do
    fault "$call" "past the C library" src/exec/a.c "$call"
done
accept4=tests/unit/server/listener_test.c
fine "an accept4 of the test's own" $accept4 '#include <sys/syscall.h>
int f(int fd) __asm__("accept4");
int f(int fd) { return syscall(SYS_accept4, fd); }'
fault "another system call next to it" "listener_test.c:1: goes past" $accept4 'x = syscall(SYS_accept4, fd) + syscall(SYS_time, 0);'
fault "a number next to it" "listener_test.c:1: goes past" $accept4 'x = syscall(SYS_accept4, fd) + syscall(201, 0);'
fault "the same elsewhere" "goes past" src/server/listener.c 'x = syscall(SYS_accept4, fd);'
fine "a counter of system calls" src/exec/a.c 'counters->syscalls++;'
for call in '__builtin_ia32_rdtsc();' '__rdtscp(&x);' 'getrusage(0, &u);' 'x = CLOCKS_PER_SEC;'; do
    fault "$call" "reads a real clock" src/exec/a.c "$call"
done
fault "times()" "calls time()" src/exec/a.c 'x = times(0);'
fault "a header of clocks" "includes a header of real clocks" src/exec/a.c '#include <time.h>'
fault "another one" "includes a header of real clocks" tests/unit/a/a_test.c '#include <sys/time.h>'
fine "the header for the timerfd" src/loop/loop_alarm.c '#include <time.h>'

# The seam is for executors; whoever takes its clock elsewhere has a real one.
for file in src/policy/idle.c src/channel/a.c tests/unit/a/b_test.c tests/sim/a_test.c testkit/a.c; do
    fault "the system clock in $file" "takes the system clock" "$file" 'int64_t f(void) { return lull_clock_now(lull_clock_system()).ns; }'
done
fine "an executor's default" src/exec/executor.c 'executor->clock = lull_clock_system();'
fine "the test of that clock" tests/unit/time/clock_monotonic_test.c 'x = lull_clock_now(lull_clock_system());'
fine "the system clock in a program" examples/a.c 'x = lull_clock_system();'

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
    fault "poll by pointer in $dir" "does not wait in poll" tests/$dir/a_test.c 'g(poll, 1, 0);'
    fine "poll that does not wait, on two lines in $dir" tests/$dir/a_test.c 'poll(fds, f(1,
        2), 0);'
    fault "the second poll of a statement in $dir" "a_test.c:2: a unit or sim test does not wait in poll" tests/$dir/a_test.c 'x = poll(&p, 1, 0) +
    poll(&p, 1, 5);'
    fine "poll that does not wait in $dir" tests/$dir/a_test.c 'ck_assert_int_eq(poll(&p, 1, 0), 1);'
    fault "epoll_wait with a timeout in $dir" "does not wait in poll" tests/$dir/a_test.c 'epoll_wait(e, ev, 1, -1);'
    fault "select in $dir" "does not wait in select" tests/$dir/a_test.c 'select(1, &r, 0, 0, &t);'
    fault "a loop with a timeout in $dir" "does not wait in a loop" tests/$dir/a_test.c 'lull_loop_run_once(l, 100 * LULL_MS);'
    fault "a loop with a variable in $dir" "does not wait in a loop" tests/$dir/a_test.c 'ck_assert(lull_loop_run_once(l,
        ns) == 0);'
    fine "a loop that does not wait in $dir" tests/$dir/a_test.c 'ck_assert_int_eq(lull_loop_run_once(&f.loop, 0), 0);'
    fault "a loop that runs in $dir" "does not wait in a loop" tests/$dir/a_test.c 'lull_loop_run(loop);'
    for call in 'pthread_cond_timedwait(&c, &m, &t);' 'sem_timedwait(&s, &t);' 'alarm(1);' 'setitimer(0, &t, 0);' 'pause();' \
        'cnd_timedwait(&c, &m, &t);' 'sigtimedwait(&s, 0, &t);' 'setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, 8);' \
        'x = timerfd_create(1, 0);' 'f = pthread_mutex_timedlock;'; do
        fault "$call in $dir" "does not wait for a real clock" tests/$dir/a_test.c "$call"
    done
    fault "epoll_pwait2 in $dir" "does not wait in select" tests/$dir/a_test.c 'epoll_pwait2(e, ev, 1, &t, 0);'
    fine "names of our own in $dir" tests/$dir/a_test.c 'told.times++; l->alarm(l, at); x = scripted_alarm(l); struct s { int (*alarm)(int); };'
done
fine "a loop of the test's own" tests/unit/loop/loop_test.c 'lull_loop_run_once(&host.loop, 5);'
fault "a wait next to it" "does not wait for a real clock" tests/unit/loop/loop_test.c 'sem_timedwait(&s, &t);'
fine "an integration test may loop" tests/integ/a_test.c 'lull_loop_run_once(l, 100 * LULL_MS);'
fine "an integration test may wait" tests/integ/a_test.c 'poll(fds, 1, 100);'

finish
