#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-race.sh [ROOT]: every test program in which threads are made is on the list of tests/race.mk, so that `qa.sh race` runs it under
# TSan, and every name on the list is a program. A header that makes threads speaks for the programs that include it.
set -eu
cd "${1:-$(dirname "$0")/..}"
threads='(pthread_create|lull_loop_start)[[:space:]]*\('
faults=0

fault() {
    echo "tests/race.mk: $1"
    faults=$((faults + 1))
}

# The programs that their own file, or a header of tests/ with threads in it, shows to have threads.
with_threads() {
    grep -rlE --include='*_test.c' "$threads" tests || :
    grep -rlE --include='*.h' "$threads" tests | while read -r header; do
        grep -rlF --include='*_test.c' "#include \"$header\"" tests || :
    done
}

listed=$(sed -n 's,^[[:space:]]*\(tests/[^ ]*_test\).*,\1,p' tests/race.mk)
for source in $(with_threads | sort -u); do
    case "
$listed
" in
    *"
${source%.c}
"*) ;;
    *) fault "${source%.c} has threads and is not on the list" ;;
    esac
done
for name in $listed; do
    grep -rqE --include='*.mk' "(^|[[:space:]])$name([[:space:]]|\$)" tests/unit tests/sim tests/integ ||
        fault "$name is no program of ours"
done
test "$faults" -eq 0
