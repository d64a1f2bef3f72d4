#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/check-layers.sh catches what it is there for. The tree uses the real doc/LAYERS.txt.
set -eu
. "$(dirname "$0")/plant.sh"

check() { sh "$top/scripts/check-layers.sh" "$tree"; }

# include FILE LINE...: a file of the tree that holds these include lines.
include() {
    file=$1 && shift
    printf '#include %s\n' "$@" | put "$file"
}

# fault NAME TEXT FILE LINE...: planted, caught, taken out.
fault() {
    what=$1 text=$2 file=$3 && shift 3
    include "$file" "$@"
    catches "$what" "$text" check
    drop "$file"
}

# fine NAME FILE LINE...: the same for what is allowed.
fine() {
    what=$1 file=$2 && shift 2
    include "$file" "$@"
    passes "$what" check
    drop "$file"
}

put doc/LAYERS.txt <"$top/doc/LAYERS.txt"
include src/base/rc.c '"base/rc.h"' '<string.h>' '"lull/rc.h"'
include src/exec/executor.c '"exec/executor.h"' '"time/timerq.h"' '<lull/executor.h>'
passes "a tree in order" check

fine "own directory and lower ones" src/h2/a.c '"h2/b.h"' '"net/sys.h"' '"base/rc.h"' '<nghttp2/nghttp2.h>'
fault "upwards" "src/time/a.c:2: \"exec/executor.h\": time (layer 1) includes upwards" \
    src/time/a.c '"time/a.h"' '"exec/executor.h"'
fault "upwards from a header" "includes upwards" src/net/a.h '"channel/call.h"'
fault "directory that is no layer" "is not in doc/LAYERS.txt" src/h2/a.c '"extra/a.h"'
fault "source file outside a layer" "directory extra is not in doc/LAYERS.txt" src/extra/a.c '<string.h>'
fault "source file in src itself" "belongs in a directory" src/a.c '<string.h>'
fault "include without a directory" "write it as" src/h2/a.c '"stream.h"'
fault "way out with dots" "no . or .." src/time/a.c '"../exec/executor.h"'
fault "spaces do not hide an include" "includes upwards" src/time/a.c ' "exec/executor.h"'

fault "policy takes nothing but base" "policy may not include time" src/policy/idle.c '"time/timerq.h"'
fine "policy with base and numbers" src/policy/idle.c '"base/instant.h"' '<stdint.h>' '"lull/idle.h"'
for header in '<sys/socket.h>' '<time.h>' '<stdlib.h>' '<unistd.h>' '<stdio.h>'; do
    fault "policy with $header" "policy is arithmetic" src/policy/idle.c "$header"
done
for dir in base time exec h2 channel; do
    fault "a socket header in $dir" "operating system headers" src/$dir/a.c '<sys/socket.h>'
    fault "a system header in $dir" "operating system headers" src/$dir/a.c '<unistd.h>'
done
fine "system headers in net and loop" src/net/sys.c '<sys/socket.h>' '<netdb.h>' '<unistd.h>'
fine "a system line of LAYERS.txt" src/base/random.c '<sys/random.h>'
fine "the one clock" src/time/clock_monotonic.c '<time.h>'
fault "time.h elsewhere" "operating system headers" src/time/timerq.c '<time.h>'

for dir in base net channel; do
    fault "nghttp2 in $dir" "header of another library" src/$dir/a.c '<nghttp2/nghttp2.h>'
done
for header in '<ares.h>' '<gnutls/gnutls.h>' '<uv.h>' '<check.h>' '<zlib.h>'; do
    for file in src/channel/a.c src/net/a.c src/h2/a.h tool/a.c testkit/a.c; do
        fault "$header in $file" "header of another library" "$file" "$header"
    done
done
fine "Check in a test" tests/unit/h2/a_test.c '<config.h>' '<check.h>' '<nghttp2/nghttp2.h>' '<unistd.h>' '"h2/send.h"'
fault "another library in a test" "header of another library" tests/unit/h2/a_test.c '<uv.h>'
fine "a thread's name" src/exec/thread_id.h '<pthread.h>'
for dir in h2 channel exec; do
    fault "threads in $dir" "operating system headers" src/$dir/a.c '<pthread.h>'
done

# ---- public headers have a layer too
fine "base with its public headers" src/base/a.c '"lull/allocator.h"' '<lull/metadata.h>' '"lull/world.h"'
for header in call channel server clock executor; do
    fault "base with lull/$header.h" "base (layer 0) includes upwards" src/base/a.c "\"lull/$header.h\""
done
fault "the same in angle brackets" "base (layer 0) includes upwards" src/base/a.h '<lull/call.h>'
fault "net with the channel" "net (layer 5) includes upwards, channel" src/net/a.c '"lull/channel.h"'
fault "everything at once" "on no public line" src/channel/a.c '"lull/lull.h"'
fault "a public header of nobody" "on no public line" src/channel/a.c '"lull/nothing.h"'
for header in clock world allocator executor; do
    fault "policy with lull/$header.h" "policy may not include it, see its only line" src/policy/idle.c "\"lull/$header.h\""
done
include include/lull/types.h '<stdint.h>'
include include/lull/keepalive.h '<lull/types.h>'
passes "a public header of policy with one it may see" check
include include/lull/types.h '<lull/clock.h>'
catches "policy gets a clock through another public header" "policy may include lull/types.h, which includes lull/clock.h" check
drop include/lull/types.h include/lull/keepalive.h

