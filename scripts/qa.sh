#!/bin/sh
# SPDX-License-Identifier: MIT
#
# qa.sh JOB: one build of its own in build-qa-JOB, warnings as errors, and the tests that belong to it.
#
#   gcc clang asan ubsan tsan nopool    unit and sim tests
#   asserting                           the same with recyclers in the asserting mode
#   valgrind                            unit tests under memcheck, with fewer rounds where a test has very many
#   race                                the tests of several threads (tests/race.mk), loopback included, under TSan
#   poll                                unit, sim and integ tests with the built-in loop on poll(2)
#   without-openssl without-cares       unit, sim and integ tests of the smaller library
#   size                                what liblull.so weighs (check-weight.sh): of the default build, of the smaller ones and of Debian's
#   abi                                 abidiff against the newest tag, as far as there is one (scripts/abi-since-tag.sh)
#   deb                                 Debian packages from a clean export; a program built with what they install (scripts/check-deb.sh)
#   distcheck                           the release archive, built, tested, installed and removed again
#   lint                                shellcheck on the scripts
#   format                              what clang-format would change in lines that are not in origin/main (or $LULL_FORMAT_BASE) yet
set -eu
cd "$(dirname "$0")/.."
top=$(pwd -P)
job=${1-}
build=$top/build-qa-$job
jobs=$(nproc 2>/dev/null || echo 1)

start=$(date +%s)
finish() {
    status=$?
    result=passed
    test "$status" -eq 0 || result="failed ($status)"
    echo "qa: $job $result, $(($(date +%s) - start)) s"
}

# configure FLAG...: a build tree from nothing, so that no object of another compiler is left in it.
configure() {
    test -f configure || ./autogen.sh
    rm -rf "$build"
    mkdir -p "$build"
    (cd "$build" && ../configure --quiet --enable-werror "$@")
}

run() { make -C "$build" -j"$jobs" --no-print-directory VERBOSE=1 "$@"; }

# need TOOL PACKAGE
need() {
    command -v "$1" >/dev/null 2>&1 || {
        echo "qa: $1 was not found; on Debian: apt-get install $2" >&2
        exit 1
    }
}

# so_size NAME FLAG...: builds liblull.so alone and weighs it, against $limit.
limit=$((300 * 1024))
so_size() {
    echo "$1:"
    shift
    configure "$@"
    run liblull.la >/dev/null
    sh scripts/check-weight.sh --limit "$limit" --lib "$build/.libs/liblull.so"
}

sizes() {
    need strip binutils
    so_size default
    so_size without-openssl --without-openssl
    so_size without-cares --without-cares
    so_size without-openssl-and-cares --without-openssl --without-cares
    if command -v dpkg-buildflags >/dev/null 2>&1; then
        hardened() { DEB_BUILD_MAINT_OPTIONS=hardening=+all dpkg-buildflags --get "$1"; }
        limit=$((312 * 1024))
        so_size "hardened as Debian's" CFLAGS="$(hardened CFLAGS)" CPPFLAGS="$(hardened CPPFLAGS)" LDFLAGS="$(hardened LDFLAGS)"
    fi
}

lint() {
    need shellcheck shellcheck
    find .ci/run autogen.sh quickstart scripts tests testkit tool -type f \
        '(' -name '*.sh' -o -name run -o -name autogen.sh -o -name quickstart -o -name setup ')' \
        -exec shellcheck -x -P SCRIPTDIR '{}' +
}

# The lines that are new since $LULL_FORMAT_BASE, and those that are not committed yet; the others were written before there was a style.
format() {
    need clang-format clang-format
    need git-clang-format clang-format
    base=${LULL_FORMAT_BASE:-$(git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD)}
    changes=$(git clang-format --diff --extensions c,h "$base")
    if printf '%s\n' "$changes" | grep -q '^[-+]'; then
        printf '%s\n' "$changes"
        return 1
    fi
    echo "qa: no line since $(git rev-parse --short "$base") would be changed"
}

known="gcc clang asan ubsan tsan race nopool asserting poll without-openssl without-cares size abi deb valgrind distcheck lint format"
case " $known " in
*" ${job:-none} "*)
    trap finish EXIT
    trap 'exit 1' HUP INT TERM
    ;;
*)
    echo "usage: qa.sh $(echo "$known" | tr ' ' '|')" >&2
    exit 2
    ;;
esac

case $job in
gcc)
    configure CC=gcc
    run check-unit-sim
    ;;
clang)
    need clang clang
    configure CC=clang
    run check-unit-sim
    ;;
asan)
    configure --enable-sanitizer=address CFLAGS='-g -O1'
    ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 run check-unit-sim
    ;;
ubsan)
    configure --enable-sanitizer=undefined CFLAGS='-g -O1'
    UBSAN_OPTIONS=print_stacktrace=1 run check-unit-sim
    ;;
tsan)
    configure --enable-sanitizer=thread CFLAGS='-g -O1'
    CK_TIMEOUT_MULTIPLIER=10 TSAN_OPTIONS=halt_on_error=1 run check-unit-sim
    ;;
race)
    # Reports go to the test's log, and make it fail, in forked children too.
    configure --enable-sanitizer=thread CFLAGS='-g -O1'
    CK_TIMEOUT_MULTIPLIER=10 TSAN_OPTIONS="halt_on_error=1:suppressions=$top/tests/tsan.supp" run check-race
    ;;
nopool)
    configure --disable-pool
    run check-unit-sim
    ;;
asserting)
    configure --enable-asserting-pool
    run check-unit-sim
    ;;
poll)
    configure --with-loop=poll
    run check-unit-sim-integ
    ;;
without-openssl | without-cares)
    configure "--$job"
    run check-unit-sim-integ
    ;;
size)
    sizes
    ;;
valgrind)
    need valgrind valgrind
    configure CFLAGS='-g -O1'
    # shellcheck disable=SC2016
    LULL_TEST_FEWER=1 CK_FORK=no CK_TIMEOUT_MULTIPLIER=20 run check-unit \
        LOG_COMPILER='$(SHELL) ./libtool --mode=execute valgrind' \
        LOG_FLAGS="-q --error-exitcode=9 --leak-check=full --suppressions=$top/tests/valgrind.supp"
    ;;
abi)
    configure CFLAGS='-g -O1'
    run liblull.la
    sh scripts/abi-since-tag.sh "$build"
    ;;
deb)
    need dpkg-buildpackage dpkg-dev
    sh scripts/check-deb.sh "$build"
    ;;
distcheck)
    configure
    run distcheck DISTCHECK_CONFIGURE_FLAGS=--enable-werror
    ;;
lint | format)
    $job
    ;;
*)
    echo "qa: $job is known, but there is nothing to do" >&2
    exit 1
    ;;
esac
