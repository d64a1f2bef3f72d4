# SPDX-License-Identifier: MIT
#
# Shared by c11.sh and cxx.sh: where the headers are and how many faults there were. Not a test itself.
# shellcheck shell=sh disable=SC2034

top=${abs_top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
faults=0

# Header-only adapters include the library that they adapt to, which need not be here: they have tests of their own.
headers=$(cd "$top/include" && find lull -name '*.h' ! -path 'lull/adapters/*' | LC_ALL=C sort)

fault() {
    printf '%s\n' "$*"
    faults=$((faults + 1))
}

finish() {
    test "$faults" -eq 0 || exit 1
    printf '%s headers, each alone\n' "$(printf '%s\n' "$headers" | wc -l)"
}
