#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/check-unguarded.sh catches what it is there for.
set -eu
. "$(dirname "$0")/plant.sh"

check() { sh "$top/scripts/check-unguarded.sh" "$tree"; }
update() { sh "$top/scripts/check-unguarded.sh" --update "$tree"; }

# site COMMENT: one release with these lines above it.
site() {
    put src/h2/a.c <<C
static void release(struct node *node)
{
    forget(node);
$1
    lull_recycler_release_unguarded(store, node);
}
C
}
good='    /* unguarded: it was just taken out of its only list. */'

mkdir -p "$tree/doc"
put src/base/recycler.c <<'C'
void lull_recycler_release_unguarded(struct lull_recycler *recycler, void *object)
{
}
C
passes "the definition is no site" check
site "$good"
catches "a site that is not listed" "not in doc/UNGUARDED.txt: src/h2/a.c release: it was just taken out of its only list." check
passes "the list is written" update
passes "a tree in order" check

site '    /* unguarded: it was just taken
     * out of its only list. */'
passes "a reason on two lines" check
site '    /* unguarded: nobody else has seen it so far. */'
catches "another reason" "no longer so: src/h2/a.c release: it was just" check
site ''
catches "no comment" "src/h2/a.c:5: an unguarded release needs" check
catches "no list is written with a fault" "src/h2/a.c:5: an unguarded release needs" update
site '    /* It was just taken out of its only list. */'
catches "a comment of another form" "src/h2/a.c:5: an unguarded release needs" check
site '    // unguarded: it was just taken out of its only list.'
catches "a comment of the other kind" "src/h2/a.c:5: an unguarded release needs" check
site '    /* unguarded: one owner */'
catches "a reason that says nothing" "src/h2/a.c:5: say why" check
site "$good

"
catches "a comment that is not right above" "an unguarded release needs" check
site "$good
    count++;"
catches "a statement in between" "src/h2/a.c:6: an unguarded release needs" check
site "$good
    lull_recycler_release_unguarded(store, node->other);"
catches "two with one reason" "src/h2/a.c:6: an unguarded release needs" check
site "$good"
passes "in order again" check

put src/base/recycler_parts.h <<'C'
static inline void recycler_release_unguarded(struct lull_recycler *recycler, void *object)
{
}
C
passes "the definition of the inline form is no site" check
echo 'void give(void) { recycler_release_unguarded(store, node); }' | put src/base/b.c
catches "the inline form" "src/base/b.c:1: an unguarded release needs" check
drop src/base/b.c src/base/recycler_parts.h

echo 'void (*give)(struct lull_recycler *, void *) = lull_recycler_release_unguarded;' | put src/h2/b.c
catches "taken as a pointer" "src/h2/b.c:1: an unguarded release needs" check
drop src/h2/b.c
echo '#define GIVE(s, o) lull_recycler_release_unguarded(s, o)' | put src/h2/b.h
catches "in a macro" "src/h2/b.h:1: an unguarded release needs" check
drop src/h2/b.h
echo '/* lull_recycler_release_unguarded */ char *a = "lull_recycler_release_unguarded(";' | put src/h2/b.c
passes "words in comments and strings" check
drop src/h2/b.c src/h2/a.c
catches "a site that is gone" "no longer so: src/h2/a.c release" check
drop doc/UNGUARDED.txt
passes "no site, no list" check
drop src/base/recycler.c
catches "an empty tree" "no source file" check

finish
