/* SPDX-License-Identifier: MIT */
/*
 * What hardly ever runs, said to the compiler.
 *
 * Decides: how. LULL_COLD on a declaration makes a function small rather than quick, and each branch that calls it unlikely, so
 * that what only leads there stands away from the code that every call runs. Used where texts are made and faults are told. Whole files
 * that are cold are on COLD of their directory's local.mk.
 */
#ifndef BASE_COLD_H
#define BASE_COLD_H

#define LULL_COLD __attribute__((cold))

#endif
