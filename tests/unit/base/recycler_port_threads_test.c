/* SPDX-License-Identifier: MIT */
/*
 * src/base/recycler_port.c with the threads that it is for: one that owns and claims, others that only give back. Meant for TSan as
 * well. Two threads in one port: nothing is promised; the asserting mode traps (recycler_asserting_test.c).
 */
#include "lull/recycler.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"
#include "tests/support/rounds.h"

#define OBJECT_BYTES ((size_t)100)
#define MAIL_MAX     64u
#define GIVERS_MAX   4

/* One that gives back: the owner's letters to it, and its port. */
struct giver {
    pthread_t thread;
    struct lull_recycler_port *port;
    void *mail[MAIL_MAX];
    atomic_uint sent;     /* the owner's */
    atomic_uint returned; /* the giver's, once an object is given back */
    atomic_bool is_over;
    bool keeps_port; /* the port is freed by the test and not by the thread */
    bool is_wrong;   /* an object did not hold what the owner wrote */
};

static struct counting_allocator counting;
static struct lull_recycler *recycler;
static struct giver givers[GIVERS_MAX];

static void make(void)
{
    struct lull_recycler_options options;
    lull_recycler_options_init(&options, "streams", OBJECT_BYTES);
    options.keep = 1024;
    options.allocator = &counting.base;
    ck_assert_int_eq(lull_recycler_new(&options, &recycler), LULL_OK);
}

static void set_up(void)
{
    counting_init(&counting);
    recycler = NULL;
    make();
}

static void tear_down(void)
{
    lull_recycler_free(recycler);
    ck_assert_int_eq(counting.live, 0);
}

static struct lull_recycler_stats stats(void)
{
    struct lull_recycler_stats now = {.size = sizeof(now)};
    lull_recycler_stats(recycler, &now);
    return now;
}

static void *give_back(void *arg)
{
    struct giver *giver = arg;
    while (true) {
        /* Over is read before the mail: what was sent before the end is still seen. */
        const bool was_over = atomic_load(&giver->is_over);
        const unsigned returned = atomic_load_explicit(&giver->returned, memory_order_relaxed);
        if (atomic_load_explicit(&giver->sent, memory_order_acquire) != returned) {
            unsigned char *object = giver->mail[returned % MAIL_MAX];
            giver->is_wrong =
                giver->is_wrong || object[0] != 0xaa || object[OBJECT_BYTES - 1] != 0xaa;
            memset(object, 0x55, OBJECT_BYTES);
            lull_recycler_port_release(giver->port, object);
            atomic_store_explicit(&giver->returned, returned + 1, memory_order_release);
        } else if (was_over) {
            break;
        } else {
            sched_yield();
        }
    }
    if (!giver->keeps_port) {
        lull_recycler_port_free(giver->port);
    }
    return NULL;
}

static void hire(struct giver *giver, uint32_t capacity)
{
    memset(giver->mail, 0, sizeof(giver->mail));
    atomic_store(&giver->sent, 0);
    atomic_store(&giver->returned, 0);
    atomic_store(&giver->is_over, false);
    giver->is_wrong = false;
    ck_assert_int_eq(lull_recycler_port_new(recycler, capacity, &giver->port), LULL_OK);
    ck_assert_int_eq(pthread_create(&giver->thread, NULL, give_back, giver), 0);
}

static bool has_room(struct giver *giver)
{
    return atomic_load(&giver->sent) -
               atomic_load_explicit(&giver->returned, memory_order_acquire) <
           MAIL_MAX;
}

static void send(struct giver *giver, void *object)
{
    const unsigned sent = atomic_load(&giver->sent);
    while (!has_room(giver)) {
        sched_yield();
    }
    giver->mail[sent % MAIL_MAX] = object;
    atomic_store_explicit(&giver->sent, sent + 1, memory_order_release);
}

static void wait_for(struct giver *giver)
{
    while (atomic_load_explicit(&giver->returned, memory_order_acquire) !=
           atomic_load(&giver->sent)) {
        sched_yield();
    }
}

