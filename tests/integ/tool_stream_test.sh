#!/bin/sh
# SPDX-License-Identifier: MIT
# `lull call --delimited` against `lull serve`: all four kinds of methods, files that come and go slowly, and input that is wrong.
set -u
# shellcheck source=../peers/lib.sh
. "$(dirname "$0")/../peers/lib.sh"

# shellcheck disable=SC2317 # wait_until calls it
listens_or_died() {
    grep -q '^listening on ' "$work/server.out" || is_gone "$started"
}

start server "$lull" serve --echo --listen 127.0.0.1:0
wait_until 20 listens_or_died || error "the server does not come up"
target=$(sed -n 's/^listening on \([^ ]*\).*/\1/p' "$work/server.out")
server=$started
echo_method=/lull.Demo/Echo

# stream METHOD [OPTION...]: a call whose requests are in $work/in.
stream() {
    stream_method=$1
    shift
    call --delimited --deadline 30s "$@" "$target" "$stream_method" <"$work/in"
}

# messages COUNT BYTES: so many messages of so many bytes, 128 to 16383.
messages() {
    messages_low=$(printf '%03o' $(($2 % 128 + 128)))
    messages_high=$(printf '%03o' $(($2 / 128)))
    {
        # shellcheck disable=SC2059 # the octal digits are the point
        printf "\\$messages_low\\$messages_high"
        head -c "$2" /dev/zero
    } >"$work/one"
    for _ in $(seq 100); do cat "$work/one"; done >"$work/hundred"
    for _ in $(seq $(($1 / 100))); do cat "$work/hundred"; done
}

# ---- the four kinds
kinds() {
    printf '\003abc' >"$work/in"
    stream /any.Service/Unary
    is "a unary method" "0 03616263" "$status $(od -An -tx1 "$work/out" | tr -d ' \n')"
    printf '\003abc\000\002de' >"$work/in"
    stream /lull.Demo/Count --hex
    is "a stream of requests, the empty message among them" \
        "0 $(printf '3 messages, 5 bytes' | od -An -v -tx1 | tr -d ' \n')" "$status $(cat "$work/out")"
    : >"$work/in"
    stream /lull.Demo/Count
    is "of none at all" "0 $(printf '\0230 messages, 0 bytes' | od -An -tx1)" "$status $(od -An -tx1 "$work/out")"
    call --delimited --data-hex 33203130 "$target" /lull.Demo/Ticks --hex
    is "a stream of responses, to --data-hex, a line each with --hex" "0 7469636b2031206f662033
7469636b2032206f662033
7469636b2033206f662033" "$status $(cat "$work/out")"
    printf '\003abc\000\002de' >"$work/in"
    stream $echo_method
    holds "streams both ways, byte for byte" cmp "$work/in" "$work/out"
    is "without a word" "0 " "$status $said"
    stream $echo_method -v -H x-a:1
    has "-v shows metadata and events" "$status $said" "> $echo_method" "> x-a: 1" "< x-a: 1" " closed "
    {
        printf '\340\247\022'
        head -c 300000 /dev/urandom
        printf '\177'
        head -c 127 /dev/urandom
        printf '\200\001'
        head -c 128 /dev/urandom
    } >"$work/in"
    stream $echo_method
    holds "lengths of one byte, two and three" cmp "$work/in" "$work/out"
    timeout -k 5 60 sh -c "tail -c 300 '$work/in' | tail -c 258 | dd bs=1 2>/dev/null | '$lull' call --plaintext --delimited '$target' $echo_method" >"$work/out"
    tail -c 258 "$work/in" >"$work/expected"
    holds "input that comes byte by byte" cmp "$work/expected" "$work/out"
}

# ---- as it comes
# shellcheck disable=SC2317 # wait_until calls it
is_size() {
    [ "$(wc -c <"$1")" -eq "$2" ]
}

