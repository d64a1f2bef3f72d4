# SPDX-License-Identifier: MIT
#
# For check-unguarded.sh: the unguarded releases of one file. Variables: file, its name; code, the same file without comments.
# Prints "site FILE FUNCTION: REASON" or "fault FILE:LINE: ..."; exits 1 after a fault.

# The comment that ends on line `last`, as one line of words; "" when there is none.
function comment_above(last,    text, first) {
    first = last
    if (line[last] !~ /\*\/[ \t]*$/)
        return ""
    while (first > 0 && line[first] !~ /\/\*/)
        first--
    for (text = ""; first <= last; first++)
        text = text " " line[first]
    sub(/^.*\/\*+/, "", text)
    sub(/\*\/.*$/, "", text)
    gsub(/[ \t]+\*[ \t]+/, " ", text)
    gsub(/[ \t]+/, " ", text)
    sub(/^ /, "", text)
    sub(/ $/, "", text)
    return text
}

{
    line[NR] = $0
}

END {
    while ((getline text <code) > 0) {
        number++
        # The head of a function begins in column 0.
        if (match(text, /^[A-Za-z_][^=;]*[A-Za-z0-9_]+\(/)) {
            name = substr(text, 1, RLENGTH - 1)
            sub(/^.*[^A-Za-z0-9_]/, "", name)
        }
        if (text !~ /(^|[^A-Za-z0-9_])(lull_)?recycler_release_unguarded([^A-Za-z0-9_]|$)/)
            continue
        # Where they are defined.
        if (file ~ /^src\/base\/recycler(_parts\.h|\.c)$/ && text ~ /^(static inline )?void /)
            continue
        reason = comment_above(number - 1)
        if (reason !~ /^unguarded: /) {
            print "fault " file ":" number ": an unguarded release needs /* unguarded: REASON */ right above it"
            faults++
        } else if (split(reason, words, " ") < 6) {
            print "fault " file ":" number ": say why in at least five words"
            faults++
        } else {
            sub(/^unguarded: /, "", reason)
            print "site " file " " name ": " reason
        }
    }
    exit faults > 0
}
