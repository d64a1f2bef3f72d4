/* SPDX-License-Identifier: MIT */
/*
 * malloc and free in the family "recycler": glibc's, or whose library LD_PRELOAD names. BENCH_VARIANT says which one it
 * must be.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects.h"

static size_t object_bytes;

#define OBJECTS_NAME            heap
#define OBJECTS_CLAIM()         malloc(object_bytes)
#define OBJECTS_RELEASE(object) free(object)
#define OBJECTS_THERE(object)   free(object)
#include "objects_loops.h"

/* By a name that only this library has. */
static bool is_loaded(const char *variant)
{
    static const struct {
        const char *variant;
        const char *symbol;
    } known[] = {{"jemalloc", "mallctl"}, {"mimalloc", "mi_malloc"}, {"tcmalloc", "tc_malloc"}};
    bool is_there = strcmp(variant, "glibc") == 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (dlsym(RTLD_DEFAULT, known[i].symbol) != NULL) {
            is_there = strcmp(variant, known[i].variant) == 0;
        }
    }
    return is_there;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {256, 1024, 4096};
    const char *variant = getenv("BENCH_VARIANT");
    if (variant == NULL || *variant == '\0') {
        variant = "glibc";
    }
    if (!is_loaded(variant)) {
        char why[120];
        snprintf(why, sizeof(why), "%s was not found; see bench/setup", variant);
        micro_cannot(why);
    }
    micro_plan(argc > 1 ? argv[1] : NULL, 3 * (3 + 6));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        object_bytes = sizes[i];
        objects_rows(variant, &heap_loops, sizes[i]);
        objects_cross_row(variant, &heap_loops, sizes[i]);
    }
    return 0;
}