# ---- what the compiler takes for an include
line() {
    what=$1 text=$2 file=$3
    cat >"$tree/planted"
    put "$file" <"$tree/planted"
    catches "$what" "$text" check
    drop "$file" planted
}
line "a comment before the name" "includes upwards" src/base/a.c <<'C'
#include /* up */ "channel/call.h"
C
line "a comment before the #" "src/base/a.c:1: \"channel/call.h\"" src/base/a.c <<'C'
/* x */ # /* y */ include "channel/call.h"
C
line "a comment that ends before it" "src/base/a.c:2: \"channel/call.h\"" src/base/a.c <<'C'
/* x
 */ #include "channel/call.h" // z
C
line "a computed include" "names its file by a literal" src/base/a.c <<'C'
#define UP "channel/call.h"
#include UP
C
line "a spliced directive" "src/base/a.c:2: \"channel/call.h\"" src/base/a.c <<'C'
int a;
#inc\
lude "channel/call.h"
C
line "a comment that ends in a splice" "src/base/a.c:3: \"channel/call.h\"" src/base/a.c <<'C'
/* a *\
/
#include "channel/call.h"
C
line "a digraph" "includes upwards" src/base/a.c <<'C'
%:include "channel/call.h"
C
line "include_next" "names its file by a literal" src/base/a.c <<'C'
#include_next <sys/socket.h>
C
line "import" "names its file by a literal" src/base/a.c <<'C'
#import "channel/call.h"
C
line "a comment inside the name" "names its file by a literal" src/base/a.c <<'C'
#include <sys//socket.h>
C
fault "a path from the root" "nothing from the root" src/base/a.c '"/usr/include/sys/socket.h"'
fault "a source as a header" "what is included ends in .h" src/base/a.c '"channel/call.c"'
fault "a header by another name" "what is included ends in .h" tool/a.c '"tool/a.inc"'
for name in inc def inl hpp S; do
    fault "a .$name file" "src/base/a.$name: C source is called .c or .h here" src/base/a.$name '"channel/call.h"'
done
line "a prototype of somebody else" "a prototype in a .c file" src/base/a.c <<'C'
struct x; void call_end(struct x*);void f(void){call_end(0);}
C
line "a prototype on two lines" "src/base/a.c:3: a prototype in a .c file" src/base/a.c <<'C'
static int f(void) { return 1; }
void call_end(struct x *x,
              int how);
C
line "extern" "extern in a .c file" src/base/a.c <<'C'
extern int (*call_end)(int);
C
put src/base/a.c <<'C'
static int forward(int (*f)(void));
typedef int fn(void);
struct a { int (*f)(int); };
static const struct a one = {
    f,
};
_Static_assert(sizeof(struct a) > 0, "#include UP");
int f(int x)
{
    int (*g)(int) = f;
    return g(x);
}
C
passes "what is no prototype of somebody else" check
drop src/base/a.c

# ---- file I/O
for dir in h2 channel policy; do
    echo 'void f(void) { fopen("/etc/passwd", "r"); }' | line "a file in $dir" "file I/O in $dir/" src/$dir/a.c
    echo 'static FILE *(*f)(const char *, const char *) = fopen;' | line "fopen by pointer in $dir" "file I/O in $dir/" src/$dir/a.c
    echo 'int f(void) { return socket (1, 2, 3); }' | line "a socket in $dir" "file I/O in $dir/" src/$dir/a.c
    echo 'int f(void) { fprintf(stderr, "x"); }' | line "a message in $dir" "file I/O in $dir/" src/$dir/a.c
done
echo 'int f(struct s *s) { return s->open(s) + s->socket(s) + call_open(s); /* fopen */ }' | put src/h2/a.c
passes "our own names that sound like I/O" check
drop src/h2/a.c

fine "public header" include/lull/call.h '<lull/types.h>' '"lull/rc.h"' '<stdint.h>'
fault "public header with config.h" "a public header includes" include/lull/call.h '"config.h"'
fault "public header with nghttp2" "a public header includes" include/lull/call.h '<nghttp2/nghttp2.h>'
fault "public header with a system header" "a public header includes" include/lull/call.h '<sys/socket.h>'
fault "public header with an internal one" "a public header includes" include/lull/call.h '"base/rc.h"'

fine "the tool" tool/main.c '<lull/lull.h>' '"tool/args.h"' '"args.h"' '<unistd.h>'
fault "the tool with an internal header" "includes public headers" tool/main.c '"base/hex.h"'
fault "the tool with nghttp2" "header of another library" tool/main.c '<nghttp2/nghttp2.h>'
fault "an example with an internal header" "includes public headers" examples/unary.c '"channel/call.h"'

printf '7 twin\n' >>"$tree/doc/LAYERS.txt"
fault "sideways" "channel includes sideways, twin is layer 7 too" src/channel/a.c '"twin/a.h"'
printf 'what is this\n' >>"$tree/doc/LAYERS.txt"
catches "a line of LAYERS.txt that nobody understands" "cannot read this line" check
drop doc/LAYERS.txt
catches "no LAYERS.txt" "no doc/LAYERS.txt" check

finish
