#!/bin/sh
# SPDX-License-Identifier: MIT
# `lull call` and `lull watch` against `lull serve`, over TLS, and the example.
set -u
# shellcheck source=../peers/lib.sh
. "$(dirname "$0")/../peers/lib.sh"

certs=$work/certs
mkdir "$certs"
"$build/tests/support/make_certs" "$certs" || error "no certificates"

# shellcheck disable=SC2317 # wait_until calls it
listens_or_died() {
    grep -q '^listening on ' "$work/$1.out" || is_gone "$2"
}

# lull_serve NAME ARGUMENT...: a `lull serve` with the leaf; its port is in $port.
lull_serve() {
    serve_name=$1
    shift
    start "$serve_name" "$lull" serve --cert "$certs/leaf.pem" --key "$certs/leaf.key" "$@"
    wait_until 20 listens_or_died "$serve_name" "$started" || error "$serve_name does not come up"
    port=$(sed -n 's/^listening on .*:\([0-9]*\) .*/\1/p' "$work/$serve_name.out" | head -n 1)
    [ -n "$port" ] || error "$serve_name ended: $(tail -n 3 "$work/$serve_name.out" | tr '\n' ' ')"
}

# tls ARGUMENT...: an echo of "hi" over TLS.
tls() {
    status=0
    timeout -k 5 60 "$lull" call --tls --deadline 20s --data-hex 6869 "$@" /lull.Demo/Echo >"$work/out" 2>"$work/err" \
        </dev/null || status=$?
    said=$(cat "$work/err")
}

lull_serve plain_tls
tls --cacert "$certs/ca.pem" "localhost:$port"
is "a call over TLS" "0 hi" "$status $(cat "$work/out")$said"
tls --cacert "$certs/ca.pem" "127.0.0.1:$port"
is "by address" "0 hi" "$status $(cat "$work/out")$said"
tls -v --cacert "$certs/ca.pem" --authority svc.test "127.0.0.1:$port"
has "by another name; the timeline says what is spoken" "$status $said" "0 " "TLSv1.3, " "full handshake"
tls --cacert "$certs/ca.pem" --authority evil.test "127.0.0.1:$port"
has "a name that the server cannot prove" "$status $said" "14 " "evil.test is wanted; it is for DNS:localhost, DNS:svc.test"
tls --cacert "$certs/other_ca.pem" "localhost:$port"
has "an authority that nobody knows" "$status $said" "14 " "unable to get local issuer certificate (20)" \
    "the server's certificate was issued by /CN=" "which is not among the roots of $certs/other_ca.pem"
tls "localhost:$port"
has "the system's roots do not know it" "$status $said" "14 " "certificate verify failed" "which is not among the system's roots"
tls --insecure -v "localhost:$port"
has "anybody is believed, loudly" "$status $said" "0 " "insecure_skip_verify"
tls --cacert "$certs/leaf.key" "localhost:$port"
has "a file of another kind" "$status $said" "64 " "ca_file " "no certificate in it"
tls --cacert /nonexistent "localhost:$port"
is "a root that is not there" "64 lull: ca_file /nonexistent: no such file or directory (errno 2)" "$status $said"
SSL_CERT_FILE=$certs/ca.pem
export SSL_CERT_FILE
tls "localhost:$port"
is "SSL_CERT_FILE stands for the system's roots" "0 hi" "$status $(cat "$work/out")$said"
unset SSL_CERT_FILE
SSLKEYLOGFILE=$work/keys
export SSLKEYLOGFILE
tls --cacert "$certs/ca.pem" "localhost:$port"
has "SSLKEYLOGFILE gets the secrets" "$(cat "$work/keys")" CLIENT_HANDSHAKE_TRAFFIC_SECRET SERVER_TRAFFIC_SECRET_0
unset SSLKEYLOGFILE

run_watch() {
    timeout -k 5 60 "$lull" watch --tls --cacert "$certs/ca.pem" --ping 50ms --for 300ms "$@" "localhost:$port" 2>&1
}
has "a watch over TLS" "$(run_watch)" READY ping

holds "the example" "$build/examples/tls_unary" "localhost:$port" "$certs/ca.pem"
has "which resumes a session" "$(cat "$work/holds")" "OK: hello" "2 handshakes, 1 of them resumed"

lull_serve mutual --cacert "$certs/ca.pem"
tls --cacert "$certs/ca.pem" "localhost:$port"
has "a client that shows nothing" "$status $said" "14 " TLS "the peer sent alert 116" "the server wants a client certificate"
tls --cacert "$certs/ca.pem" --cert "$certs/client.pem" --key "$certs/client.key" "localhost:$port"
is "one that shows a certificate" "0 hi" "$status $(cat "$work/out")$said"
has "a watch that shows one" "$(run_watch --cert "$certs/client.pem" --key "$certs/client.key")" READY
has "and one that shows nothing" "$(run_watch)" "the peer sent alert 116"
tls --cacert "$certs/ca.pem" --cert "$certs/client.pem" --key "$certs/leaf.key" "localhost:$port"
has "a key of another certificate" "$status $said" "64 " "does not match the certificate /CN=client"

finish
