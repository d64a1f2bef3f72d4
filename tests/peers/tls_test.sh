#!/bin/sh
# SPDX-License-Identifier: MIT
# `lull call` over TLS against other people's servers: grpcio, nginx before a server of ours, etcd.
set -u
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

certs=$work/certs
mkdir "$certs"
"$build/tests/support/make_certs" "$certs" || error "no certificates"
PATH=$PATH:/usr/sbin

# tls ARGUMENT...: `lull call --tls`; as call of lib.sh.
tls() {
    status=0
    timeout -k 5 60 "$lull" call --tls --deadline 30s "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
    said=$(cat "$work/err")
}

# tls_hi ARGUMENT...: two bytes to a method that sends them back.
tls_hi() {
    tls --cacert "$certs/ca.pem" --data-hex 6869 "$@"
}

as_client="--cert $certs/client.pem --key $certs/client.key"

# free_ports N: so many ports that nobody has at the moment.
free_ports() {
    "$python" -c 'import socket, sys
s = [socket.create_server(("127.0.0.1", 0)) for i in range(int(sys.argv[1]))]
print(*(x.getsockname()[1] for x in s))' "$1"
}

# ---- grpcio
grpcio() {
    serve grpcio "$python" "$peers/grpcio_server.py" --listen 127.0.0.1:0 --certs "$certs"
    tls_hi "localhost:$port" /lull.test.Peer/Echo
    is "grpcio: a call" "0 hi" "$status $(cat "$work/out")$said"
    tls_hi -v "127.0.0.1:$port" /lull.test.Peer/Who
    has "grpcio: by address" "$status $said" "0 " "TLSv1.3"
    tls_hi --authority evil.test "localhost:$port" /lull.test.Peer/Echo
    has "grpcio: another name" "$status $said" "14 " "evil.test is wanted; it is for DNS:localhost"

    # An odd number of bytes, to and fro.
    head -c 1048579 /dev/urandom >"$work/big"
    status=0
    timeout -k 5 60 "$lull" call --tls --cacert "$certs/ca.pem" --deadline 60s "localhost:$port" /lull.test.Peer/Echo \
        <"$work/big" >"$work/out" 2>"$work/err" || status=$?
    is "grpcio: a megabyte goes" 0 "$status"
    holds "grpcio: and comes back whole" cmp "$work/big" "$work/out"

    serve mutual "$python" "$peers/grpcio_server.py" --listen 127.0.0.1:0 --certs "$certs" --mutual
    tls_hi "localhost:$port" /lull.test.Peer/Echo
    has "grpcio: no certificate where one is needed" "$status $said" "14 " "UNAVAILABLE"
    # shellcheck disable=SC2086 # words
    tls_hi $as_client "localhost:$port" /lull.test.Peer/Echo
    is "grpcio: a certificate" "0 hi" "$status $(cat "$work/out")$said"
}

# ---- nginx, which ends TLS and passes on to `lull serve`
# shellcheck disable=SC2317 # wait_until calls it
nginx_answers() {
    "$python" -c 'import socket, sys
socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1)' "$1" 2>"$work/connect" || is_gone "$2"
}

