#!/bin/sh
# SPDX-License-Identifier: MIT
# `lull call` against what is no gRPC server: each kind of wrong gets the right code and one line that says what it is.
# tests/peers/wrong_server.py plays them.
set -u
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

: >"$work/table"

# row NAME CODE WORD...: judges the last call and keeps its line for the table.
row() {
    printf '%-34s %3s  %s\n' "$1" "$status" "$(sed -n '$p' "$work/err")" >>"$work/table"
    is "$1: one line" 1 "$(wc -l <"$work/err")"
    call_ended "$@"
}

# wrong KIND NAME CODE WORD...: a server of that kind, a call with time enough.
wrong() {
    kind=$1
    shift
    serve "$kind" "$python" "$peers/wrong_server.py" "$kind"
    call --deadline 10s --data-hex '' "127.0.0.1:$port" /pkg.Service/Method
    row "$@"
    stop "$started"
}

# wrong_and_slow KIND NAME CODE WORD...: one that never answers, so the deadline has to end the call.
wrong_and_slow() {
    kind=$1
    shift
    serve "$kind" "$python" "$peers/wrong_server.py" "$kind"
    start_at=$(now_ms)
    call --deadline 300ms --data-hex '' "127.0.0.1:$port" /pkg.Service/Method
    took=$(($(now_ms) - start_at))
    row "$@"
    within "$1: in time" 300 "$took" 5000
    stop "$started"
}

# A port that was free a moment ago and that nobody listens on.
free_port() {
    "$python" -c 'import socket
print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])'
}

port=$(free_port)
call --deadline 10s --data-hex '' "127.0.0.1:$port" /pkg.Service/Method
row "refused port" 14 "lull: UNAVAILABLE" "127.0.0.1:$port" "refused"

call --deadline 10s --data-hex '' "unix:$work/missing.sock" /pkg.Service/Method
row "missing unix socket" 14 "lull: UNAVAILABLE" missing.sock "no such file"

: >"$work/plain.file"
call --deadline 10s --data-hex '' "unix:$work/plain.file" /pkg.Service/Method
row "unix path that is no socket" 14 "lull: UNAVAILABLE" plain.file "refused"

wrong_and_slow mute "mute server" 4 "lull: DEADLINE_EXCEEDED" "127.0.0.1:" SETTINGS
wrong_and_slow silent "server that never answers" 4 "lull: DEADLINE_EXCEEDED" "127.0.0.1:"
wrong http11 "HTTP/1.1 server" 14 "lull: UNAVAILABLE" "127.0.0.1:" "HTTP/1.1"
wrong ssh "SSH server" 14 "lull: UNAVAILABLE" "127.0.0.1:" "HTTP/2" "SSH-2.0"
wrong garbage "garbage instead of SETTINGS" 14 "lull: UNAVAILABLE" "127.0.0.1:" "HTTP/2"
wrong no-settings "PING before SETTINGS" 14 "lull: UNAVAILABLE" "127.0.0.1:" SETTINGS
wrong tls-alert "TLS alert" 14 "lull: UNAVAILABLE" "127.0.0.1:" "speaks TLS"
wrong close "closed right after accept" 14 "lull: UNAVAILABLE" "127.0.0.1:" closed SETTINGS
wrong reset "reset right after accept" 14 "lull: UNAVAILABLE" "127.0.0.1:" reset
wrong http502 "HTTP 502 from a proxy" 14 "lull: UNAVAILABLE" "127.0.0.1:" 502 text/html "502 Bad Gateway"
wrong goaway "GOAWAY for the request" 14 "lull: UNAVAILABLE" "127.0.0.1:" GOAWAY ENHANCE_YOUR_CALM "come back later"
wrong die "closed under the request" 14 "lull: UNAVAILABLE" "127.0.0.1:" closed

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -keyout "$work/key.pem" -out "$work/cert.pem" 2>"$work/openssl.err" || error "openssl makes no certificate"
serve tls "$python" "$peers/wrong_server.py" tls "$work/cert.pem" "$work/key.pem"
call --deadline 10s --data-hex '' "127.0.0.1:$port" /pkg.Service/Method
row "port that speaks TLS" 14 "lull: UNAVAILABLE" "127.0.0.1:$port" closed SETTINGS "a TLS port?"
stop "$started"

echo
echo "who answered                      exit  line"
cat "$work/table"
echo
finish
