#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/check-symbols.sh catches what it is there for, on objects of a function each. The tree uses the real doc/LAYERS.txt.
set -eu
. "$(dirname "$0")/plant.sh"

check() { sh "$top/scripts/check-symbols.sh" --root "$tree" --build "$tree"; }

# built STEM: standard input becomes src/STEM.c and its object.
built() {
    put "src/$1.c"
    ${CC:-cc} -w -O1 -ffreestanding -c -o "$tree/src/$1.o" "$tree/src/$1.c"
}

# fault NAME TEXT STEM CODE / fine NAME STEM CODE: planted, judged, taken out.
fault() {
    echo "$4" | built "$3"
    catches "$1" "$2" check
    drop "src/$3.c" "src/$3.o"
}
fine() {
    echo "$3" | built "$2"
    passes "$1" check
    drop "src/$2.c" "src/$2.o"
}

put doc/LAYERS.txt <"$top/doc/LAYERS.txt"
cases=$((cases + 1))
run check
if test "$status" -ne 77; then
    wrong=$((wrong + 1))
    printf 'not ok: nothing built is a skip: exit status %s, said:\n%s\n' "$status" "$said"
fi

built base/strbuf <<'C'
int vsnprintf(char *, unsigned long, const char *, __builtin_va_list);
int strbuf_add(char *s, unsigned long n, const char *f, __builtin_va_list a) { return vsnprintf(s, n, f, a); }
C
built time/clock_monotonic <<'C'
int clock_gettime(int, void *);
int lull_clock_system(void *t) { return clock_gettime(1, t); }
C
built channel/call <<'C'
int strbuf_add();
int call_end(void) { return strbuf_add(); }
C
passes "a tree in order" check

fault "a prototype written by hand" "src/base/a.c: base (layer 0) uses call_end of channel/call (layer 7)" \
    base/a 'int call_end(void); int f(void) { return call_end() + 1; }'
fault "a prototype inside a function" "uses call_end of channel/call" \
    base/a 'int f(void) { int call_end(void); return call_end() + 1; }'
fault "a name that a macro puts together" "uses call_end of channel/call" \
    h2/a '#define UP(x) call_##x
int UP(end)(void); int f(void) { return UP(end)() + 1; }'
fault "a function by address" "uses call_end of channel/call" \
    base/a 'int call_end(void); int (*const f)(void) = call_end;'
fault "policy with a clock" "policy may not use lull_clock_system of time/clock_monotonic" \
    policy/idle 'int lull_clock_system(void *); int f(void) { return lull_clock_system(0) + 1; }'
fine "policy with base" policy/idle 'int strbuf_add(void); int f(void) { return strbuf_add() + 1; }'

for name in clock_gettime time clock gettimeofday times syscall nanosleep; do
    for stem in exec/a net/a loop/a time/b; do
        fault "$name in $stem" "src/$stem.c: $name() is for time/clock_monotonic" \
            $stem "long $name(long, ...); long f(void) { return $name(0) + 1; }"
    done
done
fault "time by pointer" "time() is for time/clock_monotonic" exec/a 'long time(long *); long (*const f)(long *) = time;'

for dir in policy h2 channel exec; do
    for name in fopen socket malloc getenv pthread_create ares_init; do
        fault "$name in $dir" "no calls line of doc/LAYERS.txt lets $dir/ use $name" \
            $dir/a "int $name(int); int f(void) { return $name(1) + 1; }"
    done
done
fault "nghttp2 in channel" "lets channel/ use nghttp2_session_del" \
    channel/a 'int nghttp2_session_del(void); int f(void) { return nghttp2_session_del() + 1; }'
fine "nghttp2 in h2" h2/a 'int nghttp2_session_del(void); int f(void) { return nghttp2_session_del() + 1; }'
fine "a socket in net" net/a 'int socket(int); int f(void) { return socket(1) + 1; }'

echo 'int call_end(void); int f(void) { return call_end() + 1; }' | built base/gone
drop src/base/gone.c
passes "an object whose source has gone" check

finish