static void *claim(void)
{
    void *object = lull_recycler_claim(recycler);
    ck_assert_ptr_nonnull(object);
    memset(object, 0xaa, OBJECT_BYTES);
    return object;
}

static void tell_end(struct giver *giver)
{
    atomic_store(&giver->is_over, true);
}

static void join(struct giver *giver)
{
    ck_assert_int_eq(pthread_join(giver->thread, NULL), 0);
    ck_assert(!giver->is_wrong);
    ck_assert_uint_eq(atomic_load(&giver->returned), atomic_load(&giver->sent));
}

/* Everything that was claimed has come back, and the ports are gone. */
static void expect_all_back(uint64_t claims)
{
    lull_recycler_trim(recycler);
    const struct lull_recycler_stats now = stats();
    ck_assert_uint_eq(now.claims, claims);
    ck_assert_uint_eq(now.in_use, 0);
    ck_assert_uint_eq(now.releases + now.releases_port + now.releases_foreign, claims);
    ck_assert_uint_eq(now.ports, 0);
    ck_assert_int_eq(counting.live, 1);
}

START_TEST(a_thread_that_only_gives_back_feeds_the_owner)
{
    const unsigned rounds = test_rounds(200000, 5000);
    hire(&givers[0], 0);
    for (unsigned i = 0; i < rounds; i++) {
        send(&givers[0], claim());
    }
    tell_end(&givers[0]);
    join(&givers[0]);
    expect_all_back(rounds);
#ifndef LULL_NO_POOL
    /* Under way are what the mail holds, one in each hand; nothing is allocated while one is idle. */
    ck_assert_uint_le(stats().claims_allocated, MAIL_MAX + 2);
    ck_assert_uint_eq(stats().releases_port, rounds);
    ck_assert_uint_eq(stats().releases_foreign, 0);
#endif
}
END_TEST

START_TEST(a_full_port_falls_back_to_the_shared_list_and_loses_nothing)
{
    const unsigned batches = test_rounds(2000, 50);
    void *batch[16];
    hire(&givers[0], 2);
    for (unsigned i = 0; i < batches; i++) {
        for (int j = 0; j < 16; j++) {
            batch[j] = claim();
        }
        for (int j = 0; j < 16; j++) {
            send(&givers[0], batch[j]);
        }
        /* Every other batch the owner claims on while the thread gives back. */
        if (i % 2 == 0) {
            wait_for(&givers[0]);
        }
    }
    tell_end(&givers[0]);
    join(&givers[0]);
    expect_all_back(batches * UINT64_C(16));
#ifndef LULL_NO_POOL
    const struct lull_recycler_stats now = stats();
    ck_assert_uint_ge(now.releases_port, 2);
    ck_assert_uint_ge(now.releases_foreign, 14);
    ck_assert_uint_eq(now.releases_foreign, now.ports_full);
#endif
}
END_TEST

/* The thread ends, its port with it, while the owner goes on to claim; the next one comes. */
START_TEST(threads_that_come_and_go_take_their_ports_along_and_lose_nothing)
{
    const unsigned rounds = test_rounds(200, 10);
    uint64_t claims = 0;
    for (unsigned i = 0; i < rounds; i++) {
        hire(&givers[0], 4);
        for (int j = 0; j < 20; j++) {
            send(&givers[0], claim());
        }
        tell_end(&givers[0]);
        for (int j = 0; j < 20; j++) {
            lull_recycler_release(recycler, claim());
        }
        join(&givers[0]);
        claims += 40;
        ck_assert_uint_le(stats().ports, 2);
    }
    expect_all_back(claims);
}
END_TEST

