/* SPDX-License-Identifier: MIT */
/* src/net/resolver_ares.c against a name server that sends noise, over UDP and TCP. Run under the sanitizers. */
#include "net/resolver_ares.h"

#include <stdlib.h>

#include "tests/support/rounds.h"
#include "tests/unit/net/name_asked.h"

#define LIMIT_NS (10 * LULL_SECOND)
#define SEED     20261201U

static struct name_world world;
static struct resolver_ares resolver;
static struct addr server;

/* Whatever came: one last answer, addresses or a reason, at the limit at the latest. Sometimes the asker has gone before. */
static void ask_one(uint64_t chance, unsigned round, unsigned *answers)
{
    struct name_asked asked;

    world.servers[0].chance = chance;
    name_asked_init(&asked);
    ck_assert_int_eq(lull_executor_enter(world.executor), LULL_OK);
    ck_assert_int_eq(name_asked_start(&asked, &world, &resolver, "noise.x", &server, LIMIT_NS),
                     LULL_OK);
    lull_executor_leave(world.executor);
    name_world_round(&world);
    if (round % 16 != 0) {
        name_world_settle(&world);
    }
    if (round % 8 != 0) {
        name_world_pass(&world, LIMIT_NS);
        ck_assert_msg(asked.is_over, "seed %#llx: no last answer", (unsigned long long)chance);
    } else if (!asked.is_over) {
        ck_assert_int_eq(lull_executor_enter(world.executor), LULL_OK);
        name_asked_cancel(&asked);
        lull_executor_leave(world.executor);
    }
    ck_assert_uint_eq(world.count, 0);
    *answers += strncmp(asked.text, "answer", 6) == 0;
}

START_TEST(noise_is_an_answer_or_a_reason_or_silence)
{
    const unsigned rounds = test_rounds(3000, 200);
    unsigned answers = 0;

    (void)unsetenv("RES_OPTIONS");
    name_world_init(&world, NULL);
    resolver_ares_init(&resolver);
    ck_assert(addr_from_ip(&server, "127.0.0.1", world.servers[0].port));
    for (unsigned i = 0; i < rounds; i++) {
        ask_one(SEED * (uint64_t)(i + 1), i, &answers);
    }
    /* It was noise, and some of it was near the truth. */
    ck_assert_uint_gt(answers, rounds / 50);
    ck_assert_uint_lt(answers, rounds - rounds / 10);
    ck_assert_uint_gt(world.servers[0].asked_by_tcp, 0);
    name_world_fini(&world);
}
END_TEST

static Suite *resolver_ares_noise_suite(void)
{
    Suite *suite = suite_create("resolver_ares_noise");
    TCase *cases = tcase_create("resolver_ares_noise");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, noise_is_an_answer_or_a_reason_or_silence);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("resolver_ares_noise", resolver_ares_noise_suite)
