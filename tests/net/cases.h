/* SPDX-License-Identifier: MIT */
/*
 * What each file of cases gives to partitions.c: one Check case a test, so that each can be run alone, beside the others.
 *
 * Decides: that a test belongs to the list and to the suite by the same line. Must not know what is tested.
 */
#ifndef TESTS_NET_CASES_H
#define TESTS_NET_CASES_H

#include <check.h>

/* Adds the test to the suite, or, without one, prints its name. */
void net_add(Suite *suite, const TTest *test);

/* The tests that follow belong together, under this heading. */
void net_section(Suite *suite, const char *heading);

void quiet_cases(Suite *suite);
void active_cases(Suite *suite);
void connect_cases(Suite *suite);
void name_cases(Suite *suite);
void tls_cases(Suite *suite);
void server_cases(Suite *suite);
void healed_cases(Suite *suite);
void nat_cases(Suite *suite);
void slow_cases(Suite *suite);

#endif
