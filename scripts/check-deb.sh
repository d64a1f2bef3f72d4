#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-deb.sh DIR [REVISION]: Debian packages from a clean export of a revision (HEAD), in DIR: builds them, lists what is in each, unpacks
# them into a root of their own, and there builds and runs a program of somebody else by pkg-config and by CMake, in C and C++, shared
# and static (tests/headers/installed.sh), and the lull program. The library, for whose hardening 12 KiB are allowed, is not too heavy, and
# lintian, if it is there, has nothing to say.
#
# Run by `qa.sh deb`. Nothing is installed on the system, and nothing needs root; what building needs is in debian/control.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
dir=$1
revision=${2:-HEAD}
rm -rf "$dir"
mkdir -p "$dir/lull"
dir=$(cd "$dir" && pwd)

git -C "$top" archive "$revision" | tar -x -C "$dir/lull"
cd "$dir/lull"
echo "check-deb: building in $dir, log in $dir/build.log"
DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS:-"nocheck parallel=$(nproc)"} dpkg-buildpackage -us -uc -b >"$dir/build.log" 2>&1 || {
    tail -n 40 "$dir/build.log"
    exit 1
}
cd "$dir"
root=$dir/root
for package in liblull0_ liblull-dev_ liblull-doc_ lull_; do
    set -- "$package"*.deb
    test -f "$1" || {
        echo "check-deb: there is no package $package*.deb"
        exit 1
    }
    echo "== $1"
    # Of the reference, which has a page for each name, a count is enough.
    dpkg -c "$1" | awk '/\/(html|man3)\/./ { pages++; next } { print } END { if (pages) print pages " pages of the reference" }'
    dpkg -x "$1" "$root"
done

arch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
DESTDIR=$root INSTALLED_LIBDIR=/usr/lib/$arch sh "$top/tests/headers/installed.sh"
LD_LIBRARY_PATH=$root/usr/lib/$arch "$root/usr/bin/lull" --version
test -n "$(find "$root/usr/share/man/man3" -name 'lull_channel_new.3*')" || {
    echo "check-deb: the manual of the API is missing"
    exit 1
}
for library in "$root/usr/lib/$arch"/liblull.so.0.*; do
    CFLAGS=-O2 FLAGS='' sh "$top/scripts/check-weight.sh" --limit $((312 * 1024)) --lib "$library"
done
if command -v lintian >/dev/null 2>&1; then
    lintian --allow-root --tag-display-limit 0 --fail-on error,warning ./*.changes
    echo "check-deb: lintian has no error and no warning"
else
    echo "check-deb: no lintian here"
fi
