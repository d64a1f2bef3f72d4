#!/bin/sh
# SPDX-License-Identifier: MIT
# Python's grpcio against `lull serve`: serve_client.py says what it asks for.
set -u
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2317 # wait_until calls it
listens_or_died() {
    grep -q '^listening on ' "$work/$1.out" || is_gone "$2"
}

# lull_serve NAME ARGUMENT...: a `lull serve`; its address is in $target, its id in $started.
lull_serve() {
    serve_name=$1
    shift
    start "$serve_name" "$lull" serve "$@"
    wait_until 20 listens_or_died "$serve_name" "$started" || error "$serve_name does not come up"
    target=$(sed -n 's/^listening on \([^ ]*\).*/\1/p' "$work/$serve_name.out" | head -n 1)
    [ -n "$target" ] || error "$serve_name ended: $(tail -n 3 "$work/$serve_name.out" | tr '\n' ' ')"
}

# Takes over what serve_client.py found.
kinds() {
    status=0
    timeout -k 5 300 "$python" "$peers/serve_client.py" "$1" >"$work/client.out" 2>"$work/client.err" || status=$?
    while IFS= read -r line; do
        case $line in
        'ok - '*) ok "$2: ${line#ok - }" ;;
        'not ok - '*) not_ok "$2: ${line#not ok - }" "see above" ;;
        esac
    done <"$work/client.out"
    is "$2: the client came to its end" 0 "$status"
    [ "$status" -eq 0 ] || tail -n 5 "$work/client.err"
}

ages() {
    lull_serve ages --echo --max-age 1s --max-age-grace 5s
    status=0
    timeout -k 5 60 "$python" - "$target" >"$work/ages.out" 2>&1 <<'END' || status=$?
import sys, time
import grpc
with grpc.insecure_channel(sys.argv[1]) as channel:
    echo = channel.unary_unary("/lull.Demo/Echo")
    end = time.monotonic() + 5
    calls = 0
    while time.monotonic() < end:
        assert echo(b"x", timeout=10) == b"x"
        calls += 1
    print(calls > 100)
END
    is "connections of a second fail no call in five" "0 True" "$status $(cat "$work/ages.out")"
    stop "$started"
}

keepalives() {
    lull_serve police --echo
    said=$(timeout -k 5 60 "$python" "$peers/serve_keepalive.py" "$target" 1000 15000 2>"$work/err")
    has "a client that pings too often is sent away" "$said" UNAVAILABLE
    stop "$started"
    lull_serve permits --echo --permit-keepalive 900ms --permit-without-calls
    said=$(timeout -k 5 60 "$python" "$peers/serve_keepalive.py" "$target" 1000 8000 2>"$work/err")
    is "one that pings as often as it may stays" OK "$said"
    stop "$started"
}

lull_serve tcp --echo
kinds "$target" tcp
stop "$started"
lull_serve unix --echo --listen "unix:$work/s"
kinds "$target" unix
stop "$started"
ages
keepalives
finish
