#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-doc.sh: the headers make a reference without a warning of Doxygen's, and each public function has its manual page.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v doxygen >/dev/null 2>&1 || {
    echo "check-doc: doxygen was not found; on Debian: apt-get install doxygen"
    exit 77
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
sh "$here/make-doc.sh" "$work/reference" check
faults=0
pages=$work/reference/man/man3
find "$here/../include/lull" -name '*.h' -exec sh "$here/public-functions.sh" '{}' + >"$work/functions"
while IFS= read -r function; do
    page=$pages/$function.3
    refers=$(sed -n 's|^\.so man3/||p' "$page" 2>/dev/null) || :
    if ! grep -qw -e "$function" "$pages/${refers:-$function.3}" 2>/dev/null; then
        echo "check-doc: $function has no manual page"
        faults=$((faults + 1))
    fi
done <"$work/functions"
test "$faults" -eq 0 || exit 1
echo "check-doc: $(wc -l <"$work/functions") functions, each in the manual; $(find "$pages" -type f | wc -l) pages"
