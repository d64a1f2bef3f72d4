#!/bin/sh
# SPDX-License-Identifier: MIT
#
# guard.sh: lull's own instructions, of a fixed script of operations, are no more than they were.
#
#   guard.sh             counts and compares with bench/guard.baseline; 77 and a line when there is nothing to compare with
#   guard.sh --show      counts and prints
#   guard.sh --update    counts and writes them into bench/guard.baseline, for this compiler and these flags: make guard-baseline
#   guard.sh --compare BASELINE KEY COUNTS    only compares (what tests/scripts/guard_test.sh tries)
#
# Counted by callgrind, which does not drift: bench/guard_ops.c is the script, and of what it runs only the functions of src/ count, not
# libc's, nghttp2's or the peer's. More than 3 % above the baseline is a failure. How many there are is the compiler's affair, so
# a baseline is for one compiler, its flags and what configure was told; another one has none, which is said, and is no failure. A
# deadline on a call may cost 250 instructions, whatever the compiler, when it optimises (-O2, -O3).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
builddir=${abs_top_builddir:-$here/../build}
baseline=$here/guard.baseline
tolerance=3
deadline_most=250
operations='unary deadline message push lane claim unguarded'

# compare BASELINE KEY COUNTS: COUNTS has lines "operation<TAB>instructions", BASELINE the same with the key before them.
compare() {
    awk -F '\t' -v key="$2" -v tolerance="$tolerance" -v most="$deadline_most" '
        FNR == NR {
            if ($0 !~ /^#/ && $1 == key) {
                was[$2] = $3
                known++
            }
            next
        }
        {
            is[$1] = $2
            order[++count] = $1
        }
        END {
            extra = is["deadline"] - is["unary"]
            is_judged = key ~ /(^| )-O[23]( |,|$)/
            if (!("deadline" in is) || !("unary" in is) || (is_judged && extra > most)) {
                printf "guard: a deadline costs %d instructions a call, %d are allowed\n", extra, most
                faults++
            } else
                printf "guard: a deadline costs %d instructions a call of %d allowed%s\n", extra, most, is_judged ? "" : " with -O2"
            if (!known && !faults) {
                printf "guard: no baseline for %s: the rest was not compared; make guard-baseline makes one\n", key
                exit 77
            }
            for (i = 1; i <= count; i++) {
                name = order[i]
                if (!(name in was) || was[name] <= 0) {
                    if (known) {
                        printf "guard: %-10s is not in the baseline\n", name
                        faults++
                    }
                    continue
                }
                percent = (is[name] - was[name]) * 100 / was[name]
                verdict = percent > tolerance + 0.001 ? "MORE than allowed" : percent < -tolerance ? "fewer: make guard-baseline" : "ok"
                printf "guard: %-10s %8.1f instructions, %8.1f before, %+5.1f %%  %s\n", name, is[name], was[name], percent, verdict
                faults += percent > tolerance + 0.001
            }
            for (name in was)
                if (!(name in is)) {
                    printf "guard: %s is in the baseline and was not counted\n", name
                    faults++
                }
            exit faults > 0
        }' "$1" "$3"
}

if test "${1-}" = --compare; then
    compare "$2" "$3" "$4"
    exit
fi

program=$builddir/bench/guard_ops
test -x "$program" || {
    echo "guard: $program is not built: make bench/guard_ops" >&2
    exit 1
}
if ! command -v valgrind >/dev/null 2>&1; then
    echo "guard: valgrind is not installed (tests/peers/setup does it): nothing was counted"
    exit 77
fi
case " ${GUARD_FLAGS-} " in
*" -fsanitize="*)
    echo "guard: valgrind runs no sanitizer's program: nothing was counted"
    exit 77
    ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

triggers=
for one in $operations; do
    triggers="$triggers --zero-before=steady_$one --dump-after=steady_$one"
done
# shellcheck disable=SC2086 # a list of words, ours
if ! valgrind --tool=callgrind --callgrind-out-file="$work/out" --compress-strings=no --compress-pos=no $triggers \
    "$program" >"$work/said" 2>"$work/errors"; then
    cat "$work/errors" >&2
    exit 1
fi
read -r times kind <"$work/said"

# Each was dumped twice, after the warming up and after the steady run; the parts are numbered in that order.
number=0
for one in $operations; do
    number=$((number + 2))
    if ! grep -q "^desc: Trigger: --dump-after=steady_$one\$" "$work/out.$number"; then
        echo "guard: part $number of callgrind's is not steady_$one" >&2
        exit 1
    fi
    total=$(awk -f "$here/guard.awk" "$work/out.$number")
    if test "$total" -eq 0; then
        echo "guard: nothing of src/ was seen in steady_$one: built without -g?"
        exit 77
    fi
    awk -v one="$one" -v total="$total" -v times="$times" 'BEGIN { printf "%s\t%.1f\n", one, total / times }'
done >"$work/counts"

# Whatever name it was called by.
compiler=$(${CC:-cc} --version | sed -e 's/^[^ ]*cc /gcc /' -e 1q)
nghttp2=$("${PKG_CONFIG:-pkg-config}" --modversion libnghttp2 2>/dev/null || echo unknown)
key="$compiler, $(uname -m), flags ${GUARD_FLAGS-unknown}, $kind, nghttp2 $nghttp2"
key=$(echo "$key" | tr -s " \t" " " | sed "s, \,,\,,g")

case ${1-} in
--show)
    echo "# $key"
    cat "$work/counts"
    ;;
--update)
    {
        grep '^#' "$baseline" 2>/dev/null || echo "# Instructions of src/ an operation, by bench/guard.sh --update: key, operation, instructions."
        if test -f "$baseline"; then
            awk -F '\t' -v key="$key" '!/^#/ && $1 != key' "$baseline"
        fi
        sed "s|^|$(printf '%s' "$key" | sed 's/[&|\\]/\\&/g')	|" "$work/counts"
    } >"$work/new"
    cat "$work/new" >"$baseline"
    echo "guard: bench/guard.baseline has counts for $key"
    ;;
*)
    compare "$baseline" "$key" "$work/counts"
    ;;
esac
