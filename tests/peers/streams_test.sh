#!/bin/sh
# SPDX-License-Identifier: MIT
# The three kinds of streams against Python's grpcio: starts two servers, and the program streams_test says what it sees.
set -u
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

serve grpcio "$python" "$peers/grpcio_server.py"
PEER_TARGET=127.0.0.1:$port
serve grpcio-narrow "$python" "$peers/grpcio_server.py" --window 65535
PEER_NARROW_TARGET=127.0.0.1:$port
export PEER_TARGET PEER_NARROW_TARGET
holds_program streams_test
finish
