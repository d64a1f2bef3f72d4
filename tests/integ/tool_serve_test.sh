#!/bin/sh
# SPDX-License-Identifier: MIT
# `lull serve` and `lull watch` as a user sees them, one against the other; the calls are `lull call`'s.
set -u
# shellcheck source=../peers/lib.sh
. "$(dirname "$0")/../peers/lib.sh"

# run ARGUMENT...: the tool with empty standard input.
run() {
    status=0
    timeout -k 5 60 "$lull" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
    said=$(cat "$work/err")
}

# refuses NAME LINE ARGUMENT...: the whole line.
refuses() {
    name=$1 line=$2
    shift 2
    run "$@"
    is "$name" "64 0 lull: $line" "$status $(wc -c <"$work/out") $said"
}

# shellcheck disable=SC2317 # wait_until calls it
listens_or_died() {
    grep -q '^listening on ' "$work/$1.out" || is_gone "$2"
}

# lull_serve NAME ARGUMENT...: a `lull serve`; its first address is in $target, its id in $started.
lull_serve() {
    serve_name=$1
    shift
    start "$serve_name" "$lull" serve "$@"
    wait_until 20 listens_or_died "$serve_name" "$started" || error "$serve_name does not come up"
    target=$(sed -n 's/^listening on \([^ ]*\).*/\1/p' "$work/$serve_name.out" | head -n 1)
    [ -n "$target" ] || error "$serve_name ended: $(tail -n 3 "$work/$serve_name.out" | tr '\n' ' ')"
}

# ask METHOD TEXT: a call of the demonstration.
ask() {
    printf '%s' "$2" >"$work/in"
    call --deadline 20s "$target" "/lull.Demo/$1" <"$work/in"
}

# ---- the command lines
command_lines() {
    run help serve
    has "help serve" "$status $(cat "$work/out")" "0 usage: lull serve" --listen --echo --max-age /lull.Demo/Slow SIGUSR1
    cp "$work/out" "$work/help"
    run serve --help
    holds "serve --help is the same" cmp "$work/help" "$work/out"
    run help watch
    has "help watch" "$status $(cat "$work/out")" "0 usage: lull watch" --ping --idle --keepalive
    cp "$work/out" "$work/help"
    run watch -h
    holds "watch -h is the same" cmp "$work/help" "$work/out"
    refuses "serve takes no words" "unexpected 'x' (see 'lull help serve')" serve x
    refuses "an unknown option" "unknown option '--lisen' (see 'lull help serve')" serve --lisen x
    refuses "an option without its value" "--listen needs a value" serve --listen
    refuses "a flag with a value" "--echo takes no value" serve --echo=yes
    refuses "a duration without a unit" \
        "--max-idle '5': the unit is missing: ns, us, ms, s, m or h must follow the whole number" serve --max-idle 5
    refuses "a number that is none" "--max-streams 'many': not a whole number below 2^32" serve --max-streams many
    refuses "a watch of nothing" "the target is missing (see 'lull help watch')" watch --plaintext
    refuses "a watch without --plaintext" \
        "pass --tls, or --plaintext to watch over a connection without TLS" watch 127.0.0.1:1
    refuses "two targets" "unexpected 'b' (see 'lull help watch')" watch --plaintext a b
    run serve --listen example.org:80
    has "an address that is a name" "$status $said" "64 lull: " example.org
    run serve --listen 127.0.0.1:99999
    has "an address with a port that is none" "$status $said" "64 lull: " 99999
}

