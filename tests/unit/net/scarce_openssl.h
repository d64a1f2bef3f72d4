/* SPDX-License-Identifier: MIT */
/*
 * OpenSSL's allocations, of which one can be refused: for tests of what becomes of a want of memory there. One such test a program, and
 * first in its suite: OpenSSL takes these functions before its first block only.
 */
#ifndef TESTS_UNIT_NET_SCARCE_OPENSSL_H
#define TESTS_UNIT_NET_SCARCE_OPENSSL_H

#include <check.h>
#include <openssl/crypto.h>
#include <stdbool.h>
#include <stdlib.h>

static long allocations_left = -1; /* negative: any number */

static bool has_one_left(void)
{
    return allocations_left < 0 || allocations_left-- > 0;
}

static void *scarce_malloc(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return has_one_left() ? malloc(size) : NULL;
}

static void *scarce_realloc(void *memory, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return size == 0 || has_one_left() ? realloc(memory, size) : NULL;
}

static void scarce_free(void *memory, const char *file, int line)
{
    (void)file;
    (void)line;
    free(memory);
}

static void scarce_openssl(void)
{
    ck_assert_int_eq(CRYPTO_set_mem_functions(scarce_malloc, scarce_realloc, scarce_free), 1);
}

#endif
