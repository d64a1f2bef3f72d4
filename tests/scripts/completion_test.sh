#!/bin/sh
# SPDX-License-Identifier: MIT
# tool/completion/lull, sourced in bash, completes what is typed.
set -eu
. "$(dirname "$0")/plant.sh"

command -v bash >/dev/null 2>&1 || exit 77
mkdir "$tree/files"
: >"$tree/files/root one.pem"
: >"$tree/files/leaf.key"

# offered WORD...: what bash would offer for the last of the words, which may be empty, a line each.
# shellcheck disable=SC2016 # bash expands it
offered() {
    bash -c '
        cd "$1" || exit 1
        . "$2"
        shift 2
        complete -p lull | grep -q _lull || exit 1
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        _lull
        printf "%s\n" "${COMPREPLY[@]}" | LC_ALL=C sort
    ' bash "$tree/files" "$top/tool/completion/lull" "$@" | paste -s -d '|' -
}

# offers NAME EXPECTED WORD...
offers() {
    what=$1 expected=$2 && shift 2
    # shellcheck disable=SC2317 # passes calls it
    same() {
        got=$(offered "$@")
        test "$got" = "$expected" || {
            echo "expected '$expected', got '$got'"
            return 1
        }
    }
    passes "$what" same "$@"
}

offers "commands" "--version|call|help|serve|watch" lull ""
offers "the rest of a command" "serve" lull s
offers "what there is help for" "call|serve|watch" lull help ""
offers "nothing behind that" "" lull help call ""
offers "options of a call" "--data-hex|--deadline|--delimited" lull call --d
offers "short ones too" "-H" lull call -H
offers "options behind a target" "--wait-for-ready" lull call 127.0.0.1:80 --w
offers "options of serve" "--max-age|--max-age-grace|--max-idle|--max-streams" lull serve --max
offers "options of watch" "--reconnect" lull watch --rec
offers "files for a certificate" "leaf.key|root one.pem" lull call --cacert ""
offers "those that begin so" "leaf.key" lull serve --key le
offers "files behind an equals sign" "leaf.key|root one.pem" lull watch --cert =
offers "and those that begin so" "root one.pem" lull watch --cert = root
offers "nothing for a time" "" lull call --deadline ""
offers "nothing for a target" "" lull call ""

finish
