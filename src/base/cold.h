/* SPDX-License-Identifier: MIT */
/*
 * What hardly ever runs, said to the compiler.
 *
 * Decides: how. LULL_COLD on a declaration makes a function small rather than quick, and each branch that calls it unlikely, so
 * that what only leads there stands away from the code that every call runs. Used where texts are made and faults are told. Whole files
 * that are cold are on COLD of their directory's local.mk. LULL_NOT_INLINE keeps what runs now and then apart from its caller, which then
 * saves no registers for it.
 */
#ifndef BASE_COLD_H
#define BASE_COLD_H

#define LULL_COLD       __attribute__((cold))
#define LULL_NOT_INLINE __attribute__((noinline))

#endif
