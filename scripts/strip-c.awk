# SPDX-License-Identifier: MIT
#
# Prints C source with comments gone and with string and character literals emptied, line for line. Used by the check scripts.
#
#   -v keep=1     leaves the literals of preprocessor lines as they are: an #include without its name says nothing
#   -v where=1    puts "file:line:" and a tab before each line
#
# Lines that end in a backslash are joined first, as the compiler does; the lines they came from stay behind empty.
function strip(line,    out, at, found, c, literal) {
    out = ""
    while (line != "") {
        if (in_comment) {
            at = index(line, "*/")
            if (at == 0)
                break
            in_comment = 0
            line = substr(line, at + 2)
            out = out " "
            continue
        }
        if (!match(line, /\/\*|\/\/|"|'/)) {
            out = out line
            break
        }
        out = out substr(line, 1, RSTART - 1)
        found = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        if (found == "//")
            break
        if (found == "/*") {
            in_comment = 1
            continue
        }
        # A literal: skip to the quote that ends it. Escapes come in pairs.
        literal = ""
        while (line != "") {
            c = substr(line, 1, substr(line, 1, 1) == "\\" ? 2 : 1)
            line = substr(line, length(c) + 1)
            if (c == found)
                break
            literal = literal c
        }
        out = out found (keep && out ~ /^[ \t\f\v]*(#|%:)/ ? literal : "") found
    }
    return out
}

function emit(    i) {
    print (where ? file ":" first ":\t" : "") strip(logical)
    for (i = 1; i < held; i++)
        print (where ? file ":" first + i ":\t" : "")
    held = 0
}

FNR == 1 {
    if (held > 0)
        emit()
    in_comment = 0
    file = FILENAME
}
{
    if (held++ == 0) {
        first = FNR
        logical = $0
    } else
        logical = logical $0
    if (!sub(/\\[ \t\r]*$/, "", logical))
        emit()
}
END {
    if (held > 0)
        emit()
}
