#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-testing.sh [ROOT]: the tests that doc/TESTING.md names are there.
#
# A word in backquotes with an underscore and without a capital is a test, START_TEST(word); with … at one end it is a family, of which
# one is enough. What stands before a colon in the same cell ("channel_idle: `x`, `y`") is the program: tests/…/channel_idle_test.c
# has them. Functions are known by a header, paths by being there. Names with capitals are other people's.
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"
page=doc/TESTING.md

{
    grep -rEo --include='*_test.c' 'START_TEST\([A-Za-z0-9_]+\)' tests examples 2>/dev/null || :
    grep -rEoh --include='*.h' '[a-z][a-z0-9_]*_[a-z0-9_]+' include testkit tests 2>/dev/null | sort -u | sed 's/^/header:/' || :
    echo "page:"
    cat "$page"
} | awk '
BEGIN { dots = "\342\200\246" }

function fault(text) { print "doc/TESTING.md:" line ": " text; faults++ }

# The programs whose path ends in name, each as " path ".
function programs_of(name,    found, path) {
    found = ""
    for (path in program) {
        if (path == name || substr(path, length(path) - length(name)) == "/" name) {
            found = found " " path " "
        }
    }
    return found
}

# A test of that name, in one of these programs ("": in any).
function is_test(name, programs,    list, n, i) {
    n = split(in_program[name], list, " ")
    for (i = 1; i <= n; i++) {
        if (programs == "" || index(programs, " " list[i] " ") > 0) {
            return 1
        }
    }
    return 0
}

function is_family(part, at_end, programs,    name, piece) {
    for (name in in_program) {
        piece = at_end ? substr(name, length(name) - length(part) + 1) : substr(name, 1, length(part))
        if (piece == part && is_test(name, programs)) {
            return 1
        }
    }
    return 0
}

function judge_word(word, programs) {
    if (word ~ /^(tests|testkit|examples|scripts|src|doc|include)\/[A-Za-z0-9_.\/-]*$/) {
        sub(/\/$/, "", word)
        if (system("test -e " word) != 0) {
            fault(word " is not there")
        }
        return
    }
    if (substr(word, 1, 3) == dots || substr(word, length(word) - 2) == dots) {
        checked++
        if (substr(word, 1, 3) == dots ? !is_family(substr(word, 4), 1, programs) \
                                       : !is_family(substr(word, 1, length(word) - 3), 0, programs)) {
            fault("no test of the family " word)
        }
        return
    }
    if (word !~ /^[a-z0-9_]+$/ || word !~ /_/) {
        return
    }
    checked++
    if (!(word in in_program)) {
        if (!(word in declared)) {
            fault("no test " word)
        }
    } else if (!is_test(word, programs)) {
        fault(word " is not in the program that is named")
    }
}

# The words in backquotes of one cell, each with the program named before it.
function judge_cell(cell,    programs, before, tick, word, name) {
    programs = ""
    while ((tick = index(cell, "`")) > 0) {
        before = substr(cell, 1, tick - 1)
        cell = substr(cell, tick + 1)
        if (match(before, /[a-z0-9_\/]+: $/)) {
            name = substr(before, RSTART, RLENGTH - 2)
            programs = programs_of(name)
            if (programs == "") {
                fault("no program " name)
            }
        }
        tick = index(cell, "`")
        if (tick == 0) {
            return
        }
        word = substr(cell, 1, tick - 1)
        cell = substr(cell, tick + 1)
        judge_word(word, programs)
    }
}

!is_page && /^page:$/ { is_page = 1; next }
!is_page && /^header:/ { declared[substr($0, 8)] = 1; next }
!is_page {
    split($0, part, ":START_TEST\\(")
    sub(/\)$/, "", part[2])
    sub(/_test\.c$/, "", part[1])
    program[part[1]] = 1
    in_program[part[2]] = in_program[part[2]] " " part[1]
    next
}
{
    line++
    if ($0 ~ /^```/) {
        is_code = !is_code
    }
    if (is_code) {
        next
    }
    n = split($0, cells, "|")
    for (i = 1; i <= n; i++) {
        judge_cell(cells[i])
    }
}
END {
    if (checked == 0) {
        print "check-testing: no test is named in doc/TESTING.md"
        exit 1
    }
    if (faults > 0) {
        print "check-testing: " faults " fault(s)"
        exit 1
    }
    print "check-testing: " checked " names"
}'
