/* SPDX-License-Identifier: MIT */
/*
 * One lookup and all that it was told, for the tests of net/resolver_ares.c.
 *
 * Decides: what an answer must be, whatever it says: addresses or a reason, the asker's epoch, and nothing behind the last. Must
 * not know which name.
 */
#ifndef TESTS_UNIT_NET_NAME_ASKED_H
#define TESTS_UNIT_NET_NAME_ASKED_H

#include <string.h>

#include "base/strbuf.h"
#include "lull/executor.h"
#include "net/resolver_ares.h"
#include "tests/support/check_main.h"
#include "tests/support/name_world.h"

struct name_asked {
    struct resolver_lookup *lookup; /* while it goes on */
    uint64_t epoch;
    unsigned told;
    bool is_over;
    struct strbuf says;
    char text[RESOLVER_WHY_BYTES +
              2 * RESOLVER_ADDRS_MAX * 32]; /* "so far A B; answer A B", "failed: why" */
    void (*then)(struct name_asked *asked,
                 bool is_last); /* [nullable] the asker's own code, inside the answer */
    void *ctx;
};

static inline void name_asked_answer(void *ctx, const struct resolver_answer *answer)
{
    struct name_asked *asked = ctx;
    struct strbuf *says = &asked->says;

    ck_assert(!asked->is_over);
    ck_assert_uint_eq(answer->epoch, asked->epoch);
    ck_assert_uint_le(answer->count, RESOLVER_ADDRS_MAX);
    ck_assert_int_eq(answer->count == 0, answer->why != NULL);
    ck_assert(answer->is_last || answer->count > 0);
    strbuf_add(says, asked->told++ > 0 ? "; " : "");
    strbuf_add(says, answer->count == 0 ? "failed: " : (answer->is_last ? "answer" : "so far"));
    for (size_t i = 0; i < answer->count; i++) {
        strbuf_printf(says, " %s", answer->addrs[i].text);
    }
    for (const char *c = answer->why; c != NULL && *c != '\0'; c++) {
        ck_assert_msg(*c >= 0x20 && *c < 0x7f, "a reason holds the byte %d", *c);
    }
    strbuf_add(says, answer->count == 0 ? answer->why : "");
    asked->is_over = answer->is_last;
    if (answer->is_last) {
        asked->lookup = NULL;
    }
    if (asked->then != NULL) {
        asked->then(asked, answer->is_last);
    }
}

/* Of raw memory. */
static inline void name_asked_init(struct name_asked *asked)
{
    memset(asked, 0, sizeof(*asked));
    strbuf_init(&asked->says, asked->text, sizeof(asked->text));
}

/* Asks, in context. `server` NULL: the one of resolv.conf. As resolver_ops.start. */
static inline int name_asked_start(struct name_asked *asked, struct name_world *world,
                                   struct resolver_ares *resolver, const char *host,
                                   const struct addr *server, int64_t limit_ns)
{
    static uint64_t epoch;
    const struct resolver_question question = {
        .host = host, .port = 80, .server = server, .limit_ns = limit_ns, .epoch = ++epoch};
    struct lull_error error;

    asked->epoch = epoch;
    const int rc =
        resolver->base.ops->start(&resolver->base, &world->loop, world->executor, &question,
                                  name_asked_answer, asked, &asked->lookup, &error);
    ck_assert_int_eq(error.rc, rc);
    return rc;
}

/* Gives it up, in context. */
static inline void name_asked_cancel(struct name_asked *asked)
{
    struct resolver_lookup *lookup = asked->lookup;

    asked->lookup = NULL;
    asked->is_over = true;
    resolver_default()->ops->cancel(lookup);
}

/* Until the last answer. */
static inline void name_asked_wait(struct name_asked *asked, struct name_world *world)
{
    while (!asked->is_over) {
        name_world_round(world);
    }
}

#endif