conversation() {
    mkfifo "$work/fifo"
    status=0
    timeout -k 5 60 "$lull" call --plaintext --delimited "$target" $echo_method <"$work/fifo" >"$work/said" 2>"$work/err" &
    talking=$!
    exec 7>"$work/fifo"
    printf '\001a' >&7
    holds "a response comes while the input is open" wait_until 20 is_size "$work/said" 2
    printf '\002b' >&7
    printf 'c\001' >&7
    holds "and the next, whose bytes came in pieces, but not the one that is not whole" wait_until 20 is_size "$work/said" 5
    printf 'd' >&7
    exec 7>&-
    wait $talking || status=$?
    is "the end of the input ends the call" "0 $(printf '\001a\002bc\001d' | od -An -tx1)" "$status $(od -An -tx1 "$work/said")"

    # Two that wait for each other: the answers are read only when everything was written.
    messages 300 1000 >"$work/many"
    mkfifo "$work/back"
    timeout -k 5 60 "$lull" call --plaintext --delimited "$target" $echo_method <"$work/fifo" >"$work/back" 2>"$work/err" &
    talking=$!
    exec 8<>"$work/back"
    head -c 250500 "$work/many" | timeout -k 5 60 tee "$work/fifo" >/dev/null
    is "output that nobody reads does not hold up the input" 0 $?
    timeout -k 5 60 head -c 250500 <&8 >"$work/out"
    exec 8<&-
    wait $talking
    is "and is all there afterwards" "250500 $(head -c 250500 "$work/many" | cksum)" "$(wc -c <"$work/out") $(cksum <"$work/out")"

    mkfifo "$work/open"
    exec 9<>"$work/open"
    printf '\0055 no\n' >&9
    status=0
    timeout -k 5 60 "$lull" call --plaintext --delimited "$target" /lull.Demo/Status <&9 >"$work/out" 2>"$work/err" || status=$?
    call_ended "a server may end the call while the input is open" 5 "lull: NOT_FOUND: no"
    exec 9<&-
}

# ---- back-pressure
pressure() {
    messages 8000 1000 >"$work/in"
    status=0
    kill -USR1 "$server"
    {
        timeout -k 5 60 "$lull" call --plaintext --delimited --deadline 1s "$target" $echo_method >"$work/out" 2>"$work/err" || status=$?
        cat >"$work/rest"
    } <"$work/in"
    kill -USR1 "$server"
    call_ended "a server that reads nothing" 4 DEADLINE_EXCEEDED
    within "holds up the input: most of 8 MB was left alone" 6000000 "$(wc -c <"$work/rest")" 8016000

    mkfifo "$work/slow"
    {
        timeout -k 5 60 "$lull" call --plaintext --delimited --deadline 1s "$target" $echo_method >"$work/slow" 2>"$work/err"
        echo $? >"$work/status"
        cat >"$work/rest"
    } <"$work/in" &
    talking=$!
    exec 8<"$work/slow"
    sleep 1.5
    cat <&8 >"$work/out"
    exec 8<&-
    wait $talking
    is "a reader that sleeps past the deadline: the status, and whole messages in the output" "4 0" \
        "$(cat "$work/status") $(($(wc -c <"$work/out") % 1002))"
    within "it held up the server, and the server the input" 5000000 "$(wc -c <"$work/rest")" 8016000
    holds "what came before is not lost" [ -s "$work/out" ]
    stream $echo_method
    holds "8 MB both ways" cmp "$work/in" "$work/out"
}

# ---- input that is wrong: the fault with its place; what came before is sent and answered
# faulty NAME LINE [OPTION...]: standard input is $work/in.
faulty() {
    name=$1 line=$2
    shift 2
    stream $echo_method "$@"
    is "$name" "74 lull: $line" "$status $said"
}

