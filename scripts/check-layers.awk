# SPDX-License-Identifier: MIT
#
# The judgement of check-layers.sh. Reads doc/LAYERS.txt, and from standard input the lines of all sources as strip-c.awk gives them
# with keep and where: "file:line:", a tab, the line.
function fault(text) {
    print at " " text
    faults++
}
function words(set, list,    i, n, w) {
    n = split(list, w, " ")
    for (i = 1; i <= n; i++)
        set[w[i]] = 1
}

# ---- doc/LAYERS.txt
function read_layers(    line, n, w, i, row) {
    while ((getline line <"doc/LAYERS.txt") > 0) {
        at = "doc/LAYERS.txt:" ++row ":"
        sub(/#.*/, "", line)
        n = split(line, w, " ")
        if (n == 0)
            continue
        if (w[1] ~ /^[0-9]+$/ && n >= 2) {
            number[w[2]] = w[1] + 0
            for (i = 3; i <= n; i++) {
                narrowed[w[2]] = 1
                lower[w[2], w[i]] = 1
            }
        } else if (n < 3 || w[1] !~ /^(public|only|system|library|calls)$/)
            fault("cannot read this line")
        else
            for (i = 3; i <= n; i++) {
                if (w[1] == "public")
                    layer_of["lull/" w[i]] = w[2]
                else if (w[1] == "only") {
                    has_only[w[2]] = 1
                    only[w[2], "lull/" w[i]] = 1
                } else if (w[1] != "calls") # check-symbols.sh reads those
                    allowed[w[2], w[i]] = 1
            }
    }
}
function is_allowed(where, name,    slash) {
    slash = index(name, "/")
    return (where, name) in allowed || (slash > 0 && (where, substr(name, 1, slash)) in allowed)
}
function is_system(name) {
    return name in os_header || name ~ /^(sys|netinet|arpa|net|netpacket|linux|asm|bits)\//
}

# What only dir lists must not bring in what it does not list: all that h includes, and so on.
function reach(dir, h, from,    n, i, w) {
    if (!((dir, h) in only)) {
        at = "doc/LAYERS.txt:"
        fault(dir " may include " from ", which includes " h)
        return
    }
    if ((dir, h) in reached)
        return
    reached[dir, h] = 1
    n = split(includes[h], w, " ")
    for (i = 1; i <= n; i++)
        reach(dir, w[i], h)
}

# ---- a file of src/ that is not include lines: prototypes in a .c, file I/O
function statement(text) {
    if (text ~ /(^|[^A-Za-z0-9_])extern([^A-Za-z0-9_]|$)/)
        fault("extern in a .c file: include the header that declares it")
    else if (text ~ /\(/ && text !~ /=/ && text !~ /(^|[^A-Za-z0-9_])(static|typedef|_Static_assert|static_assert)([^A-Za-z0-9_]|$)/)
        fault("a prototype in a .c file: static, or in the header of its noun, which says its layer")
}
function code(text,    c) {
    if (!(dir in does_io) && match(text, stream_call))
        fault("file I/O in " dir "/: that is for loop and net")
    if (path !~ /\.c$/)
        return
    if (text ~ /^\}/) {
        depth = 0
        stmt = ""
        text = substr(text, 2)
    }
    while (match(text, /[{};]/)) {
        c = substr(text, RSTART, 1)
        if (depth == 0 && c != "}")
            stmt = stmt " " substr(text, 1, RSTART - 1)
        text = substr(text, RSTART + 1)
        if (c == "{")
            depth++
        else if (c == "}") {
            if (depth > 0)
                depth--
            if (depth == 0)
                stmt = ""
        } else if (depth == 0) {
            statement(stmt)
            stmt = ""
        }
    }
    if (depth == 0)
        stmt = stmt " " text
}

# ---- include lines, by area
function of_public_header(name, quoted) {
    if (name ~ /^lull\//) {
        includes[substr(path, length("include/") + 1)] = includes[substr(path, length("include/") + 1)] " " name
        return
    }
    if (path ~ /^include\/lull\/adapters\//)
        return
    if (quoted || !(name in c_header))
        fault("\"" name "\": a public header includes C headers and lull/ headers only")
}
function of_program(name, quoted) {
    if (is_public || name == "config.h" || is_allowed(area, name))
        return
    if ((area == "tool" || area == "examples") && quoted && name ~ /\// && index(name, area "/") != 1)
        fault("\"" name "\": " area "/ includes public headers, its own and the system headers only")
    else if (!quoted && !(name in c_header) && !is_system(name))
        fault("<" name ">: a header of another library; no library line of doc/LAYERS.txt allows it in " area "/")
}
function of_layer(name, to) {
    if (to == dir || !(dir in number))
        return
    if (number[to] > number[dir])
        fault("\"" name "\": " dir " (layer " number[dir] ") includes upwards, " to " is layer " number[to])
    else if (number[to] == number[dir])
        fault("\"" name "\": " dir " includes sideways, " to " is layer " number[to] " too")
    else if ((dir in narrowed) && !((dir, to) in lower))
        fault("\"" name "\": " dir " may not include " to)
}
function of_src(name, quoted,    slash, to) {
    if (name == "config.h")
        return
    slash = index(name, "/")
    to = substr(name, 1, slash - 1)
    if (is_public) {
        if (!(name in layer_of))
            fault("\"" name "\": on no public line of doc/LAYERS.txt")
        else if (!(dir in has_only))
            of_layer(name, layer_of[name])
        else if (!((dir, name) in only))
            fault("\"" name "\": " dir " may not include it, see its only line in doc/LAYERS.txt")
    } else if (quoted) {
        if (slash == 0)
            fault("\"" name "\": write it as \"dir/file.h\", so that the include says its layer")
        else if (!(to in number))
            fault("\"" name "\": directory " to " is not in doc/LAYERS.txt")
        else
            of_layer(name, to)
    } else if (slash > 0 && to in number && system("test -f src/" name) == 0)
        fault("<" name ">: our own headers are written with quotes")
    else if (is_allowed(stem, name) || is_allowed(dir, name))
        ;
    else if (dir == "policy") {
        if (!(name in policy_header))
            fault("<" name ">: policy is arithmetic; no socket, no clock, no allocation, no system header")
    } else if (is_system(name)) {
        if (!(dir in os_layer))
            fault("<" name ">: operating system headers belong in src/net and src/loop")
    } else if (!(name in c_header))
        fault("<" name ">: a header of another library; no library line of doc/LAYERS.txt allows it in " dir "/")
}

BEGIN {
    # strings.h is string.h by another name.
    words(c_header, "assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h math.h setjmp.h " \
        "signal.h stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h string.h " \
        "strings.h tgmath.h threads.h time.h uchar.h wchar.h wctype.h")
    words(policy_header, "limits.h inttypes.h stdalign.h stdbool.h stddef.h stdint.h string.h")
    # C or not: a signal, a clock and a thread come from the operating system too.
    words(os_header, "aio.h alloca.h byteswap.h dirent.h dlfcn.h elf.h endian.h err.h execinfo.h fcntl.h features.h fnmatch.h " \
        "getopt.h glob.h grp.h iconv.h ifaddrs.h langinfo.h libgen.h link.h malloc.h mqueue.h netdb.h poll.h pthread.h " \
        "pwd.h regex.h resolv.h sched.h search.h semaphore.h signal.h spawn.h syscall.h syslog.h termios.h threads.h " \
        "time.h ucontext.h unistd.h utime.h wordexp.h")
    words(os_layer, "loop net")
    # base prints an invariant that broke; loop and net are what I/O there is.
    words(does_io, "base loop net")
    stream_call = "(^|[^A-Za-z0-9_])((fopen|fopen64|fdopen|freopen|fmemopen|popen|tmpfile|tmpnam|mkstemp|fread|fwrite|fgets|" \
        "fputs|fprintf|vfprintf|dprintf|perror|stdin|stdout|stderr)([^A-Za-z0-9_]|$)|" \
        "(printf|vprintf|puts|putchar|getchar|scanf|remove|rename|getenv|system)[ \t]*\\()|" \
        "(^|[^A-Za-z0-9_.>])(open|openat|creat|socket|socketpair|accept4|sendto|recvfrom|recvmsg|sendmsg|ioctl|fcntl|mmap|" \
        "fork|vfork|execve)[ \t]*\\("
    read_layers()
}

{
    tab = index($0, "\t")
    at = substr($0, 1, tab - 1)
    text = substr($0, tab + 1)
    split(at, part, ":")
    if (part[1] != path) {
        files++
        path = part[1]
        depth = 0
        stmt = ""
        parts = split(path, piece, "/")
        area = piece[1]
        dir = area == "src" && parts > 2 ? piece[2] : ""
        stem = path
        sub(/^src\//, "", stem)
        sub(/\.[ch]$/, "", stem)
        if (area == "src" && dir == "")
            fault("a source file belongs in a directory of doc/LAYERS.txt")
        else if (area == "src" && !(dir in number))
            fault("directory " dir " is not in doc/LAYERS.txt")
    }
}

text !~ /^[ \t\f\v\r]*(#|%:|\?\?=)/ {
    if (area == "src" && dir != "")
        code(text)
    next
}

{ sub(/^[ \t\f\v\r]*(#|%:|\?\?=)[ \t\f\v]*/, "", text) }
text !~ /^(include|import|embed)/ { next }
text !~ /^include[ \t\f\v]*("[^"<>]+"|<[^"<>]+>)[ \t\f\v\r]*$/ {
    fault("an include names its file by a literal, once, with #include: #" text)
    next
}
{
    sub(/^include[ \t\f\v]*/, "", text)
    quoted = substr(text, 1, 1) == "\""
    name = substr(text, 2)
    sub(/[">].*/, "", name)
    is_public = name ~ /^lull\/[A-Za-z0-9_\/]+\.h$/
}
name ~ /^\/|\/\/|(^|\/)\.\.?\// { fault("\"" name "\": no . or .. in an include, nothing from the root"); next }
name !~ /\.h$/ { fault("\"" name "\": what is included ends in .h"); next }
area == "include" { of_public_header(name, quoted); next }
area != "src" { of_program(name, quoted); next }
{ of_src(name, quoted) }

END {
    for (pair in only) {
        split(pair, part, SUBSEP)
        reach(part[1], part[2], part[2])
    }
    if (faults > 0) {
        printf "check-layers: %d fault(s)\n", faults
        exit 1
    }
    printf "check-layers: %d files keep to their layers\n", files
}
