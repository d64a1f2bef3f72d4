#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-symbols.sh [--root ROOT] [--build BUILD]: the built objects keep to the layers of doc/LAYERS.txt too.
#
# check-layers.sh reads what a file says, this script what the compiler made of it: a prototype written by hand, a macro or a
# function taken by address cannot hide a call. An object takes symbols from its own directory and lower ones; a function of
# another library needs a `calls` line, and a real clock is read by time/clock_monotonic alone.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/..
build=${abs_top_builddir:-.}
while test $# -gt 0; do
    case $1 in
    --root) root=$2 && shift 2 ;;
    --build) build=$2 && shift 2 ;;
    *) echo "check-symbols: what is $1?" >&2 && exit 2 ;;
    esac
done
root=$(cd "$root" && pwd)
cd "$build"

# The object of each source that exists; an object whose source has gone is somebody else's.
objects() {
    (cd "$root" && find src -name '*.c') | LC_ALL=C sort | while IFS= read -r source; do
        plain=${source%.c}.o
        shared=${source%/*}/.libs/${plain##*/}
        if test -f "$plain"; then
            echo "$plain"
        elif test -f "$shared"; then
            echo "$shared"
        fi
    done
}
set --
while IFS= read -r object; do
    test -z "$object" || set -- "$@" "$object"
done <<LIST
$(objects)
LIST
if test $# -eq 0; then
    echo "check-symbols: nothing is built in $build"
    exit 77
fi

# nm -A: "object:value type name", or "object: type name".
${NM:-nm} -A "$@" | awk -v layers="$root/doc/LAYERS.txt" -v objects=$# '
    function fault(text) {
        print text
        faults++
    }
    BEGIN {
        while ((getline line <layers) > 0) {
            sub(/#.*/, "", line)
            n = split(line, w, " ")
            if (n >= 2 && w[1] ~ /^[0-9]+$/) {
                number[w[2]] = w[1] + 0
                for (i = 3; i <= n; i++) {
                    narrowed[w[2]] = 1
                    lower[w[2], w[i]] = 1
                }
            } else if (w[1] == "calls")
                for (i = 3; i <= n; i++) {
                    if (w[i] ~ /\*$/)
                        prefixes[w[2]] = prefixes[w[2]] " " w[i]
                    else
                        calls[w[2], w[i]] = 1
                }
        }
        n = split("clock_gettime clock_getres gettimeofday ftime timespec_get time clock times getrusage syscall " \
            "clock_nanosleep nanosleep usleep sleep __clock_gettime64 __gettimeofday64 __time64", w, " ")
        for (i = 1; i <= n; i++)
            is_clock[w[i]] = 1
    }
    function may_call(who, name,    n, w, i) {
        if ((who, name) in calls)
            return 1
        n = split(prefixes[who], w, " ")
        for (i = 1; i <= n; i++)
            if (index(name, substr(w[i], 1, length(w[i]) - 1)) == 1)
                return 1
        return 0
    }
    {
        object = $1
        sub(/:.*/, "", object)
        type = $(NF - 1)
        name = $NF
        sub(/@.*/, "", name)
        stem = object
        sub(/^src\//, "", stem)
        sub(/\.libs\//, "", stem)
        sub(/\.o$/, "", stem)
        if (type ~ /^[UwvI]$/) {
            used++
            use_by[used] = stem
            use_of[used] = name
        } else if (type ~ /^[A-Z]$/ && type != "N") {
            home[name] = stem
            defined++
        }
    }
    END {
        if (defined == 0)
            fault("no symbol in any object; is " ENVIRON["NM"] " the nm of these objects?")
        for (i = 1; i <= used; i++) {
            stem = use_by[i]
            name = use_of[i]
            dir = stem
            sub(/\/.*/, "", dir)
            if (name in home) {
                to = home[name]
                sub(/\/.*/, "", to)
                if (to == dir)
                    continue
                if (number[to] >= number[dir])
                    fault("src/" stem ".c: " dir " (layer " number[dir] ") uses " name " of " home[name] " (layer " number[to] ")")
                else if ((dir in narrowed) && !((dir, to) in lower))
                    fault("src/" stem ".c: " dir " may not use " name " of " home[name])
            } else if (name in is_clock) {
                if (!((stem, name) in calls))
                    fault("src/" stem ".c: " name "() is for time/clock_monotonic")
            } else if (name !~ /^_/ && !may_call("all", name) && !may_call(dir, name) && !may_call(stem, name))
                fault("src/" stem ".c: no calls line of doc/LAYERS.txt lets " dir "/ use " name)
        }
        if (faults > 0) {
            printf "check-symbols: %d fault(s)\n", faults
            exit 1
        }
        printf "check-symbols: %d objects, %d uses keep to their layers\n", objects, used
    }
'
