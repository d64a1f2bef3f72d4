#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-options.sh [--root ROOT] [--lull PROGRAM]: three lists are one list, for each command of the lull program:
#
#   the options that `lull help COMMAND` tells of, those of the manual page, and those that bash completes.
set -eu
root=$(dirname "$0")/..
lull=${abs_top_builddir:-.}/lull
while test $# -gt 0; do
    case $1 in
    --root) root=$2 && shift 2 ;;
    --lull) lull=$2 && shift 2 ;;
    *) echo "check-options: what is $1?" >&2 && exit 2 ;;
    esac
done
command -v bash >/dev/null 2>&1 || {
    echo "check-options: no bash to read the completion with"
    exit 77
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

words() { tr ' ,' '\n' | { grep '^-' || :; } | LC_ALL=C sort; }

# Lines that begin with two blanks and an option; what it does stands behind two blanks more, or on lines of its own.
of_help() { "$lull" help "$1" | sed -n '/^  -/{s/^  //;s/  .*//;p;}' | words; }

# The items of the section ".Ss lull COMMAND": "Fl x" is -x, "Fl -name" is --name.
of_manual() {
    awk -v section=".Ss lull $1" '
        /^\.S[sh] / { is_in = $0 == section }
        is_in && /^\.It / { for (i = 2; i < NF; i++) if ($i == "Fl") print "-" $(i + 1) }
    ' "$root/tool/lull.1" | words
}

# shellcheck disable=SC2016 # bash expands it
of_completion() { bash -c '. "$1" && _lull_options "$2"' bash "$root/tool/completion/lull" "$1" | words; }

faults=0
count=0
for command in call serve watch; do
    of_help "$command" >"$work/help"
    count=$((count + $(wc -l <"$work/help")))
    for place in manual completion; do
        "of_$place" "$command" >"$work/$place"
        LC_ALL=C comm -23 "$work/help" "$work/$place" >"$work/missing"
        LC_ALL=C comm -13 "$work/help" "$work/$place" >"$work/extra"
        sed "s|.*|lull $command: & is missing in the $place|" "$work/missing"
        sed "s|.*|lull $command: & is in the $place, and not in the help|" "$work/extra"
        faults=$((faults + $(wc -l <"$work/missing") + $(wc -l <"$work/extra")))
    done
    test -s "$work/help" || {
        echo "lull $command: its help has no option"
        faults=$((faults + 1))
    }
done

if test "$faults" -gt 0; then
    echo "check-options: $faults fault(s)"
    exit 1
fi
echo "check-options: $count options, each in the help, the manual page and the completion"
