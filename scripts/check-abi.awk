# SPDX-License-Identifier: MIT
#
# Reads public headers, stripped by strip-c.awk, and prints a C program that prints what a compiled program knows of them: a line for
# each constant, enumerator, struct, field, function type and function. Called by check-abi.sh.
#
# What it cannot read is a fault, never passed over: a field is what the compiler finds under the name that was read here.
function squeezed(text) {
    gsub(/[ \t\n]+/, " ", text)
    sub(/^ /, "", text)
    sub(/ $/, "", text)
    return text
}

function fault(text) {
    print "check-abi: cannot read: " squeezed(text) | "cat >&2"
    failed = 1
}

# The last name of a declarator, array bounds left out: "int *name[4]", "int (*name)(void)".
function name_of(declarator) {
    sub(/.*\}/, "", declarator)
    if (match(declarator, /\(\*[ ]*[a-z_][A-Za-z0-9_]*/)) {
        declarator = substr(declarator, RSTART + 2, RLENGTH - 2)
        sub(/^ */, "", declarator)
        return declarator
    }
    gsub(/\[[^\]]*\]/, "", declarator)
    declarator = squeezed(declarator)
    return match(declarator, /[A-Za-z_][A-Za-z0-9_]*$/) ? substr(declarator, RSTART) : ""
}

function field(struct, text,    i, n, parts, name, first) {
    text = squeezed(text)
    if (text == "")
        return
    # Bits have no offset.
    if (text ~ /:/) {
        fault(text)
        return
    }
    # Several names on one line are several fields; commas between parentheses are arguments. A struct without a name is one field.
    n = text ~ /[({]/ ? 1 : split(text, parts, ",")
    if (n == 1)
        parts[1] = text
    first = parts[1]
    sub(/[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])*$/, "", first)
    for (i = 1; i <= n; i++) {
        name = name_of(parts[i])
        if (name == "") {
            fault(text)
            continue
        }
        printf "    F(%s, %s, \"%s\");\n", struct, name, i == 1 ? squeezed(parts[1]) : squeezed(first parts[i])
    }
}

function fields(struct, body,    text, mark, level) {
    while (match(body, /[{};]/)) {
        text = text substr(body, 1, RSTART - 1)
        mark = substr(body, RSTART, 1)
        body = substr(body, RSTART + 1)
        level += mark == "{" ? 1 : mark == "}" ? -1 : 0
        if (mark == ";" && level == 0) {
            field(struct, text)
            text = ""
        } else
            text = text mark
    }
    field(struct, text body)
}

function statement(text,    body, head, i, n, parts, name) {
    text = squeezed(text)
    if (match(text, /^(struct|enum) lull_[a-z0-9_]+ \{/)) {
        head = substr(text, 1, RLENGTH - 2)
        body = substr(text, RLENGTH + 1)
        if (!sub(/\}$/, "", body)) {
            fault(text)
            return
        }
        if (head ~ /^struct /) {
            printf "    S(%s);\n", head
            fields(head, body)
            return
        }
        printf "    N(%s);\n", head
        n = split(body, parts, ",")
        for (i = 1; i <= n; i++) {
            name = squeezed(parts[i])
            sub(/ ?=.*/, "", name)
            if (name != "")
                printf "    E(%s, %s);\n", head, name
        }
        return
    }
    if (text ~ /[{}]/ && text !~ /^static inline /)
        fault(text)
    else if (text ~ /^static inline / || text ~ /(^| )LULL_API( |$)/ || text ~ /^typedef /) {
        sub(/ ?\{.*/, "", text)
        sub(/LULL_API /, "", text)
        printf "    puts(\"%s\");\n", text
    } else if (text !~ /^struct [a-z0-9_]+$/ && text != "")
        fault(text)
}

BEGIN {
    print "#include <lull/lull.h>"
    print "#include <stdio.h>"
    print "#define S(s) printf(#s \" bytes=%zu align=%zu\\n\", sizeof(s), _Alignof(s))"
    print "#define F(s, f, t) printf(#s \" at=%zu bytes=%zu \" t \"\\n\", offsetof(s, f), sizeof(((s *)0)->f))"
    print "#define N(e) printf(#e \" bytes=%zu\\n\", sizeof(e))"
    print "#define E(e, v) printf(#e \" \" #v \"=%lld\\n\", (long long)(v))"
    print "#define C(c) printf(#c \"=%lld\\n\", (long long)(c))"
    print "int main(void)\n{"
}
/^[ \t]*#/ {
    # A constant; the value of a string is empty here, and what stands for an attribute is none.
    if (match($0, /^#[ \t]*define[ \t]+LULL_[A-Z0-9_]+[ \t]+[^ \t]/)) {
        split($0, word, /[ \t]+/)
        if (word[3] !~ /^("|__)/)
            printf "    C(%s);\n", word[2]
    }
    next
}
{
    line = $0 "\n"
    while (match(line, /[{};]/)) {
        before = substr(line, 1, RSTART - 1)
        mark = substr(line, RSTART, 1)
        line = substr(line, RSTART + 1)
        pending = pending before
        if (mark == "{") {
            # extern "C", whose literal strip-c.awk has emptied, opens nothing.
            if (depth == 0 && squeezed(pending) == "extern \"\"")
                pending = ""
            else {
                depth++
                pending = pending "{"
            }
        } else if (mark == "}") {
            if (depth == 0) {
                pending = ""
                continue
            }
            depth--
            pending = pending "}"
            if (depth == 0 && squeezed(pending) ~ /^static inline /) {
                statement(pending)
                pending = ""
            }
        } else if (depth == 0) {
            statement(pending)
            pending = ""
        } else
            pending = pending ";"
    }
    pending = pending line
}
END {
    print "    return 0;\n}"
    if (depth != 0 || squeezed(pending) != "")
        fault("the end of the headers: " pending)
    exit failed
}
