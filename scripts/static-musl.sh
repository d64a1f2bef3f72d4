#!/bin/sh
# SPDX-License-Identifier: MIT
#
# static-musl.sh NGHTTP2 DIR: examples/blocking as one static file for any Linux of this processor, with musl in place of the system's C library, in
# DIR. NGHTTP2 is the source tree of nghttp2 1.52 or newer with a configure script: Debian's library is made for glibc. Without names and
# TLS: c-ares and OpenSSL would have to be built the same way. The kernel's headers come from the system's.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
nghttp2=$(cd "$1" && pwd)
rm -rf "$2"
mkdir -p "$2/nghttp2" "$2/lull"
dir=$(cd "$2" && pwd)
command -v musl-gcc >/dev/null 2>&1 || {
    echo "static-musl: musl-gcc was not found; on Debian: apt-get install musl-tools" >&2
    exit 1
}

cd "$dir/nghttp2"
"$nghttp2/configure" --quiet --host="$(uname -m)-linux-musl" CC=musl-gcc CFLAGS=-O2 --enable-lib-only --disable-shared --prefix="$dir/installed"
make -s -C lib install
cd "$dir/lull"
PKG_CONFIG_LIBDIR=$dir/installed/lib/pkgconfig "$top/configure" --quiet --enable-werror CC=musl-gcc \
    CPPFLAGS="-idirafter /usr/include -idirafter /usr/include/$(${CC:-cc} -print-multiarch)" \
    --without-openssl --without-cares --disable-shared CHECK_CFLAGS=' ' CHECK_LIBS=' '
make -s liblull.la
cd "$dir"
musl-gcc -static -O2 -s -I"$top/include" -o blocking "$top/examples/blocking.c" lull/.libs/liblull.a installed/lib/libnghttp2.a
./blocking "unix:$dir/nobody" >said 2>&1 && {
    echo "static-musl: a call to nobody was answered" >&2
    exit 1
}
grep -q UNAVAILABLE said || {
    cat said >&2
    exit 1
}
echo "static-musl: passed: $dir/blocking, $(wc -c <blocking) bytes"
