# SPDX-License-Identifier: MIT
#
# An etcd of the test's own. Read after lib.sh by the tests that talk to one; not a test itself.
# shellcheck shell=sh disable=SC2154

# shellcheck disable=SC2317 # wait_until calls it
has_started_or_died() {
    etcdctl --endpoints "127.0.0.1:$port" --dial-timeout 1s --command-timeout 1s endpoint health ||
        is_gone "$started"
}

# start_etcd NAME [OPTION...]: one of this name; its port is in $port. etcd wants its ports by number: two free ones are looked for, and
# others when somebody else was faster.
start_etcd() {
    etcd=$1
    shift
    etcd_options=$*
    export ETCDCTL_API=3
    case $(uname -m) in
    aarch64) export ETCD_UNSUPPORTED_ARCH=arm64 ;;
    esac
    for try in 1 2 3 4 5; do
        # shellcheck disable=SC2046 # two words
        set -- $("$python" -c 'import socket
s = [socket.create_server(("127.0.0.1", 0)) for i in range(2)]
print(*(x.getsockname()[1] for x in s))')
        port=$1
        # shellcheck disable=SC2086 # words
        start "$etcd" etcd --name "try$try" --data-dir "$work/$etcd$try" $etcd_options \
            --listen-client-urls "http://127.0.0.1:$1" --advertise-client-urls "http://127.0.0.1:$1" \
            --listen-peer-urls "http://127.0.0.1:$2" --initial-advertise-peer-urls "http://127.0.0.1:$2" \
            --initial-cluster "try$try=http://127.0.0.1:$2" --unsafe-no-fsync --logger zap
        if wait_until 30 has_started_or_died >"$work/health" 2>&1 && ! is_gone "$started"; then
            return 0
        fi
        stop "$started"
    done
    error "etcd does not come up: $(tail -n 3 "$work/$etcd.out")"
}
