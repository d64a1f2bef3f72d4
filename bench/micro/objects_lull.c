/* SPDX-License-Identifier: MIT */
/*
 * lull's recycler in the family "recycler": released unguarded and guarded; from another thread by a port and by the shared
 * list. Built three times: inline, as lull uses it for nghttp2's blocks; with PUBLIC_ONLY by the functions of the shared library,
 * where two calls cost more than what they do; and with LULL_NO_POOL, where each claim is a malloc.
 */
#include "lull/recycler.h"
#include "objects.h"

#ifdef PUBLIC_ONLY
#define KIND                 "-so"
#define CLAIM()              lull_recycler_claim(recycler)
#define RELEASE_UNGUARDED(o) lull_recycler_release_unguarded(recycler, o)
#define RELEASE_GUARDED(o)   lull_recycler_release(recycler, o)
#else
#include "base/recycler_parts.h"
#define CLAIM()              recycler_claim(recycler)
#define RELEASE_UNGUARDED(o) recycler_release_here(recycler, o, false)
#define RELEASE_GUARDED(o)   recycler_release_here(recycler, o, true)
#ifdef LULL_NO_POOL
#define KIND "-off"
#else
#define KIND ""
#endif
#endif

static struct lull_recycler *recycler;
static struct lull_recycler_port *port;

#define OBJECTS_NAME            unguarded
#define OBJECTS_CLAIM()         CLAIM()
#define OBJECTS_RELEASE(object) RELEASE_UNGUARDED(object)
#include "objects_loops.h"

#define OBJECTS_NAME            guarded
#define OBJECTS_CLAIM()         CLAIM()
#define OBJECTS_RELEASE(object) RELEASE_GUARDED(object)
#define OBJECTS_THERE(object)   lull_recycler_port_release(port, object)
#include "objects_loops.h"

#define OBJECTS_NAME            shared
#define OBJECTS_CLAIM()         CLAIM()
#define OBJECTS_RELEASE(object) RELEASE_GUARDED(object)
#define OBJECTS_THERE(object)   lull_recycler_release_foreign(recycler, object)
#include "objects_loops.h"

static struct lull_recycler_stats stats(void)
{
    struct lull_recycler_stats now = {.size = sizeof(now)};
    lull_recycler_stats(recycler, &now);
    return now;
}

static void begin(size_t bytes)
{
    struct lull_recycler_options options;
    lull_recycler_options_init(&options, "bench", bytes);
    options.keep = 4 * OBJECTS_ON_THE_WAY;
    MICRO_MUST(lull_recycler_new(&options, &recycler) == LULL_OK);
}

/* By its own counters: which share of the claims took which path. */
static void paths(const char *row, size_t bytes)
{
    const struct lull_recycler_stats now = stats();
    const double claims = (double)now.claims;
    micro_line_at(row, bytes, "allocated_share", (double)now.claims_allocated / claims);
    micro_line_at(row, bytes, "local_share", (double)now.claims_local / claims);
    micro_line_at(row, bytes, "port_share", (double)now.claims_port / claims);
}

static void end(void)
{
    MICRO_MUST(stats().releases + stats().releases_port + stats().releases_foreign +
                   stats().in_use ==
               stats().claims);
    lull_recycler_free(recycler);
}

static void rows(const char *variant, const struct objects_loops *loops, size_t bytes)
{
    begin(bytes);
    objects_rows(variant, loops, bytes);
    paths("flight", bytes);
    end();
}

static void cross(const char *variant, const struct objects_loops *loops, size_t bytes,
                  bool has_port)
{
    begin(bytes);
    if (has_port) {
        MICRO_MUST(lull_recycler_port_new(recycler, OBJECTS_ON_THE_WAY, &port) == LULL_OK);
    }
    objects_cross_row(variant, loops, bytes);
    paths("cross", bytes);
    if (has_port) {
        lull_recycler_port_free(port);
    }
    end();
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {256, 1024, 4096};
    micro_plan(argc > 1 ? argv[1] : NULL, 3 * (2 * 3 + 2 * 6));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        rows("lull-unguarded" KIND, &unguarded_loops, sizes[i]);
        rows("lull-guarded" KIND, &guarded_loops, sizes[i]);
        cross("lull-port" KIND, &guarded_loops, sizes[i], true);
        cross("lull-list" KIND, &shared_loops, sizes[i], false);
    }
    return 0;
}
