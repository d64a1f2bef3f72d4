#!/bin/sh
# SPDX-License-Identifier: MIT
# Partitions: runs every case of the program `partitions` at the same time, each in network namespaces of its own, and prints what each
# measured as tables, in lines that begin with "row"; scripts/partitions-page.sh makes doc/PARTITIONS.md of them.
#
# Exit status 77, and a line that says why, where network namespaces are not permitted: nothing was looked at, and nothing passed.
set -u
# shellcheck source=../peers/lib.sh
. "$(dirname "$0")/../peers/lib.sh"
program=$build/tests/net/partitions
[ -x "$program" ] || error "there is no $program; make builds it"
PATH=$PATH:/usr/sbin:/sbin
export PATH

not_run() {
    echo "check-net: not run: $1"
    exit 77
}

why=$("$program" may) || not_run "no permission for network namespaces ($why)"
"$top/tests/net/setup" || error "what it needs cannot be installed"
# A kernel may have namespaces and not what a town is made of.
why=$(unshare -n sh -c 'ip link add name x0 type veth peer name x1 && nft -f -' 2>&1 <<'NFT'
table inet try {
  chain out { type nat hook postrouting priority 100; oifname x0 masquerade; }
  chain strict { type filter hook forward priority 0; ct state invalid drop; }
}
NFT
) || not_run "no veth, nftables or conntrack in network namespaces here ($(printf %s "$why" | head -n 1))"

# For TLS, where this library has it.
if [ -x "$build/tests/support/make_certs" ]; then
    NET_CERTS=$work/certs
    export NET_CERTS
    { mkdir "$NET_CERTS" && "$build/tests/support/make_certs" "$NET_CERTS"; } || error "no certificates"
fi
abs_top_builddir=$build
export abs_top_builddir
unset CK_RUN_CASE CK_RUN_SUITE CK_FORK CK_VERBOSITY CK_INCLUDE_TAGS CK_EXCLUDE_TAGS

"$program" list >"$work/list"
names=$(sed '/^=/d' "$work/list")
[ -n "$names" ] || error "no cases"
for name in $names; do
    CK_RUN_CASE=$name "$program" >"$work/$name.out" 2>&1 </dev/null &
    servers="$servers $!"
done
# Each case has a limit of its own, and Check ends it.
for pid in $servers; do
    wait "$pid" || :
done
servers=

echo "row Measured on Linux $(uname -r | sed 's/[^0-9.].*//')."
while read -r name heading; do
    if [ "$name" = "=" ]; then
        printf 'row \nrow ## %s\nrow \n' "$heading"
        echo "row | cut | under | settings | promise | measured | what the call is told |"
        echo "row |---|---|---|---|---|---|"
    else
        sed -n '/^row/p' "$work/$name.out"
    fi
done <"$work/list"
# The lines that are counted, and what failed.
for name in $names; do
    if grep -q ' Failures: 0, Errors: 0' "$work/$name.out"; then
        ok "$name"
    else
        not_ok "$name" "$(sed -e '/^row/d' -e '/^Running suite/d' "$work/$name.out" | tr '\n' ' ')"
    fi
done
finish