nginx_conf() {
    cat <<CONF
daemon off;
master_process off;
pid $work/nginx.pid;
error_log $work/nginx.log;
events {}
http {
    access_log off;
    client_body_temp_path $work/nginx.body;
    proxy_temp_path $work/nginx.proxy;
    fastcgi_temp_path $work/nginx.fastcgi;
    uwsgi_temp_path $work/nginx.uwsgi;
    scgi_temp_path $work/nginx.scgi;
    ssl_certificate $certs/leaf.pem;
    ssl_certificate_key $certs/leaf.key;
    server {
        listen 127.0.0.1:$2 ssl http2;
        ssl_protocols TLSv1.3;
        location / { grpc_pass grpc://$1; }
    }
    server {
        listen 127.0.0.1:$3 ssl http2;
        ssl_protocols TLSv1.2;
        ssl_session_cache builtin:100;
        location / { grpc_pass grpc://$1; }
    }
    server { listen 127.0.0.1:$4 ssl; location / { return 200; } }
}
CONF
}

nginx_before_us() {
    start backend "$lull" serve --listen 127.0.0.1:0
    backend=$started
    # shellcheck disable=SC2317 # wait_until calls it
    backend_listens() {
        grep -q '^listening on ' "$work/backend.out" || is_gone "$backend"
    }
    wait_until 20 backend_listens || error "lull serve does not come up"
    address=$(sed -n 's/^listening on \([^ ]*\).*/\1/p' "$work/backend.out")
    # shellcheck disable=SC2046 # words
    set -- $(free_ports 3)
    nginx_conf "$address" "$@" >"$work/nginx.conf"
    start nginx nginx -c "$work/nginx.conf" -e "$work/nginx.log"
    wait_until 20 nginx_answers "$1" "$started" || error "nginx does not come up"
    is_gone "$started" && error "nginx ended: $(cat "$work/nginx.out" "$work/nginx.log")"

    tls_hi -v --authority svc.test "127.0.0.1:$1" /lull.Demo/Echo
    has "nginx: TLS 1.3" "$status $said $(cat "$work/out")" "0 " "TLSv1.3" hi
    tls_hi -v --authority svc.test "127.0.0.1:$2" /lull.Demo/Echo
    has "nginx: TLS 1.2" "$status $said $(cat "$work/out")" "0 " "TLSv1.2, ECDHE-" hi
    tls_hi "localhost:$3" /lull.Demo/Echo
    has "nginx: no HTTP/2 there" "$status $said" "14 " ALPN
    for which in "1.3 $1" "1.2 $2"; do
        holds "nginx: two connections by TLS ${which% *}" "$build/examples/tls_unary" "localhost:${which#* }" \
            "$certs/ca.pem"
        has "nginx: the second resumes the session" "$(cat "$work/holds")" "OK: hello" "2 handshakes, 1 of them resumed"
    done
}

# ---- etcd, in Go, which wants to know its clients
# etcd_put PORT: what a client that it knows does.
etcd_put() {
    # shellcheck disable=SC2086 # words
    tls --cacert "$certs/ca.pem" $as_client --data-hex 0a046c756c6c12026869 "localhost:$1" /etcdserverpb.KV/Put
}

# shellcheck disable=SC2317 # wait_until calls it
etcd_is_ready() {
    etcd_put "$1"
    [ "$status" -eq 0 ] || is_gone "$2"
}

etcd_knows_its_clients() {
    case $(uname -m) in
    aarch64) export ETCD_UNSUPPORTED_ARCH=arm64 ;;
    esac
    # shellcheck disable=SC2046 # words
    set -- $(free_ports 2)
    start etcd etcd --data-dir "$work/etcd" --listen-client-urls "https://127.0.0.1:$1" \
        --advertise-client-urls "https://127.0.0.1:$1" --listen-peer-urls "http://127.0.0.1:$2" \
        --initial-advertise-peer-urls "http://127.0.0.1:$2" --initial-cluster "default=http://127.0.0.1:$2" \
        --cert-file "$certs/leaf.pem" --key-file "$certs/leaf.key" --client-cert-auth \
        --trusted-ca-file "$certs/ca.pem" --unsafe-no-fsync --logger zap
    wait_until 60 etcd_is_ready "$1" "$started" || error "etcd does not come up"
    is_gone "$started" && error "etcd ended: $(tail -n 3 "$work/etcd.out")"
    etcd_put "$1"
    is "etcd: a client that it knows" "0 " "$status $said"
    tls --cacert "$certs/ca.pem" --data-hex 0a046c756c6c "localhost:$1" /etcdserverpb.KV/Range
    has "etcd: one that shows nothing" "$status $said" "14 " "the peer sent alert"
}

grpcio
nginx_before_us
etcd_knows_its_clients
finish
