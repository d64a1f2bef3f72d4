#!/bin/sh
# SPDX-License-Identifier: MIT
# Each public header alone compiles as strict C11 without a warning, twice in a row too, and is one that `make install` installs.
set -eu
. "$(dirname "$0")/headers.sh"

for header in $headers; do
    printf '#include <%s>\n#include <%s>\nextern int nothing_else;\n' "$header" "$header" >"$work/one.c"
    ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
        -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wvla -Werror -fsyntax-only \
        -I"$top/include" "$work/one.c" || fault "$header: does not stand alone as C11"

    # The build says what is installed; by hand there is no such list.
    if test -n "${PUBLIC_HEADERS:-}"; then
        case " $PUBLIC_HEADERS " in
        *" include/$header "*) ;;
        *) fault "$header: not in include/lull/local.mk, so make install forgets it" ;;
        esac
    fi
done
finish