faults() {
    printf '\003abc\002de\200' >"$work/in"
    faulty "an end inside a length" "bad request at byte 7 of standard input: it ends after 1 byte of a length"
    is "loses nothing before it" "$(printf '\003abc\002de' | od -An -tx1)" "$(od -An -tx1 "$work/out")"
    printf '\003abc\005de' >"$work/in"
    faulty "an end inside a message" "bad request at byte 4 of standard input: it ends after 2 of the 5 bytes of a message"
    is "loses nothing before it either" "$(printf '\003abc' | od -An -tx1)" "$(od -An -tx1 "$work/out")"
    printf '\003abc\001' >"$work/in"
    faulty "an end behind a length" "bad request at byte 4 of standard input: it ends after 0 of the 1 byte of a message"
    printf '\003abc\200\200\200\200\200\001xyz' >"$work/in"
    faulty "a length of six bytes" "bad request at byte 4 of standard input: a length has at most 5 bytes"
    printf '\003abc\013hello world' >"$work/in"
    faulty "a message over the limit" \
        "bad request at byte 4 of standard input: a message of 11 bytes is larger than the 10 that it may have" --max-message 10
    is "what came before it passes" "$(printf '\003abc' | od -An -tx1)" "$(od -An -tx1 "$work/out")"
    printf '\377\377\377\377\017' >"$work/in"
    faulty "a length of 4 GiB" "bad request at byte 0 of standard input: a message of 4294967295 bytes is larger than the 2147483647 that it may have"
    printf '\377\377\377\377\007x' >"$work/in"
    faulty "a length that is allowed, and nothing behind it, costs no memory" \
        "bad request at byte 0 of standard input: it ends after 1 of the 2147483647 bytes of a message"
    is "and no response" 0 "$(wc -c <"$work/out")"
    printf '\013hello world' >"$work/in"
    stream /lull.Demo/Count --max-message 11
    has "a response over the limit" "$status $said" "8 lull: RESOURCE_EXHAUSTED"
    call --delimited --max-message 2 --data-hex 010203 "$target" $echo_method
    has "--data-hex over the limit" "$status $said" "8 lull: RESOURCE_EXHAUSTED" "nothing was sent"

    call --delimited "$target" $echo_method </
    is "standard input is a directory" "74 lull: cannot read the request: Is a directory" "$status $said"
    call --delimited "$target" $echo_method <&-
    is "standard input is closed" "74 lull: cannot read the request: Bad file descriptor" "$status $said"
    call --delimited "$target" /lull.Demo/Count </dev/null
    is "/dev/null is no request" 0 "$status"
    printf '\003abc' >"$work/in"
    if [ -c /dev/full ]; then
        status=0
        said=$(timeout -k 5 60 "$lull" call --plaintext --delimited "$target" $echo_method <"$work/in" 2>&1 >/dev/full) || status=$?
        is "the disk is full" "74 lull: cannot write the response: No space left on device" "$status $said"
    fi
    status=0
    said=$(timeout -k 5 60 "$lull" call --plaintext --delimited "$target" $echo_method <"$work/in" 2>&1 >&-) || status=$?
    is "standard output is closed" "74 lull: cannot write the response: Bad file descriptor" "$status $said"
}

# ---- times
timeouts() {
    start_at=$(now_ms)
    call --read-timeout 200ms --data-hex 3330303030 "$target" /lull.Demo/Slow
    call_ended "--read-timeout ends a unary call" 4 DEADLINE_EXCEEDED "read timeout 200 ms"
    within "in time" 200 $(($(now_ms) - start_at)) 10000
    printf '\00530000' >"$work/in"
    stream /lull.Demo/Slow --read-timeout 200ms
    call_ended "and a stream" 4 DEADLINE_EXCEEDED "read timeout 200 ms"
    stop "$server"
    stream $echo_method
    call_ended "nobody listens" 14 "UNAVAILABLE" refused
    call --delimited --wait-for-ready --deadline 300ms "$target" $echo_method <"$work/in"
    call_ended "--wait-for-ready goes on until the deadline" 4 DEADLINE_EXCEEDED refused
}

kinds
conversation
pressure
faults
timeouts
finish
