#!/bin/sh
# SPDX-License-Identifier: MIT
# Names against dnsmasq on a high port of the loopback, and against a name server of ours for what dnsmasq does not do wrong.
#
# Prints a table: the question, what the name server does, what lull makes of it. Needs no rights and touches no file of the system.
set -u
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
lookup=$build/tests/peers/dns_lookup
[ -x "$lookup" ] || error "there is no $lookup; make builds it"
PATH=$PATH:/usr/sbin:/sbin
command -v dnsmasq >/dev/null 2>&1 || error "there is no dnsmasq; tests/peers/setup installs it"

# A port that is free for TCP and UDP now. Nobody else on this machine uses it before dnsmasq has it, or dnsmasq says so and ends.
free_port() {
    "$python" - <<'PY'
import socket
while True:
    tcp = socket.socket()
    tcp.bind(("127.0.0.1", 0))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        udp.bind(tcp.getsockname())
    except OSError:
        continue
    print(tcp.getsockname()[1])
    break
PY
}

# names FILE LINE...: the configuration of a dnsmasq that knows these.
names() {
    names_file=$1
    shift
    cat >"$names_file" <<CONF
keep-in-foreground
port=$dns
listen-address=127.0.0.1
bind-interfaces
no-resolv
no-hosts
no-poll
pid-file=
user=$(id -un)
log-facility=-
local=/test/
CONF
    for names_line in "$@"; do
        printf '%s\n' "$names_line" >>"$names_file"
    done
}

# shellcheck disable=SC2317 # wait_until calls it
dnsmasq_is_up() {
    grep -q ': started' "$work/dnsmasq.out" || is_gone "$dnsmasq"
}

run_dnsmasq() {
    start dnsmasq dnsmasq --conf-file="$1"
    dnsmasq=$started
    wait_until 20 dnsmasq_is_up
    is_gone "$dnsmasq" && error "dnsmasq ended: $(tail -n 2 "$work/dnsmasq.out")"
    return 0
}

# ask ARGUMENT...: one lookup; what it said without the time in $said, its status in $status, the milliseconds in $took.
ask() {
    status=0
    timeout -k 5 60 "$lookup" "$@" >"$work/out" 2>"$work/err" || status=$?
    said=$(cat "$work/out" "$work/err" | sed 's/ in [0-9]* ms$//' | tr '\n' '|' | sed 's/|$//')
    took=$(sed -n '$s/.* in \([0-9]*\) ms$/\1/p' "$work/out")
    took=${took:-0}
}

# row WHAT QUESTION EXPECTED ARGUMENT...: a line of the table. EXPECTED is all that is said; a * stands for anything.
row() {
    row_what=$1 row_question=$2 row_expected=$3
    shift 3
    ask "$@"
    printf '| %-34s | %-16s | %-88s | %5s ms |\n' "$row_what" "$row_question" "$said" "$took"
    # shellcheck disable=SC2254 # a pattern is meant
    case $said in
    $row_expected) is "$row_what" 0 "$status" ;;
    *) not_ok "$row_what" "expected '$row_expected', got '$said'" ;;
    esac
}

dns=$(free_port)
serve wrong "$python" "$peers/dns_wrong.py"
wrong=$port
# shellcheck disable=SC2046 # words are meant
names "$work/one" host-record=both.test,127.0.0.1,::1 host-record=four.test,127.0.0.2 host-record=six.test,::1 \
    host-record=app.search.test,127.0.0.3 host-record=mute.test,127.0.0.6 \
    cname=alias.test,both.test "server=/servfail.test/127.0.0.1#$wrong" txt-record=text.test,hello \
    $(n=1; while [ $n -le 60 ]; do echo "host-record=many.test,10.0.0.$n"; n=$((n + 1)); done)
