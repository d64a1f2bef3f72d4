#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/check-words.sh catches what it is there for. The paths are put together here, so that this file passes itself.
set -eu
. "$(dirname "$0")/plant.sh"

check() { sh "$top/scripts/check-words.sh" "$tree"; }

echo 'int a;' | put src/base/a.c
passes "a tree in order" check
for dir in work root home Users; do
    echo "see /$dir/someone/notes" | put doc/A.md
    catches "a path under $dir" "doc/A.md:1:" check
    echo "DIR=\"/$dir/x\"" | put scripts/a.sh
    drop doc/A.md
    catches "a quoted path under $dir" "scripts/a.sh:1:" check
    drop scripts/a.sh
done
# shellcheck disable=SC2016
echo 'see src/work/a.c, "$(top)/root/b" and https://example.org/home/c' | put doc/A.md
passes "other paths" check
drop doc/A.md src/base/a.c
catches "an empty tree" "no file to read" check

finish
