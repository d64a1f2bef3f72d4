#!/bin/sh
# SPDX-License-Identifier: MIT
# Each public header alone compiles as C++11 without a warning, and every public function keeps its C name there.
set -eu
. "$(dirname "$0")/headers.sh"

if test -z "${CXX=c++}" || ! echo 'int a;' | $CXX -x c++ -std=c++11 -fsyntax-only - 2>/dev/null; then
    echo "no C++ compiler (on Debian: apt-get install g++)"
    exit 77
fi

# -Wshadow is left out: to g++ a C function named like a struct hides its constructor.
for header in $headers; do
    functions=$(sh "$top/scripts/public-functions.sh" "$top/include/$header")
    {
        printf '#include <%s>\n#include <%s>\n' "$header" "$header"
        printf 'extern const void *table[];\nconst void *table[] = {\n'
        for function in $functions; do
            printf '    reinterpret_cast<const void *>(%s),\n' "$function"
        done
        printf '    0};\n'
    } >"$work/one.cc"
    if ! $CXX -std=c++11 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wundef -Werror \
        -I"$top/include" -c -o "$work/one.o" "$work/one.cc"; then
        fault "$header: does not stand alone as C++11"
        continue
    fi
    ${NM:-nm} -u "$work/one.o" | awk '{ print $NF }' >"$work/names"
    for function in $functions; do
        grep -qxF -e "$function" "$work/names" || fault "$header: $function is outside extern \"C\""
    done
done
finish
