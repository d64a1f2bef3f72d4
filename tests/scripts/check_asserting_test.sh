#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/check-asserting.sh catches what it is there for.
set -eu
. "$(dirname "$0")/plant.sh"

check() { sh "$top/scripts/check-asserting.sh" --root "$tree"; }

mkdir -p "$tree/include/lull"
put src/base/recycler_parts.h <<'C'
int trap(int line);
#include "base/recycler_asserting.h"
C
# hooks WHEN_OFF: what the hook does without the mode.
hooks() {
    put src/base/recycler_asserting.h <<C
#ifdef LULL_ASSERTING_POOL
static inline void asserting_claimed(int *object) { *object = 1; }
#else
static inline void asserting_claimed(int *object) { $1 }
#endif
C
}
# claim LINE: a recycler whose claim has this hook.
claim() {
    put src/base/recycler.c <<C
#include "base/recycler_parts.h"
int claim(int *object);
int claim(int *object)
{
$1
    return *object == 7 ? trap(__LINE__) : 0;
}
C
}
echo 'int port; ' | put src/base/recycler_port.c
hooks '(void)object;'
claim '    asserting_claimed(object);'
passes "a tree in order" check

hooks '*object = 2;'
catches "a store that is always there" "though it is off" check
hooks '(void)*(volatile int *)object;'
catches "a load that is always there" "though it is off" check
hooks 'if (*object == 3) trap(1);'
catches "a test that is always there" "though it is off" check
hooks '(void)object;'
claim '    if (*object > 0) asserting_claimed(object);'
catches "a hook that is not alone on its line" "does not stand alone" check
claim '    object++;'
catches "no hook" "nothing to compare" check
claim '    asserting_claimed(object);'
put src/base/recycler_asserting.h <<'C'
static inline void asserting_claimed(int *object) { (void)object; }
C
catches "a mode that does nothing" "does nothing" check
hooks '(void)object;'
passes "in order again" check

finish