run_dnsmasq "$work/one"
serve silent "$python" "$peers/dns_wrong.py" 127.0.0.2 "$dns"
at="--server 127.0.0.1:$dns"
bad="--server 127.0.0.1:$wrong"
conf="--resolv-conf $work/search.conf --port $dns"
asked="asked 127.0.0.1:$dns"
printf 'domain search.test\nsearch other.test search.test\nnameserver 127.0.0.1\n' >"$work/search.conf"
printf 'nameserver 127.9.9.9\nnameserver 127.0.0.1\n' >"$work/two.conf"
printf 'nameserver 127.0.0.1\nnameserver 127.0.0.1\n' >"$work/same.conf"
printf 'nameserver 127.0.0.2\nnameserver 127.0.0.1\noptions timeout:30 attempts:1\n' >"$work/patient.conf"
printf '127.0.0.9 hosts.test\n::9 hosts.test\n' >"$work/hosts"

export CARES_HOSTS="$work/hosts"

printf '| %-34s | %-16s | %-88s | %8s |\n' "the name server" "question" "lull" "after"
printf '| :--- | :--- | :--- | ---: |\n'
# shellcheck disable=SC2086 # words are meant
{
    row "A and AAAA: in turn, IPv6 first" both.test "answer [[]::1]:80 127.0.0.1:80" $at both.test 80
    row "A alone" four.test "answer 127.0.0.2:443" $at four.test 443
    row "AAAA alone" six.test "answer [[]::1]:80" $at six.test 80
    row "CNAME" alias.test "answer [[]::1]:80 127.0.0.1:80" $at alias.test 80
    row "capitals and a last dot" Four.Test. "answer 127.0.0.2:80" $at Four.Test. 80
    row "NXDOMAIN" none.test "failed: NXDOMAIN (c-ares: Domain name not found; $asked)" $at none.test 80
    row "a name without addresses" text.test "failed: no A and no AAAA record (c-ares: *; $asked)" $at text.test 80
    row "SERVFAIL, passed on by dnsmasq" servfail.test "failed: SERVFAIL (c-ares: *; $asked)" $at servfail.test 80
    row "REFUSED: not its zone" x.example "failed: REFUSED (c-ares: *; $asked)" $at x.example 80
    row "SERVFAIL" servfail.x "failed: SERVFAIL (c-ares: *; asked 127.0.0.1:$wrong)" $bad servfail.x 80
    row "garbage" garbage.x "failed: * (c-ares: *; asked 127.0.0.1:$wrong)" $bad garbage.x 80
    row "silent, limit 300 ms" mute.x "failed: no answer within 300 ms (asked 127.0.0.1:$wrong)" --limit 300 $bad mute.x 80
    within "the limit is ours" 300 "$took" 2000
    row "silent, given up after 100 ms" mute.x "cancelled" --cancel 100 $bad mute.x 80
    row "nobody listens there" x.test "failed: no usable answer (c-ares: *; asked 127.0.0.1:1)" --server 127.0.0.1:1 x.test 80
    row "truncated (60 A): again over TCP" many.test "answer 10.0.0.*:80 * 10.0.0.*:80" $at many.test 80
    is "16 addresses are kept" 16 "$(printf '%s\n' "$said" | tr ' ' '\n' | grep -c '^10[.]0[.]0[.]')"
    row "AAAA 400 ms late: A after 50 ms" slow6.x "so far 127.0.0.1:80|answer [[]::1]:80 127.0.0.1:80" $bad slow6.x 80
    row "A 400 ms late: AAAA after 50 ms" slow4.x "so far [[]::1]:80|answer [[]::1]:80 127.0.0.1:80" $bad slow4.x 80
    row "hosts file" hosts.test "answer [[]::9]:80 127.0.0.9:80" $at hosts.test 80
    row "resolv.conf: its server" four.test "answer 127.0.0.2:80" $conf four.test 80
    row "resolv.conf: search domain" app "answer 127.0.0.3:80" $conf app 80
    row "one of two servers is dead" four.test "*answer 127.0.0.2:80" --resolv-conf "$work/two.conf" --port "$dns" four.test 80
    row "the first of two is silent" mute.test "answer 127.0.0.6:80" --resolv-conf "$work/patient.conf" --port "$dns" mute.test 80
    within "its 2 s are ours, and not resolv.conf's timeout:30" 1900 "$took" 9000
    row "both say REFUSED" x.example "failed: no usable answer (c-ares: *; asked *, *)" --resolv-conf "$work/same.conf" --port "$dns" x.example 80
}

