#!/bin/sh
# SPDX-License-Identifier: MIT
# etcd's ping police: a strict etcd, which bears one PING a minute, and one as it comes; the program etcd_pings_test says what it sees.
set -u
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=etcd.sh
. "$(dirname "$0")/etcd.sh"

# Its own floor is 5 s: without this no keepalive of ours would be struck soon (RULINGS 30).
start_etcd strict --grpc-keepalive-min-time 60s
STRICT_TARGET=127.0.0.1:$port
start_etcd plain
PLAIN_TARGET=127.0.0.1:$port
export STRICT_TARGET PLAIN_TARGET
holds_program etcd_pings_test
finish