# ---- the methods
methods() {
    lull_serve methods --listen 127.0.0.1:0 --listen "unix:$work/s"
    is "both addresses are printed" "listening on $target (plaintext)
listening on unix:$work/s (plaintext)" "$(cat "$work/methods.out")"
    ask Echo 'hello there'
    is "Echo" "0 hello there" "$status $(cat "$work/out")"
    printf '' >"$work/in"
    call -v -H x-a:1 -H x-b-bin:AP8= -H y-c:2 "$target" /lull.Demo/Echo <"$work/in"
    has "Echo sends x- metadata back" "$status $said" "< x-a: 1" "< x-b-bin: AP8="
    holds "and nothing else" sh -c "! grep -q '< y-c' '$work/err'"
    start_at=$(now_ms)
    ask Slow 300
    within "Slow takes its time" 300 $(($(now_ms) - start_at)) 5000
    is "and answers its number" "0 300" "$status $(cat "$work/out")"
    ask Slow soon
    call_ended "Slow refuses what is no number" 3 "INVALID_ARGUMENT: the message is a number of milliseconds"
    ask Ticks '1 10'
    is "Ticks" "0 tick 1 of 1" "$status $(cat "$work/out")"
    ask Count abc
    is "Count" "0 1 message, 3 bytes" "$status $(cat "$work/out")"
    ask Status '5 no such thing'
    call_ended "Status ends as asked" 5 "lull: NOT_FOUND: no such thing"
    ask Status '17 x'
    call_ended "Status refuses what is no code" 3 "INVALID_ARGUMENT"
    ask Other x
    call_ended "without --echo other methods are UNIMPLEMENTED" 12 "UNIMPLEMENTED: unknown method /lull.Demo/Other"
    tcp=$target
    target=unix:$work/s
    ask Echo unix
    is "the unix socket serves, too" "0 unix" "$status $(cat "$work/out")"
    target=$tcp
    printf 10000 >"$work/in"
    call --deadline 300ms "$target" /lull.Demo/Slow <"$work/in"
    call_ended "a deadline ends Slow" 4 "DEADLINE_EXCEEDED"
    stop "$started"
    rm -f "$work/s"
}

# ---- the signals
# shellcheck disable=SC2317 # wait_until calls it
has_ended() {
    is_gone "$1"
}

# shellcheck disable=SC2317 # wait_until calls it
is_silent() {
    call --deadline 500ms "$target" /any.Service/Method <"$work/in"
    [ "$status" -ne 0 ]
}

signals() {
    lull_serve signals --echo -v --grace 10s
    pid=$started
    kill -USR1 "$pid"
    printf x >"$work/in"
    wait_until 20 is_silent || not_ok "SIGUSR1" "calls are answered"
    call_ended "SIGUSR1 makes it silent" 4 "DEADLINE_EXCEEDED"
    kill -USR1 "$pid"
    call --deadline 20s "$target" /any.Service/Method <"$work/in"
    is "the second one ends that, and --echo echoes any method" "0 x" "$status $(cat "$work/out")"
    # A call that is under way when the server is told to go.
    printf 700 >"$work/slow.in"
    timeout -k 5 60 "$lull" call --plaintext --deadline 20s "$target" /lull.Demo/Slow <"$work/slow.in" \
        >"$work/slow.out" 2>"$work/slow.err" &
    slow=$!
    wait_until 10 grep -q 'started  *[/]lull.Demo/Slow' "$work/signals.out" || not_ok "the slow call" "did not come"
    kill -TERM "$pid"
    status=0
    wait $slow || status=$?
    is "a call under way is finished" "0 700" "$status $(cat "$work/slow.out")"
    status=0
    wait "$pid" || status=$?
    is "and then the server ends, with 0" 0 $status
    call --deadline 2s "$target" /any.Service/Method <"$work/in"
    call_ended "nobody listens any more" 14 "UNAVAILABLE"
}

# ---- a channel as it is
dumps() {
    lull_serve dumped --echo
    dumped=$started
    start watch "$lull" watch --plaintext --ping 0s --for 20s "$target"
    watching=$started
    wait_until 10 grep -q ' READY' "$work/watch.out" || not_ok "the watch" "is not READY"
    kill -USR1 $watching
    wait_until 10 grep -q ' dump  *calls: 0' "$work/watch.out" || not_ok "the dump" "does not come"
    has "SIGUSR1 prints all about the channel" "$(cat "$work/watch.out")" "channel $target: READY for " "idle: in " \
        "attempts: ready, 1 dial, 1 connection made, 0 lost" "address $target: dialled " \
        "connection $target: takes calls, 0 streams, "
    kill -TERM $watching
    status=0
    wait $watching || status=$?
    is "and the watch goes on until it is told to end" 0 $status
    stop "$dumped"
}

