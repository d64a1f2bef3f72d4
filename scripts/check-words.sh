#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-words.sh [ROOT]: no file of the project names a directory of somebody's machine.
#
# A path under a home directory or a build host's work directory works for one person only. In a clone the tracked files and those
# that git would add are read, in a release archive the directories that the archive carries.
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"
root=$(pwd -P)

# A path starts after something that cannot be a part of one, so a/root/b is none of ours.
pattern='(^|[^A-Za-z0-9_./~)}-])/(work|root|home|Users)/[A-Za-z0-9_.]'

files() {
    if top=$(git rev-parse --show-toplevel 2>/dev/null) && test "$top" = "$root"; then
        git ls-files --cached --others --exclude-standard
    else
        find .clang-format CONTRIBUTING.md HACKING.md NEWS README.md SECURITY.md Makefile.am autogen.sh configure.ac \
            lull.pc.in lull-uninstalled.pc.in m4/lull.m4 quickstart src include tool testkit tests examples doc scripts fuzz bench \
            -type f ! -name '*.o' ! -name '*.lo' ! -name '*.log' ! -path '*/.libs/*' ! -path '*/.deps/*' 2>/dev/null || :
    fi
}

faults=0
read_files=0
while IFS= read -r file; do
    test -f "$file" || continue
    read_files=$((read_files + 1))
    # grep -I passes over binary files.
    if grep -InE -e "$pattern" "$file" | sed "s|^|$file:|" | grep .; then
        faults=$((faults + 1))
    fi
done <<LIST
$(files)
LIST

if test "$faults" -gt 0; then
    echo "check-words: $faults file(s) name a directory of one machine"
    exit 1
fi
if test "$read_files" -eq 0; then
    echo "check-words: no file to read under $root"
    exit 1
fi
echo "check-words: $read_files files"
