#!/bin/sh
# SPDX-License-Identifier: MIT
# `lull call` against a server on Python's grpcio: tests/peers/grpcio_server.py says what its methods do.
set -u
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

mib4=4194304
peer=/lull.test.Peer

# ---- unary, empty, binary
echoes() {
    call --data-hex 68656c6c6f "$target" $peer/Echo
    is "an echo comes back" hello "$(cat "$work/out")"
    is "an echo ends OK" 0 "$status"
    is "a call that ends OK says nothing" '' "$said"

    call --data-hex '' --hex "$target" $peer/Echo
    is "an empty message comes back empty" "0 " "$status $(cat "$work/out")"
    call "$target" $peer/Echo </dev/null
    is "empty standard input is the empty message" "0 0" "$status $(wc -c <"$work/out")"

    # NUL, newlines, no newline at the end: bytes are bytes.
    printf '\000\r\n\n\377x' >"$work/in"
    call "$target" $peer/Echo <"$work/in"
    holds "bytes from standard input reach standard output" cmp "$work/in" "$work/out"
    call --hex "$target" $peer/Echo <"$work/in"
    is "--hex shows them" 000d0a0aff78 "$(cat "$work/out")"
}

# ---- metadata both ways
metadata() {
    all=$("$python" -c 'import base64; print(base64.b64encode(bytes(range(256))).decode())')
    all_hex=$("$python" -c 'print(bytes(range(256)).hex())')
    call -v -H x-a:1 -H "x-b-bin:$all" -H 'X-A: 2' -H x-c-bin:AP8 -H x-d-bin: -H x-e: -H 'x-f:a, b' \
        --data-hex '' "$target" $peer/Meta
    is "metadata is accepted" 0 "$status"
    is "the server saw every pair, in order, any byte in -bin" "x-a 31
x-b-bin $all_hex
x-a 32
x-c-bin 00ff
x-d-bin 
x-e 
x-f 612c2062" "$(cat "$work/out")"
    sent=$(sed -n 's/^> x-/x-/p' "$work/err")
    headers=$(sed -n 's/^< x-/x-/p' "$work/err")
    trailers=$(sed -n 's/^< tx-/x-/p' "$work/err")
    pairs="x-a: 1
x-b-bin: $all
x-a: 2
x-c-bin: AP8=
x-d-bin: 
x-e: 
x-f: a, b"
    is "-v shows what is sent" "$pairs" "$sent"
    is "the same pairs came back as initial metadata, in order" "$pairs" "$headers"
    is "the same pairs came back as trailers, in order" "$pairs" "$trailers"
}

who() {
    call --data-hex '' "$target" $peer/Who
    is "the authority is the target's" "$target" "$(sed -n 1p "$work/out")"
    has "the user agent names the tool and the library" "$(sed -n 2p "$work/out")" lull-tool/ lull
    call --data-hex '' --authority svc.test:1234 "$target" $peer/Who
    is "--authority is what the server sees" svc.test:1234 "$(sed -n 1p "$work/out")"
}

# ---- errors
# fail_with METHOD CODE MESSAGE: asks the server for this error.
fail_with() {
    printf "\\$(printf %03o "$2")%s" "$3" >"$work/in"
    call "$target" "$peer/$1" <"$work/in"
}

errors() {
    code=1
    for name in CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED \
        RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS \
        UNAUTHENTICATED; do
        fail_with Fail $code "plain words"
        is "code $code is $name, its message and its exit status" "$code lull: $name: plain words" "$status $said"
        code=$((code + 1))
    done

    fail_with Fail 5 "$(printf 'no \360\237\246\212 here: 100%%,\n\tna\303\257ve')"
    is "a UTF-8 message stays whole and on one line" \
        "$(printf '5 lull: NOT_FOUND: no \360\237\246\212 here: 100%%,\\n\\tna\303\257ve')" "$status $said"
    fail_with Fail 13 ''
    is "an error without a message has its name" "13 lull: INTERNAL" "$status $said"
    fail_with FailLate 9 'too late'
    is "an error with a response message is an error" "9 lull: FAILED_PRECONDITION: too late" "$status $said"
    is "and its message is not printed" 0 "$(wc -c <"$work/out")"
    call --data-hex '' "$target" $peer/Nope
    call_ended "a method that is not there is UNIMPLEMENTED" 12 "lull: UNIMPLEMENTED: Method not found!"
    call --data-hex '' "$target" /no.Service/Method
    call_ended "a service that is not there is UNIMPLEMENTED" 12 "lull: UNIMPLEMENTED:"
}

# ---- deadline
seen() {
    call --data-hex '' "$target" $peer/Stats
    tr ' ' '\n' <"$work/out" | sed -n "/^$1\$/{n;p;}"
}

# shellcheck disable=SC2317 # wait_until calls it
slow_was_ended() {
    [ "$(seen cancelled)" = "$1" ]
}

deadline() {
    before=$(seen cancelled)
    printf 5000 >"$work/in"
    start_at=$(now_ms)
    call --deadline 400ms "$target" $peer/Slow <"$work/in"
    took=$(($(now_ms) - start_at))
    call_ended "a slow method ends DEADLINE_EXCEEDED" 4 "lull: DEADLINE_EXCEEDED"
    within "not before its deadline of 400 ms, nor long after it" 400 "$took" 4500
    holds "the server hears of it" wait_until 10 slow_was_ended $((before + 1))
    ended_at=$(($(seen ended_at_ns) / 1000000))
    within "not before the deadline either" $((start_at + 400)) "$ended_at" $((start_at + 4500))
    within "the server knew how long it had" 1 "$(seen remaining_us)" 401000

    printf 50 >"$work/in"
    call --deadline 30s "$target" $peer/Slow <"$work/in"
    is "a deadline that is not reached changes nothing" "0 slow" "$status $(cat "$work/out")"
    call --deadline 0s --data-hex '' "$target" $peer/Echo
    call_ended "a deadline of 0 is past at once" 4 "lull: DEADLINE_EXCEEDED"
    call --deadline 1ns --data-hex '' "$target" $peer/Echo
    call_ended "so is one of 1 ns" 4 "lull: DEADLINE_EXCEEDED"
}