# ---- a channel's life
watches() {
    lull_serve watched --echo --short-timers --permit-keepalive 0s --permit-without-calls
    run watch --plaintext --ping 50ms --idle 500ms --short-timers --for 900ms "$target"
    is "a channel that is idle at the end" 14 "$status"
    lines=$(sed -E 's/^ *[0-9]+\.[0-9]{3} ms  //' "$work/out")
    has "its states in order" "$(printf '%s' "$lines" | grep '^state' | tr -s ' ' | cut -d' ' -f2 | tr -d : | tr '\n' ' ')" \
        "IDLE CONNECTING READY IDLE "
    has "its fall into idle mode" "$lines" "idle mode: no connection, no timer"
    within "its PINGs, answered" 3 "$(printf '%s\n' "$lines" | grep -c '^ping .* ms (min ')" 10
    run watch --plaintext --ping 0s --idle 800ms --for 300ms "$target"
    is "a channel that is READY at the end" 0 "$status"
    is "a time below the floor is told" "lull: --idle is raised to 1 s; --short-timers lifts the floor" "$said"
    is "without --ping there is none" 0 "$(grep -c ' ping ' "$work/out")"
    stop "$started"

    lull_serve police --echo
    run watch --plaintext --ping 20ms --for 500ms "$target"
    has "a server that permits no such PINGs" "$status $(cat "$work/out")" "14 " too_many_pings
    stop "$started"

    lull_serve dead --echo --permit-keepalive 0s --permit-without-calls
    kill -STOP "$started"
    run watch --plaintext --ping 0s --keepalive 100ms --keepalive-timeout 200ms --short-timers --for 300ms "$target"
    has "and when it dials" "$(cat "$work/out")" "dial         $target attempt 1"
    kill -CONT "$started"
    has "a server that hangs from the start" "$status $(cat "$work/out")" "14 " CONNECTING
    stop "$started"

    run watch --plaintext --ping 0s --for 300ms 127.0.0.1:1
    has "where nobody listens" "$status $(cat "$work/out")" "14 " "dial failed  127.0.0.1:1 attempt 1: connection refused; next in " \
        "TRANSIENT_FAILURE: 127.0.0.1:1: connection refused (falls asleep in 29 min 5"
}

# shellcheck disable=SC2317 # wait_until calls it
is_ready_again() {
    [ "$(grep -c ' READY' "$work/watch.out")" -ge 2 ]
}

silence() {
    lull_serve silence --permit-keepalive 0s --permit-without-calls
    timeout -k 5 60 "$lull" watch --plaintext --ping 0s --keepalive 200ms --keepalive-timeout 1s --short-timers \
        --reconnect --for 40s "$target" >"$work/watch.out" 2>&1 &
    watching=$!
    wait_until 10 grep -q ' READY' "$work/watch.out" || not_ok "the watch" "is not READY"
    ask Silent 4000
    is "Silent answers first" "0 4000" "$status $(cat "$work/out")"
    wait_until 30 is_ready_again || not_ok "the watch" "is not READY again"
    kill -TERM $watching
    status=0
    wait $watching || status=$?
    ! is_gone "$started" || not_ok "the server" "has ended: $(tail -n 3 "$work/silence.out" | tr '\n' ' ')"
    is "the watch ends READY" 0 "$status"
    has "keepalive finds the server dead" "$(tr '\n' ' ' <"$work/watch.out")" "keepalive: no answer"
    within "READY twice" 2 "$(grep -c ' READY' "$work/watch.out")" 3
    is_ready_again || sed 's/^/# /' "$work/watch.out"
    stop "$started"
}

command_lines
methods
signals
dumps
watches
silence
finish
