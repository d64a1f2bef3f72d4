/* SPDX-License-Identifier: MIT */
/*
 * Expecting a trap.
 *
 * Decides: a function must end its process by SIGABRT with certain words on stderr. It runs in a
 * child of its own, so this works with CK_FORK=no too.
 */
#ifndef LULL_TESTS_SUPPORT_DEATH_H
#define LULL_TESTS_SUPPORT_DEATH_H

#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void expect_death(void (*deadly)(void), const char *words)
{
    char text[2048];
    size_t len = 0;
    ssize_t got;
    int status = 0;
    int ends[2];
    pid_t child;
    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(ends[1], STDERR_FILENO);
        deadly();
        _exit(0);
    }
    close(ends[1]);
    while (len < sizeof(text) - 1 &&
           (got = read(ends[0], text + len, sizeof(text) - 1 - len)) > 0) {
        len += (size_t)got;
    }
    text[len] = '\0';
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "it lived: status %d, \"%s\"",
                  status, text);
    ck_assert_msg(strstr(text, words) != NULL, "\"%s\" is not in \"%s\"", words, text);
}

#endif