# ---- channels: lull call, and one channel whose server moves

# shellcheck disable=SC2317 # wait_until calls it
listens_or_died() {
    grep -q '^listening on ' "$work/$1.out" || is_gone "$2"
}

# echo_at NAME ADDRESS: a `lull serve`; its port is in $port, its id in $started.
echo_at() {
    start "$1" "$lull" serve --echo --listen "$2"
    wait_until 20 listens_or_died "$1" "$started"
    port=$(sed -n 's/^listening on .*:\([0-9]*\) .*/\1/p' "$work/$1.out" | head -n 1)
    [ -n "$port" ] || error "$1 ended: $(tail -n 3 "$work/$1.out" | tr '\n' ' ')"
}

# reach WHAT CODE TARGET PART [OPTION...]: `lull call` to it ends with that code and says the part.
reach() {
    reach_what=$1 reach_code=$2 reach_target=$3 reach_part=$4
    shift 4
    call --data-hex 68 "$@" "$reach_target" /dns.Test/Echo
    printf '| %-34s | %-32s | %s |\n' "$reach_what" "$reach_target" "${said:-OK}"
    if [ "$status" -ne "$reach_code" ]; then
        not_ok "$reach_what" "exit status $status instead of $reach_code, said '$said'"
    else
        has "$reach_what" "${said:-OK}" "$reach_part"
    fi
}

echo_at here 127.0.0.1:0
printf '\n| what | target | lull call |\n| :--- | :--- | :--- |\n'
reach "a name; IPv6 refuses" 0 "dns://127.0.0.1:$dns/both.test:$port" OK --deadline 5s
reach "localhost" 0 "localhost:$port" OK --deadline 5s
reach "a list; the first refuses" 0 "ipv4:127.0.0.7:$port,127.0.0.1:$port" OK --deadline 5s
reach "NXDOMAIN" 14 "dns://127.0.0.1:$dns/none.test:80" "resolving none.test: NXDOMAIN (c-ares: Domain name not found; $asked)" --deadline 5s
reach "silence" 4 "dns://127.0.0.1:$wrong/mute.x" "resolving mute.x" --deadline 300ms
reach "none of the addresses answers" 14 "dns://127.0.0.1:$dns/both.test:1" "(attempt 1 failed: [::1]:1: connection refused; 127.0.0.1:1: connection refused)" --deadline 5s

# shellcheck disable=SC2317 # wait_until calls it
has_lines() {
    [ "$(wc -l <"$work/moves.out")" -ge "$1" ]
}

# moved.test is in a file that dnsmasq reads again after SIGHUP.
echo_at old 127.0.0.4:0
old=$started
old_port=$port
echo "127.0.0.4 moved.test" >"$work/moved"
stop "$dnsmasq"
names "$work/two" "addn-hosts=$work/moved"
run_dnsmasq "$work/two"
mkfifo "$work/orders"
"$build/tests/peers/dns_moves" "dns://127.0.0.1:$dns/moved.test:$old_port" <"$work/orders" >"$work/moves.out" 2>"$work/moves.err" &
servers="$servers $!"
exec 3>"$work/orders"
echo 1 >&3
wait_until 20 has_lines 1
is "the name is where it was" "OK 127.0.0.4:$old_port" "$(sed -n 1p "$work/moves.out")"
start new "$lull" serve --echo --listen "127.0.0.5:$old_port"
wait_until 20 listens_or_died new "$started"
echo "127.0.0.5 moved.test" >"$work/moved"
kill -HUP "$dnsmasq"
stop "$old"
echo 2 >&3
wait_until 20 has_lines 2
is "the server has moved, and its name too" "OK 127.0.0.5:$old_port" "$(sed -n 2p "$work/moves.out")"
printf '| %-34s | %-32s | %s |\n' "moved between two calls" "dns://127.0.0.1:$dns/moved.test:$old_port" "$(tr '\n' ' ' <"$work/moves.out")"
exec 3>&-
finish
