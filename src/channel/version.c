/* SPDX-License-Identifier: MIT */
/*
 * The version of the library in use. The public side is lull/version.h.
 */
#include "lull/version.h"

const char *lull_version(void)
{
    return LULL_VERSION;
}
