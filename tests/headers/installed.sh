#!/bin/sh
# SPDX-License-Identifier: MIT
# `make installcheck`: a program of somebody else, built with lull.pc against what was installed, shared and static, runs.
set -eu
. "$(dirname "$0")/headers.sh"

cat >"$work/one.c" <<'C'
#include <lull/lull.h>
#include <stdio.h>
int main(void)
{
    return puts(lull_rc_name(LULL_OK)) < 0;
}
C

# INSTALLED_LIBDIR is ${libdir}, DESTDIR a staging root before it.
libdir=${DESTDIR:-}$INSTALLED_LIBDIR
PKG_CONFIG_SYSROOT_DIR=${DESTDIR:-}
PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH

# shellcheck disable=SC2046,SC2086
if test -f "$libdir/liblull.so"; then
    ${CC:-cc} $FLAGS $(${PKG_CONFIG:-pkg-config} --cflags lull) -o "$work/shared" "$work/one.c" \
        $(${PKG_CONFIG:-pkg-config} --libs lull) || fault "shared: does not link"
    LD_LIBRARY_PATH=$libdir "$work/shared" >/dev/null || fault "shared: does not run"
fi
# shellcheck disable=SC2046,SC2086
if test -f "$libdir/liblull.a"; then
    ${CC:-cc} $FLAGS $(${PKG_CONFIG:-pkg-config} --cflags lull) -o "$work/static" "$work/one.c" "$libdir/liblull.a" \
        $(PKG_CONFIG_SYSROOT_DIR='' ${PKG_CONFIG:-pkg-config} --static --libs-only-l libnghttp2) -pthread || fault "static: does not link"
    "$work/static" >/dev/null || fault "static: does not run"
fi
test "$faults" -eq 0
