#!/bin/sh
# SPDX-License-Identifier: MIT
# What goes to standard output, standard error and the exit status, against our own small server (tool_server.c).
set -u
# shellcheck source=../peers/lib.sh
. "$(dirname "$0")/../peers/lib.sh"

method=/pkg.Service/Method
server=$build/tests/integ/tool_server

# run REDIRECTED...: `lull call` as a whole command line, for tests that close or break its files.
run() {
    status=0
    timeout -k 5 60 "$lull" call --plaintext "$target" $method "$@" 2>"$work/err" || status=$?
    said=$(cat "$work/err")
}

# ---- a call that ends well
serve echo "$server" echo
target=127.0.0.1:$port

printf '\000\r\n\377 plain' >"$work/in"
call "$target" $method <"$work/in"
is "a call that ends OK has status 0 and says nothing" "0 " "$status $said"
holds "the response is written as it came" cmp "$work/in" "$work/out"
call --hex "$target" $method <"$work/in"
is "--hex writes digits and a newline" "000d0aff20706c61696e" "$(cat "$work/out")"
is "one newline" 21 "$(wc -c <"$work/out")"
call --data-hex 'DE ad be ef' --hex "$target" $method </dev/null
is "--data-hex is the request" deadbeef "$(cat "$work/out")"
call --data-hex '' --hex "$target" $method
is "the empty message is an empty line in hex" "0 1" "$status $(wc -c <"$work/out")"
call --data-hex '' "$target" $method
is "and nothing otherwise" "0 0" "$status $(wc -c <"$work/out")"
head -c 60000 /dev/urandom >"$work/in"
call "$target" $method <"$work/in"
holds "60 000 bytes come back whole" cmp "$work/in" "$work/out"
call --hex "$target" $method <"$work/in"
is "in hex as well" "$(od -An -v -tx1 <"$work/in" | tr -d ' \n')" "$(cat "$work/out")"
call --deadline 20s --wait-for-ready --authority svc.test "$target" $method <"$work/in"
holds "options of the call change nothing here" cmp "$work/in" "$work/out"

call -v -H a:b -H c-bin:AP8= --data-hex 01 "$target" $method
is "-v leaves standard output alone" "0 1" "$status $(wc -c <"$work/out")"
is "-v shows metadata, sent and received, in order" "> a: b
> c-bin: AP8=
< x-head: one
< x-head: two
< x-tail-bin: AP8=" "$(grep -E '^(> (a|c-bin)|< x-)' "$work/err")"
is "-v shows the way to READY in order" yes "$(tr '\n' ' ' <"$work/err" |
    sed -n 's/.* ms  state  *IDLE -> CONNECTING.* ms  connected .* ms  state  *CONNECTING -> READY.* ms  sent .* ms  closed .*/yes/p')"
backwards=$(sed -n 's/^ *\([0-9]*\)\.\([0-9]\{3\}\) ms  .*/\1\2/p' "$work/err" |
    awk '$1 + 0 < last { n++ } { last = $1 + 0 } END { print n + 0, (NR > 5) }')
is "-v's times do not run backwards" "0 1" "$backwards"

# ---- limits
head -c 1000 /dev/zero >"$work/in"
call --max-message 1000 "$target" $method <"$work/in"
is "a message of exactly --max-message bytes passes, both ways" "0 1000" "$status $(wc -c <"$work/out")"
call --max-message 999 "$target" $method <"$work/in"
is "one byte more is refused before anything is sent" \
    "8 lull: RESOURCE_EXHAUSTED: the request is larger than the 999 bytes that a message may have; nothing was sent" \
    "$status $said"
call --max-message 2 --data-hex 010203 "$target" $method
is "of --data-hex too" \
    "8 lull: RESOURCE_EXHAUSTED: the request is larger than the 2 bytes that a message may have; nothing was sent" \
    "$status $said"
call --max-message 100000 "$target" $method </dev/zero
is "a request without an end is refused where the limit is" \
    "8 lull: RESOURCE_EXHAUSTED: the request is larger than the 100000 bytes that a message may have; nothing was sent" \
    "$status $said"

# ---- files that are closed or broken
run --data-hex 01 >&-
is "standard output is closed" "74 lull: cannot write the response: Bad file descriptor" "$status $said"
if [ -c /dev/full ]; then
    run --data-hex 01 >/dev/full
    is "the disk is full" "74 lull: cannot write the response: No space left on device" "$status $said"
    status=0
    said=$("$lull" --version 2>&1 >/dev/full) || status=$?
    is "for --version as well" "74 lull: cannot write to standard output" "$status $said"
fi
run <&- >"$work/out"
is "standard input is closed" "74 lull: cannot read the request: Bad file descriptor" "$status $said"
run </ >"$work/out"
is "standard input is a directory" "74 lull: cannot read the request: Is a directory" "$status $said"
mkfifo "$work/pipe" "$work/go"
# A reader that leaves without reading: it opens the pipe, so that the writer can, and closes it when the writer has it.
{
    exec 8>"$work/pipe"
    read -r _ <"$work/go"
    run --data-hex 01 >&8
    echo "$status $said" >"$work/pipe.said"
} &
exec 7<"$work/pipe"
exec 7<&-
echo go >"$work/go"
wait $!
is "the reader is gone" "74 lull: cannot write the response: Broken pipe" "$(cat "$work/pipe.said")"
stop "$started"

# ---- a call that does not end well
serve fail "$server" fail
target=127.0.0.1:$port
call --data-hex '' "$target" $method
is "the server's message, on one line, unable to move a cursor" \
    "$(printf '5 1 0 lull: NOT_FOUND: no \360\237\246\212 here:\\n\\t\\x1b[1m 100%%')" \
    "$status $(wc -l <"$work/err") $(wc -c <"$work/out") $said"
stop "$started"

serve mute "$server" mute
target=127.0.0.1:$port
start_at=$(now_ms)
call --deadline 200ms --data-hex '' "$target" $method
took=$(($(now_ms) - start_at))
call_ended "a server that never answers meets the deadline" 4 "lull: DEADLINE_EXCEEDED" "$target"
within "in time" 200 "$took" 5000
call -v --deadline 200ms --data-hex '' "$target" $method
has "-v tells where the time went" "$said" "reason deadline, phase waiting, after 2" ", waiting " " ms  closed "
stop "$started"

call --deadline 10s --data-hex '' "$target" $method
call_ended "nobody listens" 14 "lull: UNAVAILABLE" "$target" refused "in $method: no connection to $target (attempt 1 failed: connection refused)"
call --deadline 200ms --wait-for-ready --data-hex '' "$target" $method
call_ended "--wait-for-ready goes on until the deadline" 4 "lull: DEADLINE_EXCEEDED" "$target" refused

finish
