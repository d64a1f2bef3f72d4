#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-exports.sh [--root ROOT] [--lib LIBLULL.SO]: three lists are one list:
#
#   what include/lull/ declares LULL_API, what src/liblull.map names, and what the built library exports.
#
# Debian's list, debian/liblull0.symbols, names the same and since which version each is there.
#
# check-exports.sh --update [--root ROOT] writes the declared names into the map and, with the version of configure.ac, into Debian's list (read
# the diff before you commit it).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/..
lib=${abs_top_builddir:-.}/.libs/liblull.so
update=no
while test $# -gt 0; do
    case $1 in
    --root) root=$2 && shift 2 ;;
    --lib) lib=$2 && shift 2 ;;
    --update) update=yes && shift ;;
    *) echo "check-exports: what is $1?" >&2 && exit 2 ;;
    esac
done
map=$root/src/liblull.map
symbols=$root/debian/liblull0.symbols

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

find "$root/include/lull" -name '*.h' | LC_ALL=C sort | {
    set --
    while IFS= read -r header; do
        set -- "$@" "$header"
    done
    sh "$here/public-functions.sh" "$@"
} >"$work/declared"

if test "$update" = yes; then
    awk -v names="$work/declared" '
        /^LULL_0[ \t]*\{/ {
            print
            print "global:"
            while ((getline name <names) > 0)
                print "    " name ";"
            print "local:\n    *;"
            skip = 1
            next
        }
        skip && /^\}/ { skip = 0 }
        !skip { print }
    ' "$map" >"$work/map"
    cat "$work/map" >"$map"
    test -f "$symbols" || exit 0
    version=$(sed -n 's/^AC_INIT(\[lull\], \[\([^]]*\)\].*/\1/p' "$root/configure.ac")
    awk -v names="$work/declared" -v version="$version" '
        / lull_/ { since[$1] = $2; next }
        { print }
        END {
            while ((getline name <names) > 0) {
                name = name "@LULL_0"
                print " " name " " (name in since ? since[name] : version)
            }
        }
    ' "$symbols" >"$work/symbols"
    cat "$work/symbols" >"$symbols"
    exit 0
fi

# The map as words: comments gone, braces, colons and semicolons words of their own.
awk -f "$here/strip-c.awk" "$map" | sed 's/[{}:;]/ & /g' | tr -s ' \t' '[\n*]' >"$work/words"
awk '
    $0 == "" { next }
    $0 == "{" { node = last; section = "global"; last = ""; next }
    $0 == "}" { node = ""; last = ""; next }
    $0 == ":" { section = last; last = ""; next }
    $0 == ";" {
        if (node != "" && last != "") {
            if (section == "local" ? last != "*" : last !~ /^[a-z][a-z0-9_]*$/)
                print "pattern " last
            else if (section == "global")
                print node " " last
        }
        last = ""
        next
    }
    { last = $0 }
' "$work/words" >"$work/mapped"

faults=0
if grep '^pattern ' "$work/mapped" | sed 's/^pattern /check-exports: the map names a pattern: /' | grep .; then
    faults=1
fi
sed -n 's/^LULL_0 //p' "$work/mapped" | LC_ALL=C sort -u >"$work/public"
# LULL_PRIVATE is what the test kit of the same version may use; it is no part of the public list.
sed -n 's/^LULL_PRIVATE //p' "$work/mapped" | LC_ALL=C sort -u >"$work/private"

# report FILE1 FILE2 TEXT: names in the first list only.
report() {
    if LC_ALL=C comm -23 "$1" "$2" | sed "s|^|check-exports: $3: |" | grep .; then
        faults=1
    fi
}
report "$work/declared" "$work/public" "declared LULL_API, not in src/liblull.map"
report "$work/public" "$work/declared" "in src/liblull.map, not declared LULL_API"

if test -f "$symbols"; then
    sed -n 's/^ \(lull_[a-z0-9_]*\)@LULL_0 .*/\1/p' "$symbols" | LC_ALL=C sort >"$work/debian"
    report "$work/declared" "$work/debian" "declared LULL_API, not in debian/liblull0.symbols"
    report "$work/debian" "$work/declared" "in debian/liblull0.symbols, not declared LULL_API"
fi

if test -f "$lib"; then
    # The version nodes themselves are absolute symbols (A).
    ${NM:-nm} -D --defined-only "$lib" |
        awk '$(NF - 1) != "A" { sub(/@.*/, "", $NF); print $NF }' | LC_ALL=C sort -u >"$work/exported"
    LC_ALL=C sort -u "$work/public" "$work/private" >"$work/all"
    report "$work/exported" "$work/all" "exported by the library, not in src/liblull.map"
    report "$work/all" "$work/exported" "in src/liblull.map, not exported by the library"
fi

test "$faults" -eq 0 || exit 1
if ! test -f "$lib"; then
    echo "check-exports: no shared library at $lib; headers and map agree, the library was not looked at"
    exit 77
fi
echo "check-exports: $(wc -l <"$work/declared") names, in the headers, the map and the library"
