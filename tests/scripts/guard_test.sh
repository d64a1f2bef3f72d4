#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/guard.sh catches what it is there for; what callgrind counts is read rightly.
set -eu
. "$(dirname "$0")/plant.sh"

compare() { sh "$top/bench/guard.sh" --compare "$tree/baseline" "${key-this compiler, -g -O2, epoll}" "$tree/counts"; }
# exits STATUS COMMAND...
exits() {
    wanted=$1 && shift
    got=0
    "$@" >/dev/null || got=$?
    test "$got" -eq "$wanted"
}
counts() { printf 'unary\t%s\ndeadline\t%s\npush\t%s\n' "$1" "$2" "$3" | put counts; }

put baseline <<'T'
# key, operation, instructions
another compiler	unary	1.0
this compiler, -g -O2, epoll	unary	5000.0
this compiler, -g -O2, epoll	deadline	5150.0
this compiler, -g -O2, epoll	push	10.0
T
counts 5000.0 5150.0 10.0
passes "what it was" compare
counts 5149.0 5300.0 10.3
passes "3 % more" compare
counts 5151.0 5300.0 10.0
catches "a call of more than 3 % more" "MORE than allowed" compare
counts 5000.0 5150.0 10.4
catches "a push of 4 % more" "MORE than allowed" compare
counts 4000.0 4100.0 10.0
passes "fewer" compare
counts 5000.0 5251.0 10.0
catches "a deadline of 251" "a deadline costs 251 instructions" compare
counts 5000.0 5250.0 10.0
passes "a deadline of 250" compare
printf 'unary\t5000.0\ndeadline\t5150.0\n' | put counts
catches "an operation that was not counted" "push is in the baseline and was not counted" compare
printf 'unary\t5000.0\ndeadline\t5150.0\npush\t10.0\nlane\t1.0\n' | put counts
catches "an operation without a baseline" "is not in the baseline" compare
printf 'another compiler\tunary\t5000.0\n' | put baseline
counts 5000.0 5150.0 10.0
passes "another compiler is no failure, and is told" exits 77 compare
counts 5000.0 5251.0 10.0
catches "but its deadline is judged" "a deadline costs 251 instructions" compare
key='this compiler, flags -g -O1, epoll'
passes "unless it does not optimise" exits 77 compare
key='this compiler, flags -O3'
catches "-O3 does" "a deadline costs 251 instructions" compare

# Two functions of src/, one of which has lines of a header inline; one of elsewhere; what a call cost is not the caller's.
put part <<'T'
positions: line
events: Ir
fl=/somewhere/src/exec/lane.c
fn=lane_join
10 5
+2 7
fi=/somewhere/include/lull/types.h
85 3
fe=/somewhere/src/exec/lane.c
cfn=memcpy
calls=1 0
12 100
fl=/somewhere/bench/guard_ops.c
fn=steady_lane
3 1000
fl=???
fn=memcpy
0 100
fl=(3) ../src/h2/session.c
fn=(9) session_send
7 20
T
counted() { test "$(awk -f "$top/bench/guard.awk" "$tree/part")" = "$1"; }
passes "only what functions of src/ ran themselves" counted 35

finish
