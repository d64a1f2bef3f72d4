#!/bin/sh
# SPDX-License-Identifier: MIT
# `make installcheck`, and `make check` by package.sh: what was installed is enough for a program of somebody else, in C and in C++,
# shared and static, built with lull.pc and with the CMake package.
#
# INSTALLED_LIBDIR is ${libdir}, DESTDIR a staging root before it, FLAGS what a sanitizer needs.
set -eu
. "$(dirname "$0")/headers.sh"
pkg_config=${PKG_CONFIG:-pkg-config}
flags=${FLAGS-}

cat >"$work/one.c" <<'C'
#include <lull/lull.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    struct lull_channel_options options;
    struct lull_channel *channel;
    lull_channel_options_init(&options);
    if (strcmp(lull_version(), LULL_VERSION) != 0 || lull_channel_new("127.0.0.1:1", &options, &channel, NULL) != LULL_OK) {
        return 1;
    }
    lull_channel_unref(channel);
    return puts(lull_version()) < 0;
}
C
cp "$work/one.c" "$work/one.cc"

libdir=${DESTDIR:-}$INSTALLED_LIBDIR
PKG_CONFIG_SYSROOT_DIR=${DESTDIR:-}
PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH
cxx=
if test -n "${CXX=c++}" && echo 'int a;' | $CXX -x c++ -fsyntax-only - 2>/dev/null; then
    cxx=$CXX
fi
tried=

# build WHAT COMPILER SOURCE ARGUMENT...
build() {
    what=$1 && shift
    compiler=$1 && shift
    source=$1 && shift
    rm -f "$work/one"
    # shellcheck disable=SC2086
    if ! $compiler $flags $cflags -o "$work/one" "$source" "$@"; then
        fault "$what: does not build"
    elif ! LD_LIBRARY_PATH=$libdir "$work/one" >"$work/said"; then
        fault "$what: does not run"
    elif test "$(cat "$work/said")" != "$version"; then
        fault "$what: the library is $(cat "$work/said"), lull.pc says $version"
    else
        tried="$tried, $what"
    fi
}

version=$($pkg_config --modversion lull)
cflags=$($pkg_config --cflags lull)
if test -f "$libdir/liblull.so"; then
    # shellcheck disable=SC2046
    build "C by pkg-config" "${CC:-cc}" "$work/one.c" $($pkg_config --libs lull)
    # shellcheck disable=SC2046
    test -z "$cxx" || build "C++ by pkg-config" "$cxx" "$work/one.cc" $($pkg_config --libs lull)
fi
if test -f "$libdir/liblull.a"; then
    # shellcheck disable=SC2046
    build "C by pkg-config, static" "${CC:-cc}" "$work/one.c" "$libdir/liblull.a" \
        $(PKG_CONFIG_SYSROOT_DIR='' $pkg_config --static --libs lull | tr ' ' '\n' | grep -v -e '^-llull$' -e '^-L') -pthread
fi

# by_cmake TARGET COMPONENTS: the same program, twice.
by_cmake() {
    rm -rf "$work/project" "$work/project-build"
    mkdir "$work/project"
    cp "$work/one.c" "$work/one.cc" "$work/project"
    {
        echo 'cmake_minimum_required(VERSION 3.13)'
        echo "project(one LANGUAGES C${cxx:+ CXX})"
        echo "find_package(lull $version REQUIRED $2)"
        echo "add_executable(one_c one.c)"
        echo "target_link_libraries(one_c PRIVATE $1)"
        test -z "$cxx" || echo "add_executable(one_cc one.cc)"
        test -z "$cxx" || echo "target_link_libraries(one_cc PRIVATE $1)"
    } >"$work/project/CMakeLists.txt"
    # pkg-config is asked for what is outside the staging root.
    if ! (unset DESTDIR MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH
        CC=${CC:-cc} CXX=$cxx cmake -S "$work/project" -B "$work/project-build" -Dlull_DIR="$libdir/cmake/lull" \
            -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" &&
            cmake --build "$work/project-build") >"$work/log" 2>&1; then
        cat "$work/log"
        fault "$1 by CMake: does not build"
        return
    fi
    for program in one_c ${cxx:+one_cc}; do
        LD_LIBRARY_PATH=$libdir "$work/project-build/$program" >"$work/said" || fault "$1 by CMake: $program does not run"
    done
    tried="$tried, $1 by CMake"
}

if command -v cmake >/dev/null 2>&1; then
    by_cmake lull::lull ''
    test ! -f "$libdir/liblull.a" || by_cmake lull::static 'COMPONENTS static'
else
    echo "no cmake here: its package was not tried"
fi
test "$faults" -eq 0 || exit 1
echo "installed, of version $(cat "$work/said"): ${tried#, }"
