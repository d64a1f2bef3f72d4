# SPDX-License-Identifier: MIT
#
# Prints C source with comments gone and with string and character literals emptied, line for line. Used by the check scripts.
{
    line = $0
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
        while (line != "") {
            c = substr(line, 1, 1)
            line = substr(line, c == "\\" ? 3 : 2)
            if (c == found)
                break
        }
        out = out found found
    }
    print out
}
