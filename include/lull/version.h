/* SPDX-License-Identifier: MIT */
/**
 * @file version.h
 * Which lull this is.
 */
#ifndef LULL_VERSION_H
#define LULL_VERSION_H

#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of these headers. Since 0.1. */
#define LULL_VERSION "0.3.0"

/** The version of the library in use, which need not be that of the headers. Static. Any thread.
 * Since 0.1. */
LULL_API const char *lull_version(void);

#ifdef __cplusplus
}
#endif

#endif
