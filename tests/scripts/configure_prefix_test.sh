#!/bin/sh
# SPDX-License-Identifier: MIT
# configure refuses a path that libtool could not install at, before it looks at anything else; and takes such a build directory.
set -eu
top=$(cd "${srcdir:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/a b"
cd "$work/a b"

for option in "--prefix=$work/in here" "--libdir=/usr/lib or so"; do
    if sh "$top/configure" "$option" >said 2>&1; then
        echo "configure took $option" >&2
        exit 1
    fi
    grep -q 'has a blank in it' said || {
        echo "configure refused $option, but not for its blank:" >&2
        cat said >&2
        exit 1
    }
done
sh "$top/configure" --help >/dev/null
