#!/bin/sh
# SPDX-License-Identifier: MIT
# etcd's Watch and Lease KeepAlive: starts an etcd, and the program etcd_streams_test says what it sees. Half a minute of it is silence.
set -u
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=etcd.sh
. "$(dirname "$0")/etcd.sh"

start_etcd etcd
PEER_TARGET=127.0.0.1:$port
export PEER_TARGET
holds_program etcd_streams_test
finish
