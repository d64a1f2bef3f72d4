#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-layers.sh [ROOT]: every #include keeps to the layers of doc/LAYERS.txt.
#
#   src/          own directory or a lower layer, written "dir/file.h"; <nghttp2/...> only in h2; operating system headers
#                 only in loop and net, but for the `system` lines of LAYERS.txt; policy only C headers without
#                 allocation, files or time
#   include/lull  C headers and each other (adapters/ may include the library that it adapts to)
#   tool/, examples/   public headers, their own files and the system's; never src/
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"

find src include tool examples -name '*.[ch]' 2>/dev/null | LC_ALL=C sort | {
    set --
    while IFS= read -r file; do
        set -- "$@" "$file"
    done
    if test $# -eq 0; then
        echo "check-layers: no source file under $root" >&2
        exit 1
    fi
    awk '
        function fault(text) {
            printf "%s:%d: %s\n", FILENAME, FNR, text
            faults++
        }
        function words(set, list,    i, n, w) {
            n = split(list, w, " ")
            for (i = 1; i <= n; i++)
                set[w[i]] = 1
        }
        BEGIN {
            words(c_header, "assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h " \
                "math.h setjmp.h signal.h stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h " \
                "stdnoreturn.h string.h tgmath.h threads.h time.h uchar.h wchar.h wctype.h")
            words(policy_header, "limits.h inttypes.h stdalign.h stdbool.h stddef.h stdint.h string.h")
            # C or not: a signal, a clock and a thread come from the operating system too. pthread.h is let through: it
            # names no socket, and the inbox may need it.
            words(os_header, "aio.h dirent.h dlfcn.h fcntl.h ifaddrs.h mqueue.h netdb.h poll.h pwd.h grp.h resolv.h " \
                "sched.h semaphore.h signal.h spawn.h syslog.h termios.h time.h ucontext.h unistd.h")
            words(os_layer, "loop net")
        }

        # ---- doc/LAYERS.txt
        FILENAME == "doc/LAYERS.txt" {
            sub(/#.*/, "")
            if (NF == 0)
                next
            if ($1 == "system") {
                for (i = 3; i <= NF; i++)
                    may_include[$2, $i] = 1
            } else if ($1 ~ /^[0-9]+$/ && NF >= 2) {
                number[$2] = $1 + 0
                for (i = 3; i <= NF; i++) {
                    narrowed[$2] = 1
                    lower[$2, $i] = 1
                }
            } else {
                fault("cannot read this line")
            }
            next
        }

        FNR == 1 {
            parts = split(FILENAME, part, "/")
            area = part[1]
            dir = parts > 2 ? part[2] : ""
            if (area == "src") {
                if (dir == "")
                    fault("a source file belongs in a directory of doc/LAYERS.txt")
                else if (!(dir in number))
                    fault("directory " dir " is not in doc/LAYERS.txt")
            }
            stem = FILENAME
            sub(/^src\//, "", stem)
            sub(/\.[ch]$/, "", stem)
        }

        !/^[ \t]*#[ \t]*include[ \t]*[<"]/ { next }

        {
            name = $0
            sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
            quoted = substr(name, 1, 1) == "\""
            name = substr(name, 2)
            sub(/[>"].*/, "", name)
            public = name ~ /^lull\/[A-Za-z0-9_\/]+\.h$/
        }

        name ~ /(^|\/)\.\.?\// { fault("\"" name "\": no . or .. in an include"); next }

        area == "include" {
            if (public || FILENAME ~ /^include\/lull\/adapters\//)
                next
            if (quoted || !(name in c_header))
                fault("\"" name "\": a public header includes C headers and lull/ headers only")
            next
        }

        area == "tool" || area == "examples" {
            if (public)
                next
            own = quoted && (name !~ /\// || index(name, area "/") == 1)
            if (quoted ? !own : name ~ /^nghttp2\//)
                fault("\"" name "\": " area "/ includes public headers, its own and the system headers only")
            next
        }

        # ---- src
        public { next }
        quoted || name == "config.h" {
            if (name == "config.h")
                next
            slash = index(name, "/")
            to = substr(name, 1, slash - 1)
            if (slash == 0)
                fault("\"" name "\": write it as \"dir/file.h\", so that the include says its layer")
            else if (!(to in number))
                fault("\"" name "\": directory " to " is not in doc/LAYERS.txt")
            else if (to == dir || !(dir in number))
                ;
            else if (number[to] > number[dir])
                fault("\"" name "\": " dir " (layer " number[dir] ") includes upwards, " to " is layer " number[to])
            else if (number[to] == number[dir])
                fault("\"" name "\": " dir " includes sideways, " to " is layer " number[to] " too")
            else if ((dir in narrowed) && !((dir, to) in lower))
                fault("\"" name "\": " dir " may not include " to)
            next
        }
        {
            slash = index(name, "/")
            if ((substr(name, 1, slash - 1)) in number && slash > 0 && system("test -f src/" name) == 0)
                fault("<" name ">: our own headers are written with quotes")
            else if (name ~ /^nghttp2\//) {
                if (dir != "h2")
                    fault("<" name ">: only src/h2 knows nghttp2")
            } else if ((stem, name) in may_include)
                ;
            else if (dir == "policy") {
                if (!(name in policy_header))
                    fault("<" name ">: policy is arithmetic; no socket, no clock, no allocation, no system header")
            } else if (!(dir in os_layer) && ((name in os_header) || name ~ /^(sys|netinet|arpa|net|netpacket|linux|asm)\//))
                fault("<" name ">: operating system headers belong in src/net and src/loop")
        }

        END {
            if (faults > 0) {
                printf "check-layers: %d fault(s)\n", faults
                exit 1
            }
            printf "check-layers: %d files keep to their layers\n", ARGC - 2
        }
    ' doc/LAYERS.txt "$@"
}
