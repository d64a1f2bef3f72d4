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
    fault "nghttp2 in $dir" "only src/h2 knows nghttp2" src/$dir/a.c '<nghttp2/nghttp2.h>'
done

fine "public header" include/lull/call.h '<lull/types.h>' '"lull/rc.h"' '<stdint.h>'
fault "public header with config.h" "a public header includes" include/lull/call.h '"config.h"'
fault "public header with nghttp2" "a public header includes" include/lull/call.h '<nghttp2/nghttp2.h>'
fault "public header with a system header" "a public header includes" include/lull/call.h '<sys/socket.h>'
fault "public header with an internal one" "a public header includes" include/lull/call.h '"base/rc.h"'

fine "the tool" tool/main.c '<lull/lull.h>' '"tool/args.h"' '"args.h"' '<unistd.h>'
fault "the tool with an internal header" "includes public headers" tool/main.c '"base/hex.h"'
fault "the tool with nghttp2" "includes public headers" tool/main.c '<nghttp2/nghttp2.h>'
fault "an example with an internal header" "includes public headers" examples/unary.c '"channel/call.h"'

printf '7 twin\n' >>"$tree/doc/LAYERS.txt"
fault "sideways" "channel includes sideways, twin is layer 7 too" src/channel/a.c '"twin/a.h"'
printf 'what is this\n' >>"$tree/doc/LAYERS.txt"
catches "a line of LAYERS.txt that nobody understands" "cannot read this line" check
drop doc/LAYERS.txt
catches "no LAYERS.txt" "LAYERS.txt" check

finish
