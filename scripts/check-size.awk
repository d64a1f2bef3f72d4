# SPDX-License-Identifier: MIT
#
# The judgement of check-size.sh. Reads the allow-list, and from standard input the lines of all files as strip-c.awk gives them with
# where: "file:line:", a tab, the line.
function fault(text) {
    print text
    faults++
}
# Past the limit: over is a fault, unless the list allows as much.
function judge(what, lines, limit) {
    if (lines <= limit)
        return
    if (what in allowed) {
        needed[what] = 1
        if (lines > allowed[what])
            fault(what ": grew to " lines " lines, " list " allows " allowed[what])
    } else {
        fault(what ": " lines " lines, the limit is " limit)
    }
}
function read_list(    entry, n, w, row) {
    while ((getline entry <list) > 0) {
        row++
        sub(/#.*/, "", entry)
        n = split(entry, w, " ")
        if (n == 0)
            continue
        if (n != 3 || w[1] !~ /^[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]$/ || w[3] !~ /^[0-9]+$/)
            fault(list ":" row ": cannot read this line")
        else if (w[1] > closed_on)
            fault(list ":" row ": the list was closed on " closed_on)
        else
            allowed[w[2]] = w[3] + 0
    }
}

function close_file() {
    if (path == "")
        return
    judge(path, lines, file_limit)
    if (is_c && depth > 0)
        fault(path ":" start ": a { without its }")
}

# The name of the function that declarator declares: what stands before its first parenthesis, attributes aside.
function name_of(declarator) {
    gsub(/__attribute__[ \t]*\(\([^()]*(\([^()]*\)[^()]*)*\)\)/, "", declarator)
    if (declarator ~ /^[ \t]*START_TEST[ \t]*\(/)
        sub(/^[ \t]*START_TEST[ \t]*\([ \t]*/, "", declarator)
    else
        sub(/[ \t]*\(.*/, "", declarator)
    sub(/[^A-Za-z0-9_]+$/, "", declarator)
    return match(declarator, /[A-Za-z0-9_]+$/) ? substr(declarator, RSTART, RLENGTH) : "?"
}

# Outside of braces, declarator is what has been read since the last ; or }. With a parenthesis and without a value it is a function's.
function code(text,    c) {
    if (text ~ /^\}/ && depth > 1) {
        fault(path ":" row ": a } in column 0 that ends no function; is an #if in the way of the braces?")
        depth = 1
    }
    while (match(text, /[{};]/)) {
        c = substr(text, RSTART, 1)
        if (depth == 0)
            declarator = declarator " " substr(text, 1, RSTART - 1)
        text = substr(text, RSTART + 1)
        if (c == "{") {
            # extern "C" { is no level of its own.
            if (depth == 0 && declarator ~ /(^|[ \t])extern[ \t]+""[ \t]*$/) {
                declarator = ""
                continue
            }
            if (depth++ == 0) {
                start = row
                is_function = declarator ~ /\(/ && declarator !~ /=/
                name = is_function ? name_of(declarator) : ""
            }
        } else if (c == "}") {
            if (depth > 0 && --depth == 0 && is_function)
                judge(path ":" name, row - start + 1, function_limit)
            declarator = ""
        } else if (depth == 0)
            declarator = ""
    }
    if (depth == 0)
        declarator = declarator " " text
}

BEGIN { read_list() }

{
    tab = index($0, "\t")
    text = substr($0, tab + 1)
    split(substr($0, 1, tab - 1), part, ":")
    if (part[1] != path) {
        close_file()
        path = part[1]
        is_c = path ~ /\.(c|h|inc|inl|def)$/
        depth = 0
        declarator = ""
    }
    row = part[2] + 0
    lines = row
}
is_c && text !~ /^[ \t]*(#|%:)/ { code(text) }

END {
    close_file()
    for (what in allowed)
        if (!(what in needed))
            fault(what ": fits again or is gone; take it off " list)
    if (faults > 0) {
        printf "check-size: %d fault(s)\n", faults
        exit 1
    }
    print "check-size: every file and function fits"
}
