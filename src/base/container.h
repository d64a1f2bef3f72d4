/* SPDX-License-Identifier: MIT */
/*
 * From a member to the struct around it.
 *
 * Decides: nothing. The conditional makes the compiler refuse a pointer of another type than the
 * member's; its second branch is never evaluated.
 */
#ifndef BASE_CONTAINER_H
#define BASE_CONTAINER_H

#include <stddef.h>

#define container_of(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(1 ? (pointer) : &((type *)0)->member) - offsetof(type, member)))

/* The same for a pointer to const. */
#define container_of_const(pointer, type, member)                                                  \
    ((const type *)(const void *)((const char *)(1 ? (pointer) : &((const type *)0)->member) -     \
                                  offsetof(type, member)))

#endif
