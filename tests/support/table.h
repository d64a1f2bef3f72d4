/* SPDX-License-Identifier: MIT */
/*
 * Rows of a table that a test program can print: what was put in, what came, in which words. With LULL_TEST_TABLE set to a path each row
 * is appended to that file as Markdown, what differs from run to run replaced (PORT, T, DATE, FILE, N); set to anything else, rows
 * go to stdout as they are. Otherwise nothing happens. Rows are those of the program whose tests run; the order is that of the tests.
 */
#ifndef TESTS_SUPPORT_TABLE_H
#define TESTS_SUPPORT_TABLE_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of "12.5 ms" at `at`, which no digit precedes; 0: it is no duration. */
static inline size_t table_duration(const char *at)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    size_t len = strspn(at, "0123456789.");
    if (len == 0 || at[len] != ' ' || at[0] == '.') {
        return 0;
    }
    for (size_t i = 0; i < 4; i++) {
        const size_t unit = strlen(units[i]);
        if (strncmp(at + len + 1, units[i], unit) == 0 && !isalnum((unsigned char)at[len + 1 + unit])) {
            return len + 1 + unit;
        }
    }
    return 0;
}

/* Bytes of a place that the test made, at `at`; 0: it is none. */
static inline size_t table_file(const char *at)
{
    return strncmp(at, "/tmp/", 5) == 0 ? strcspn(at, " ;,:)") : 0;
}

/* True when `words` stand before `at`, which has `said` bytes of text before it. */
static inline bool table_is_behind(const char *at, size_t said, const char *words)
{
    const size_t len = strlen(words);
    return said >= len && strncmp(at - len, words, len) == 0;
}

/* Bytes of a number that is the build's or the certificate's; 0: it is none. */
static inline size_t table_number(const char *at, size_t said)
{
    return table_is_behind(at, said, "this library's is ") || table_is_behind(at, said, " line ")
               ? strspn(at, "0123456789")
               : 0;
}

/* Bytes of "2026-12-01 12:36:29 UTC"; 0: it is none. */
static inline size_t table_date(const char *at)
{
    const size_t len = strspn(at, "0123456789-: ");
    return len == 20 && strncmp(at + len, "UTC", 3) == 0 ? len + 3 : 0;
}

/* Bytes of a port that the system chose, at `at`, behind a colon; 0: it is none. */
static inline size_t table_port(const char *at)
{
    const size_t len = strspn(at, "0123456789");
    const long port = strtol(at, NULL, 10);
    return len >= 4 && len <= 5 && port >= 1024 && port <= 65535 ? len : 0;
}

/* What is to be replaced at `at`, and by what. */
static inline size_t table_varies(const char *at, size_t said, const char **by)
{
    const char before = said > 0 ? at[-1] : ' ';
    const bool is_in_number = isdigit((unsigned char)before) || before == '.';
    const struct {
        size_t len;
        const char *by;
    } all[] = {
        {table_file(at), "FILE"},
        {table_number(at, said), "N"},
        {before == ':' ? table_port(at) : 0, "PORT"},
        {is_in_number ? 0 : table_date(at), "DATE"},
        {is_in_number ? 0 : table_duration(at), "T"},
        {strncmp(at, "now", 3) == 0 && table_is_behind(at, said, "; next ") ? 3 : 0, "in T"},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].len > 0) {
            *by = all[i].by;
            return all[i].len;
        }
    }
    return 0;
}

static inline void table_put(FILE *out, const char *text)
{
    size_t at = 0;
    while (text[at] != '\0') {
        const char *by;
        const size_t len = table_varies(text + at, at, &by);
        if (len > 0) {
            (void)fputs(by, out);
            at += len;
            continue;
        }
        if (strchr("|*<\\", text[at]) != NULL) {
            (void)fputc('\\', out); /* Markdown's */
        }
        (void)fputc(text[at++], out);
    }
}

static inline void table_row(const char *input, const char *outcome, const char *message)
{
    const char *where = getenv("LULL_TEST_TABLE");
    if (where == NULL) {
        return;
    }
    if (strchr(where, '/') == NULL) {
        printf("%-40s %-28s %s\n", input, outcome, message);
        (void)fflush(stdout);
        return;
    }
    FILE *out = fopen(where, "a");
    if (out == NULL) {
        perror(where);
        abort();
    }
    (void)fputs("| ", out);
    table_put(out, input);
    (void)fprintf(out, " | %s | ", outcome);
    table_put(out, message);
    (void)fputs(" |\n", out);
    (void)fclose(out);
}

#endif
