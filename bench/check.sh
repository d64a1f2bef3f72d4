#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every bench program runs once with the smallest count and keeps to the contract of bench/README.md. Nothing is measured.
set -eu
python=
for one in python3 /usr/bin/python3; do
    if "$one" -c 'import sys; sys.exit(sys.version_info < (3, 7))' 2>/dev/null; then
        python=$one
        break
    fi
done
if test -z "$python"; then
    echo "bench/check: python3 3.7 or newer is needed to run the benchmarks"
    exit 77
fi
exec "$python" "$abs_top_srcdir/bench/run" --once --build "$abs_top_builddir"