# ---- large messages
pattern_sum() {
    "$python" -c "import hashlib; print(hashlib.sha256((bytes(range(256)) * 20000)[:$1]).hexdigest())"
}

big() {
    printf %s "$1" >"$work/in"
    shift
    call "$@" "$target" $peer/Big <"$work/in"
    sum=$(sha256sum <"$work/out")
    sum=${sum%% *}
}

large() {
    big $mib4
    is "a response of exactly 4 MiB is accepted" "0 $(pattern_sum $mib4)" "$status $sum"
    big $((mib4 + 1))
    call_ended "one byte more is RESOURCE_EXHAUSTED, with both numbers" 8 "lull: RESOURCE_EXHAUSTED" 4194305 4194304
    is "and nothing is printed of it" 0 "$(wc -c <"$work/out")"
    big $((mib4 + 1)) --max-message $((mib4 + 1))
    is "--max-message raises the limit" "0 $(pattern_sum $((mib4 + 1)))" "$status $sum"
    big 1000 --max-message 999
    call_ended "--max-message lowers the limit" 8 "lull: RESOURCE_EXHAUSTED" 1000 999

    head -c $mib4 /dev/urandom >"$work/in"
    sum=$(sha256sum <"$work/in")
    call "$target" $peer/Size <"$work/in"
    is "a request of 4 MiB arrives whole" "0 $mib4 ${sum%% *}" "$status $(cat "$work/out")"
    call --max-message $((mib4 - 1)) "$target" $peer/Size <"$work/in"
    call_ended "a request over the limit is not sent" 8 "lull: RESOURCE_EXHAUSTED:" 4194303 "nothing was sent"
}

# A reader that leaves early.
broken_pipe() {
    printf %s $mib4 >"$work/in"
    {
        timeout 60 "$lull" call --plaintext "$target" $peer/Big <"$work/in" 2>"$work/err"
        echo $? >"$work/pipe"
    } | head -c 10 >/dev/null
    is "a reader that leaves is one line and status 74" "74 lull: cannot write the response: Broken pipe" \
        "$(cat "$work/pipe") $(cat "$work/err")"
}

many() {
    i=0
    wrong=0
    while [ $i -lt 200 ]; do
        i=$((i + 1))
        printf 'call %s' $i >"$work/in"
        call "$target" $peer/Echo <"$work/in"
        [ "$status $(cat "$work/out")" = "0 call $i" ] || wrong=$((wrong + 1))
    done
    is "200 calls one after another" 0 $wrong
}

timeline() {
    call -v --deadline 10s --data-hex 0102 "$target" $peer/Echo
    is "-v leaves the response alone" 2 "$(wc -c <"$work/out")"
    states=$(grep -E '^ *[0-9]+\.[0-9]{3} ms  state ' "$work/err" | tr '\n' ' ')
    has "-v shows the states" "$states" IDLE CONNECTING READY
    has "-v shows the call" "$said" "> $peer/Echo (2 bytes)" " ms  sent " " ms  headers " " ms  closed "
}

# shellcheck disable=SC2317 # wait_until calls it
dial_has_failed() {
    grep -q ' ms  dial failed ' "$work/err"
}

# The server comes after the call.
wait_for_ready() {
    late=$("$python" -c 'import socket
print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
    : >"$work/err"
    timeout -k 5 60 "$lull" call --plaintext -v --wait-for-ready --deadline 30s --data-hex 6c617465 \
        "127.0.0.1:$late" $peer/Echo >"$work/late" 2>"$work/err" &
    waiting=$!
    holds "--wait-for-ready: the first attempt fails" wait_until 20 dial_has_failed
    serve grpcio-late "$python" "$peers/grpcio_server.py" --listen "127.0.0.1:$late"
    status=0
    wait $waiting || status=$?
    is "--wait-for-ready: the call goes on and succeeds" "0 late" "$status $(cat "$work/late")"
    has "--wait-for-ready: by way of TRANSIENT_FAILURE" "$(tr '\n' ' ' <"$work/err")" TRANSIENT_FAILURE READY
    stop "$started"
}

serve grpcio "$python" "$peers/grpcio_server.py"
target=127.0.0.1:$port
echoes
metadata
who
errors
deadline
large
broken_pipe
many
timeline

serve grpcio-unix "$python" "$peers/grpcio_server.py" --listen "unix:$work/peer.sock"
target=unix:$work/peer.sock
call --data-hex 756e6978 "$target" $peer/Echo
is "a unix socket: target works" "0 unix" "$status $(cat "$work/out")"
call --data-hex '' "$target" $peer/Who
is "its authority is localhost" localhost "$(sed -n 1p "$work/out")"

serve grpcio-localhost "$python" "$peers/grpcio_server.py" --listen "localhost:0"
call --data-hex 6e616d65 "localhost:$port" $peer/Echo
is "localhost works" "0 name" "$status $(cat "$work/out")"

wait_for_ready
finish
