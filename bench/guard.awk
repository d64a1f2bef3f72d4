# SPDX-License-Identifier: MIT
#
# For guard.sh: reads one part of callgrind's output (names not compressed) and prints how many instructions functions of src/
# ran themselves, with what the compiler put inline there; what they called elsewhere (libc, nghttp2, the peer) is not in it.
# A function belongs to the file in which it is defined: fl= before its fn=, fi= and fe= tell of inlined lines.

/^fl=/ {
    file = substr($0, 4)
    sub(/^\([0-9]+\) */, "", file)
}
/^fn=/ {
    is_ours = file ~ /(^|\/)src\/[a-z0-9]+\/[a-z0-9_]+\.[ch]$/
    next
}
# The next line is what a call cost: somebody else's.
/^calls=/ {
    skip = 1
    next
}
/^[0-9+*-]/ {
    if (!skip && is_ours)
        total += $2
    skip = 0
}
END {
    printf "%d\n", total
}
