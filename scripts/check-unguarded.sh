#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-unguarded.sh [ROOT]: each unguarded release says why its object has one owner, and the list of them is doc/UNGUARDED.txt.
#
# Right above the statement that names lull_recycler_release_unguarded, or its inline form without lull_, stands a comment
#
#     /* unguarded: REASON */
#
# of at least five words, over as many lines as it takes. doc/UNGUARDED.txt has one line a site: the file, the function, the reason.
# check-unguarded.sh --update [ROOT] writes that list (read the diff: a new line is a claim that somebody has to prove).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
update=no
if test "${1-}" = --update; then
    update=yes
    shift
fi
root=${1:-$here/..}
cd "$root"
list=doc/UNGUARDED.txt

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

find src tool testkit examples -name '*.[ch]' 2>/dev/null | LC_ALL=C sort >"$work/files"
if ! test -s "$work/files"; then
    echo "check-unguarded: no source file under $root" >&2
    exit 1
fi
status=0
while IFS= read -r file; do
    grep -q recycler_release_unguarded "$file" || continue
    awk -f "$here/strip-c.awk" "$file" >"$work/code"
    awk -v file="$file" -v code="$work/code" -f "$here/check-unguarded.awk" "$file" || status=1
done <"$work/files" >"$work/said"
grep '^site ' "$work/said" | sed 's/^site //' >"$work/sites" || :
grep '^fault ' "$work/said" | sed 's/^fault //' || :

if test "$status" -eq 0 && test "$update" = yes; then
    {
        echo "# Unguarded releases and why each has a single owner. Written by scripts/check-unguarded.sh --update from the comments."
        cat "$work/sites"
    } >"$list"
    exit 0
fi
grep -v '^#' "$list" 2>/dev/null >"$work/listed" || :
if ! diff "$work/listed" "$work/sites" >"$work/diff"; then
    status=1
    sed -n "s|^> |not in $list: |p; s|^< |no longer so: |p" "$work/diff"
fi
if test "$status" -ne 0; then
    echo "check-unguarded: an unguarded release without a reason, or a list that is not true (--update writes it)"
    exit 1
fi
echo "check-unguarded: $(wc -l <"$work/sites" | tr -d ' ') site(s), each with its reason"
