#!/bin/sh
# SPDX-License-Identifier: MIT
# What pkg-config says is true before and after the installation: a program of somebody else builds and runs against the build tree
# with lull-uninstalled.pc, and `make install prefix=...` leaves a lull.pc that knows that prefix.
set -eu
. "$(dirname "$0")/headers.sh"
build=${abs_top_builddir:?run by make check}
pkg_config=${PKG_CONFIG:-pkg-config}

cat >"$work/one.c" <<'C'
#include <lull/lull.h>
#include <string.h>
int main(void)
{
    return strcmp(lull_version(), LULL_VERSION) != 0;
}
C

static=
test -f "$build/.libs/liblull.so" || static=--static
PKG_CONFIG_PATH=$build
export PKG_CONFIG_PATH
# shellcheck disable=SC2046,SC2086
${CC:-cc} ${FLAGS-} $($pkg_config --cflags lull) -o "$work/one" "$work/one.c" $($pkg_config $static --libs lull) ||
    fault "the build tree: does not link"
"$work/one" || fault "the build tree: does not run, or is of another version"

# The make that runs this has options of its own, which are not for this one.
if (unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL DESTDIR && make -C "$build" -s install-data prefix="$work/elsewhere") >"$work/log" 2>&1; then
    PKG_CONFIG_PATH=$(find "$work/elsewhere" -name lull.pc -exec dirname '{}' ';')
    for name in prefix includedir libdir; do
        case $($pkg_config --variable=$name lull) in
        "$work/elsewhere"*) ;;
        *) fault "installed with another prefix: lull.pc has $name=$($pkg_config --variable=$name lull)" ;;
        esac
    done
    case $($pkg_config --define-variable=prefix=/moved --cflags lull) in
    *-I/moved/include*) ;;
    *) fault "lull.pc cannot be moved: $($pkg_config --define-variable=prefix=/moved --cflags lull)" ;;
    esac
else
    cat "$work/log"
    fault "make install-data prefix=... failed"
fi
test "$faults" -eq 0
