# SPDX-License-Identifier: MIT
#
# What the tests of the tool share: servers that always end, one call and its three results, and a count.
# Read by tests/peers/*_test.sh and tests/integ/tool_*_test.sh; not a test itself.
#
# A test prints "ok - name" or "not ok - name: why" for each check and ends with `finish`, which prints
# "Checks: N, Failures: F, Errors: E", the line that Check programs print.
# shellcheck shell=sh disable=SC2034

top=${abs_top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${abs_top_builddir:-$top}
lull=${LULL:-$build/lull}
peers=$top/tests/peers
python=/usr/bin/python3

work=$(mktemp -d)
servers=
checks=0
failures=0

# Nothing outlives the test: not a server, not a file.
clean_up() {
    for pid in $servers; do
        kill -KILL "$pid" 2>/dev/null || :
        # A stopped process (SIGSTOP) dies of SIGKILL too.
        wait "$pid" 2>/dev/null || :
    done
    servers=
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# A shell that is killed with SIGKILL runs no trap; its servers die with it where util-linux is new enough.
with_us=
if setpriv --pdeathsig KILL true 2>/dev/null; then
    with_us="setpriv --pdeathsig KILL"
fi

ok() {
    checks=$((checks + 1))
    printf 'ok - %s\n' "$1"
}

not_ok() {
    checks=$((checks + 1))
    failures=$((failures + 1))
    printf 'not ok - %s: %s\n' "$1" "$2"
}

# is NAME EXPECTED ACTUAL
is() {
    if [ "$2" = "$3" ]; then
        ok "$1"
    else
        not_ok "$1" "expected '$2', got '$3'"
    fi
}

# has NAME TEXT WORD...: each WORD is a part of TEXT.
has() {
    has_name=$1 has_text=$2
    shift 2
    for has_word in "$@"; do
        case $has_text in
        *"$has_word"*) ;;
        *)
            not_ok "$has_name" "no '$has_word' in '$has_text'"
            return 0
            ;;
        esac
    done
    ok "$has_name"
}

# holds NAME COMMAND...: the command succeeds.
holds() {
    holds_name=$1
    shift
    if "$@" >"$work/holds" 2>&1; then
        ok "$holds_name"
    else
        not_ok "$holds_name" "failed: $* $(head -c 300 "$work/holds")"
    fi
}

# holds_program NAME: tests/peers/NAME, a Check program of the build, succeeds; the line with its counts is printed.
holds_program() {
    timeout -k 5 300 "$build/tests/peers/$1"
    is "all of $1 passed" 0 $?
}

# within NAME LEAST VALUE MOST: three whole numbers in order.
within() {
    if [ "$2" -le "$3" ] && [ "$3" -le "$4" ]; then
        ok "$1"
    else
        not_ok "$1" "$3 is not from $2 to $4"
    fi
}

# error TEXT: the test cannot go on.
error() {
    printf 'error: %s\n' "$1"
    printf 'Checks: %s, Failures: %s, Errors: 1\n' "$((checks + 1))" "$failures"
    exit 1
}

finish() {
    printf 'Checks: %s, Failures: %s, Errors: 0\n' "$checks" "$failures"
    [ "$checks" -gt 0 ] && [ "$failures" -eq 0 ]
    exit $?
}

# wait_until SECONDS COMMAND...: polls a condition; fails when it does not come true in time.
wait_until() {
    wait_end=$(($(date +%s) + $1))
    shift
    while ! "$@"; do
        [ "$(date +%s)" -le "$wait_end" ] || return 1
        sleep 0.02
    done
}

is_gone() {
    ! kill -0 "$1" 2>/dev/null
}

# start NAME COMMAND...: a server in the background; its output is in $work/NAME.out, its id in $started.
start() {
    start_name=$1
    shift
    : >"$work/$start_name.out"
    # shellcheck disable=SC2086 # words or nothing
    $with_us "$@" >"$work/$start_name.out" 2>&1 </dev/null &
    started=$!
    servers="$servers $started"
}

# stop PID: ends a server that `start` started.
stop() {
    kill -KILL "$1" 2>/dev/null || :
    wait "$1" 2>/dev/null || :
    still=
    for pid in $servers; do
        [ "$pid" = "$1" ] || still="$still $pid"
    done
    servers=$still
}

# A server of ours says "port N" when it listens; so does one that does not listen on a port, with 0.
has_port_or_died() {
    grep -q '^port ' "$work/$1.out" || is_gone "$2"
}

# serve NAME COMMAND...: start, and wait until it listens; the port is in $port.
serve() {
    serve_name=$1
    start "$@"
    wait_until 20 has_port_or_died "$serve_name" "$started" || error "$serve_name does not come up"
    port=$(sed -n 's/^port //p' "$work/$serve_name.out")
    [ -n "$port" ] || error "$serve_name ended: $(tail -n 3 "$work/$serve_name.out" | tr '\n' ' ')"
}

# call_ended NAME CODE WORD... : the last call ended with this status, and its last line on standard error has the words.
call_ended() {
    ended_name=$1 ended_code=$2
    shift 2
    if [ "$status" -ne "$ended_code" ]; then
        not_ok "$ended_name" "exit status $status instead of $ended_code, said '$said'"
    else
        has "$ended_name" "$(tail -n 1 "$work/err")" "$@"
    fi
}

# call [ARGUMENT...]: `lull call --plaintext`; standard output in $work/out, standard error in $said, exit status in $status.
# No call of a test may take longer than 60 s, whatever breaks.
call() {
    status=0
    timeout -k 5 60 "$lull" call --plaintext "$@" >"$work/out" 2>"$work/err" || status=$?
    said=$(cat "$work/err")
}

now_ms() {
    # GNU date; the wall clock is good enough to bound a wait.
    echo $(($(date +%s%N) / 1000000))
}
