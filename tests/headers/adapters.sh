#!/bin/sh
# SPDX-License-Identifier: MIT
# Each adapter alone compiles as C11 (libuv's own header wants the GNU one) and as C++11 without a warning, is listed among those
# that `make install` installs, and leaves no function behind: liblull never links what it adapts to.
set -eu
. "$(dirname "$0")/headers.sh"

adapters='libuv:libuv libevent:libevent_core glib:glib-2.0'
tried=0
for pair in $adapters; do
    header=lull/adapters/${pair%:*}.h
    module=${pair#*:}
    grep -qF "include/$header" "$top/include/lull/local.mk" || fault "$header: not in include/lull/local.mk, so make install forgets it"
    if ! flags=$(${PKG_CONFIG:-pkg-config} --cflags "$module" 2>/dev/null); then
        echo "$module is not here; configure says its package"
        continue
    fi
    tried=$((tried + 1))
    printf '#include <%s>\n#include <%s>\nextern int nothing_else;\n' "$header" "$header" >"$work/one.c"
    cp "$work/one.c" "$work/one.cc"
    # shellcheck disable=SC2086
    ${CC:-cc} -std=gnu11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
        -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wvla -Werror \
        -I"$top/include" $flags -c -o "$work/one.o" "$work/one.c" || fault "$header: does not stand alone as C11"
    test -z "$(${NM:-nm} -g --defined-only "$work/one.o" | sed 1q)" || fault "$header: defines something that a linker sees"
    test -n "${CXX=c++}" || continue
    # shellcheck disable=SC2086
    $CXX -std=c++11 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wundef -Werror \
        -I"$top/include" $flags -c -o "$work/one.o" "$work/one.cc" || fault "$header: does not stand alone as C++11"
done
test "$faults" -eq 0 || exit 1
# A system without any of the three has nothing to look at.
test "$tried" -gt 0 || exit 77
echo "$tried adapters, each alone"