START_TEST(four_threads_with_a_port_each_give_back_and_not_one_object_is_lost)
{
    const unsigned rounds = test_rounds(20000, 500);
    static const uint32_t capacities[GIVERS_MAX] = {1, 4, 64, 0};
    uint64_t claims = 0;
    for (int i = 0; i < GIVERS_MAX; i++) {
        hire(&givers[i], capacities[i]);
    }
    for (unsigned i = 0; i < rounds; i++) {
        for (int j = 0; j < GIVERS_MAX; j++) {
            /* Who is slow holds nobody up: its letters are skipped. */
            if (has_room(&givers[j])) {
                send(&givers[j], claim());
                claims++;
            }
        }
    }
    for (int i = 0; i < GIVERS_MAX; i++) {
        tell_end(&givers[i]);
    }
    for (int i = 0; i < GIVERS_MAX; i++) {
        join(&givers[i]);
    }
    expect_all_back(claims);
}
END_TEST

/* The recycler goes while the threads give back; each frees its port after that, or, in the odd runs, the test does at last. */
START_TEST(a_recycler_may_be_freed_while_threads_give_back_by_their_ports)
{
    const unsigned rounds = test_rounds(100, 10);
    for (unsigned i = 0; i < rounds; i++) {
        const int hired = 1 + (int)(i % GIVERS_MAX);
        for (int j = 0; j < hired; j++) {
            givers[j].keeps_port = _i == 1;
            hire(&givers[j], j % 2 == 0 ? 4 : 0);
        }
        for (int j = 0; j < 32 * hired; j++) {
            send(&givers[j % hired], claim());
        }
        lull_recycler_free(recycler);
        for (int j = 0; j < hired; j++) {
            tell_end(&givers[j]);
        }
        for (int j = 0; j < hired; j++) {
            join(&givers[j]);
            if (givers[j].keeps_port) {
                lull_recycler_port_free(givers[j].port);
            }
            givers[j].keeps_port = false;
        }
        ck_assert_int_eq(counting.live, 0);
        make();
    }
}
END_TEST

/* Both ends at once: the thread frees its port in the moment in which the owner frees the recycler. */
static atomic_int ready;

static void meet(void)
{
    atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < 2) {
        sched_yield();
    }
}

static void *release_and_leave(void *arg)
{
    struct giver *giver = arg;
    lull_recycler_port_release(giver->port, giver->mail[0]);
    meet();
    lull_recycler_port_release(giver->port, giver->mail[1]);
    lull_recycler_port_free(giver->port);
    return NULL;
}

START_TEST(the_port_and_the_recycler_may_be_freed_at_once)
{
    const unsigned rounds = test_rounds(500, 20);
    struct giver *giver = &givers[0];
    for (unsigned i = 0; i < rounds; i++) {
        atomic_store(&ready, 0);
        giver->mail[0] = claim();
        giver->mail[1] = claim();
        ck_assert_int_eq(lull_recycler_port_new(recycler, 4, &giver->port), LULL_OK);
        ck_assert_int_eq(pthread_create(&giver->thread, NULL, release_and_leave, giver), 0);
        meet();
        lull_recycler_free(recycler);
        ck_assert_int_eq(pthread_join(giver->thread, NULL), 0);
        ck_assert_int_eq(counting.live, 0);
        make();
    }
}
END_TEST

static Suite *recycler_port_threads_suite(void)
{
    Suite *suite = suite_create("recycler_port_threads");
    TCase *tc = tcase_create("recycler_port_threads");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_thread_that_only_gives_back_feeds_the_owner);
    tcase_add_test(tc, a_full_port_falls_back_to_the_shared_list_and_loses_nothing);
    tcase_add_test(tc, threads_that_come_and_go_take_their_ports_along_and_lose_nothing);
    tcase_add_test(tc, four_threads_with_a_port_each_give_back_and_not_one_object_is_lost);
    tcase_add_loop_test(tc, a_recycler_may_be_freed_while_threads_give_back_by_their_ports, 0, 2);
    tcase_add_test(tc, the_port_and_the_recycler_may_be_freed_at_once);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("recycler_port_threads", recycler_port_threads_suite)
