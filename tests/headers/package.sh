#!/bin/sh
# SPDX-License-Identifier: MIT
# `make install` into a staging root leaves what a program of somebody else needs, and `make uninstall` takes all of it away again.
set -eu
. "$(dirname "$0")/headers.sh"
build=${abs_top_builddir:?run by make check}
here=$(cd "$(dirname "$0")" && pwd)

# The make that runs this has options of its own, which are not for these.
quietly() { (unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL DESTDIR && make -C "$build" -s "$@") >"$work/log" 2>&1; }

if ! quietly install DESTDIR="$work/root" prefix=/opt/lull; then
    cat "$work/log"
    fault "make install failed"
    exit 1
fi
libdir=$(cd "$work/root" && find opt -name 'liblull.*' -exec dirname '{}' ';' | sort -u)
DESTDIR=$work/root INSTALLED_LIBDIR=/$libdir sh "$here/installed.sh" || fault "what was installed is not enough"
quietly uninstall DESTDIR="$work/root" prefix=/opt/lull || fault "make uninstall failed"
if find "$work/root" ! -type d | grep .; then
    fault "make uninstall left these files"
fi
test "$faults" -eq 0
