# SPDX-License-Identifier: MIT
#
# Shared by the tests of the check scripts: a small tree that is in order, faults planted in it one at a time, and a count.
# Each test starts with `. .../plant.sh` and ends with `finish`. Not a test itself.
# shellcheck shell=sh

# shellcheck disable=SC2034
top=${abs_top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
trap 'exit 1' HUP INT TERM
cases=0
wrong=0

# put FILE: standard input becomes that file of the tree.
put() {
    mkdir -p "$tree/$(dirname "$1")"
    cat >"$tree/$1"
}

# drop FILE...: takes planted files out again.
drop() {
    for dropped in "$@"; do
        rm -f "${tree:?}/$dropped"
    done
}

# run COMMAND...: output in $said, exit status in $status.
run() {
    status=0
    said=$("$@" 2>&1) || status=$?
}

# passes NAME COMMAND...: the check finds nothing.
passes() {
    what=$1 && shift
    cases=$((cases + 1))
    run "$@"
    if test "$status" -ne 0; then
        wrong=$((wrong + 1))
        printf 'not ok: %s: exit status %s, said:\n%s\n' "$what" "$status" "$said"
    fi
}

# catches NAME TEXT COMMAND...: the check fails and its output has a line with TEXT.
catches() {
    what=$1 text=$2 && shift 2
    cases=$((cases + 1))
    run "$@"
    if test "$status" -eq 0 || test "$status" -eq 77; then
        wrong=$((wrong + 1))
        printf 'not ok: %s: exit status %s, the fault went through; said:\n%s\n' "$what" "$status" "$said"
    elif ! printf '%s\n' "$said" | grep -qF -e "$text"; then
        wrong=$((wrong + 1))
        printf 'not ok: %s: no line with "%s"; said:\n%s\n' "$what" "$text" "$said"
    fi
}

finish() {
    printf '%s cases, %s wrong\n' "$cases" "$wrong"
    test "$cases" -gt 0 && test "$wrong" -eq 0
}
