#!/bin/sh
# SPDX-License-Identifier: MIT
# The program in README.md compiles without a warning and does what the page says: a call to `lull serve` is answered, and without a server the
# failure is told and is the exit status.
set -eu
. "$(dirname "$0")/headers.sh"
build=${abs_top_builddir:?run by make check}

awk '/^```c$/ { is_in = 1; next } /^```$/ { if (is_in) exit } is_in' "$top/README.md" >"$work/call.c"
grep -q 'int main' "$work/call.c" || fault "README.md has no program"

# A call is 20 lines, and what it includes.
test "$(grep -c -v '^#include' "$work/call.c")" -le 20 || fault "README.md's program is longer than 20 lines"

static=
test -f "$build/.libs/liblull.so" || static=--static
PKG_CONFIG_PATH=$build
export PKG_CONFIG_PATH
# shellcheck disable=SC2046,SC2086
${CC:-cc} ${FLAGS-} -std=c11 -Wall -Wextra -Wpedantic -Werror $(${PKG_CONFIG:-pkg-config} --cflags lull) -o "$work/call" "$work/call.c" \
    $(${PKG_CONFIG:-pkg-config} $static --libs lull)

# The server tells its address when it listens; the pipe has it when it is there.
mkfifo "$work/told"
"$build/lull" serve --listen "unix:$work/socket" >"$work/told" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || :; rm -rf "$work"' EXIT
exec 3<"$work/told"
IFS= read -r address <&3
said=$("$work/call" "unix:$work/socket")
test "$said" = "OK, 5 bytes" || fault "with a server at $address: $said"
kill "$server"
wait "$server" || :
said=$("$work/call" "unix:$work/socket" 2>&1) && fault "without a server it exits 0"
case $said in
*UNAVAILABLE*socket*) ;;
*) fault "without a server: $said" ;;
esac
said=$("$work/call" "127.0.0.1:0" 2>&1) && fault "with a target that is none it exits 0"
case $said in
target*port*) ;;
*) fault "with a target that is none: $said" ;;
esac
test "$faults" -eq 0
