/* SPDX-License-Identifier: MIT */
/*
 * Partitions: what a cut cable does to a channel, and when.
 *
 *     partitions may     0: network namespaces can be made here; else 1, and why
 *     partitions list    the names of the cases, a line each; "= WORDS" stands before those that belong together
 *     CK_RUN_CASE=NAME partitions
 *
 * Decides: which cases can be run with what this library was built with and this machine has. Called by partitions_test.sh, which runs
 * all cases at the same time, each in namespaces of its own.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/net/cases.h"
#include "tests/support/check_main.h"

/* The slowest case waits for the system's own defaults, a minute and a half. */
#define CASE_LIMIT_S 200

void net_add(Suite *suite, const TTest *test)
{
    TCase *tcase;
    if (suite == NULL) {
        (void)printf("%s\n", test->name);
        return;
    }
    tcase = tcase_create(test->name);
    tcase_set_timeout(tcase, CASE_LIMIT_S);
    tcase_add_test(tcase, test);
    suite_add_tcase(suite, tcase);
}

void net_section(Suite *suite, const char *heading)
{
    if (suite == NULL) {
        (void)printf("= %s\n", heading);
    }
}

static void add_all(Suite *suite)
{
    const int tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    quiet_cases(suite);
    active_cases(suite);
    connect_cases(suite);
    name_cases(suite);
    tls_cases(suite);
    server_cases(suite);
    healed_cases(suite);
    nat_cases(suite);
    if (tun >= 0) {
        slow_cases(suite);
        (void)close(tun);
    } else if (suite == NULL) {
        (void)fprintf(stderr, "check-net: slow paths: not run: /dev/net/tun: %s\n",
                      strerror(errno));
    }
}

static Suite *partitions_suite(void)
{
    Suite *suite = suite_create("partitions");
    add_all(suite);
    return suite;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "may") == 0) {
        if (unshare(CLONE_NEWNET) == 0) {
            return 0;
        }
        (void)printf("%s, errno %d\n", strerror(errno), errno);
        return 1;
    }
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        add_all(NULL);
        return 0;
    }
    return check_main_run("partitions", partitions_suite);
}
