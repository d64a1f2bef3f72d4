/* SPDX-License-Identifier: MIT */
/*
 * The recycler and other threads, two of which may give back the same object. Meant for TSan as well; more of ports in
 * recycler_port_threads_test.c.
 */
#include "lull/recycler.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"
#include "tests/support/rounds.h"

#define OBJECT_BYTES ((size_t)100)

static struct counting_allocator counting;
static struct lull_recycler *recycler;

static void make(void)
{
    struct lull_recycler_options options;
    lull_recycler_options_init(&options, "streams", OBJECT_BYTES);
    options.keep = 4;
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

static void *claim(void)
{
    void *object = lull_recycler_claim(recycler);
    ck_assert_ptr_nonnull(object);
    memset(object, 0xaa, OBJECT_BYTES);
    return object;
}

/* What a double release does where objects are not kept is the allocator's to say. */
#ifndef LULL_NO_POOL
/* The ways to give an object back that are guarded on any thread; each racer has a port of its own. */
enum way { BY_OWNER, BY_LIST, BY_PORT };

struct racer {
    enum way way;
    struct lull_recycler_port *port;
    void *object;
};

static const enum way races[][2] = {
    {BY_OWNER, BY_LIST}, {BY_LIST, BY_LIST}, {BY_PORT, BY_OWNER},
    {BY_PORT, BY_LIST},  {BY_PORT, BY_PORT},
};
static int race;
static atomic_int at_the_start, accepted, trapped;
static int nobody_writes[2]; /* a pipe */

/* A loser stays in here for good: what it did is counted, and whoever drives the race goes on. */
static void on_abort(int signal)
{
    (void)signal;
    atomic_fetch_add(&trapped, 1);
    char nothing;
    while (read(nobody_writes[0], &nothing, 1) != 1) {
    }
}

static void *run_racer(void *arg)
{
    struct racer *racer = arg;
    atomic_fetch_add(&at_the_start, 1);
    while (atomic_load(&at_the_start) < 2) {
        /* Nothing between the two and the gate: no yield, no lock. */
    }
    if (racer->way == BY_OWNER) {
        lull_recycler_release(recycler, racer->object);
    } else if (racer->way == BY_LIST) {
        lull_recycler_release_foreign(recycler, racer->object);
    } else {
        lull_recycler_port_release(racer->port, racer->object);
    }
    atomic_fetch_add(&accepted, 1);
    return NULL;
}

static uint64_t came_back(void)
{
    struct lull_recycler_stats now = {.size = sizeof(now)};
    lull_recycler_stats(recycler, &now);
    return now.releases + now.releases_foreign + now.releases_port;
}

/* One race for one object. The two are the owner and others, or others only; after the race this thread is the owner again. */
static bool is_won_once(struct racer racers[2])
{
    pthread_t thread;
    void *object = lull_recycler_claim(recycler);
    uint64_t before;
    void *first, *second;
    lull_recycler_trim(recycler);
    before = came_back();
    atomic_store(&at_the_start, 0);
    atomic_store(&accepted, 0);
    atomic_store(&trapped, 0);
    for (int i = 0; i < 2; i++) {
        racers[i].way = races[race][i];
        racers[i].object = object;
        if (lull_recycler_port_new(recycler, 4, &racers[i].port) != LULL_OK ||
            pthread_create(&thread, NULL, run_racer, &racers[i]) != 0 ||
            pthread_detach(thread) != 0) {
            return false;
        }
    }
    while (atomic_load(&accepted) + atomic_load(&trapped) < 2) {
        sched_yield();
    }
    first = lull_recycler_claim(recycler);
    second = lull_recycler_claim(recycler);
    if (atomic_load(&accepted) != 1 || atomic_load(&trapped) != 1 || first != object ||
        second == object || came_back() != before + 1) {
        return false;
    }
    lull_recycler_release(recycler, first);
    lull_recycler_release(recycler, second);
    return true;
}

#define RACES_MAX 100

/* In a process of its own, for losers never come back from their trap. */
static void run_races(int rounds)
{
    static struct racer racers[RACES_MAX][2];
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_abort;
    if (pipe(nobody_writes) != 0 || sigaction(SIGABRT, &action, NULL) != 0) {
        _exit(1);
    }
    for (int i = 0; i < rounds; i++) {
        if (!is_won_once(racers[i])) {
            fprintf(stderr, "race %d: %d accepted, %d trapped\n", i, atomic_load(&accepted),
                    atomic_load(&trapped));
            _exit(1);
        }
    }
    _exit(0);
}

/* The lines that the traps wrote: one a race, all the same, and nothing else. */
static int count_traps(FILE *said)
{
    char line[512];
    int traps = 0;
    while (fgets(line, sizeof(line), said) != NULL) {
        ck_assert_msg(strstr(line, "recycler \"streams\": object ") != NULL &&
                          strstr(line, " released twice\n") != NULL,
                      "said: %s", line);
        traps++;
    }
    return traps;
}

START_TEST(exactly_one_of_two_racing_releases_traps_and_the_other_is_accepted)
{
    const int rounds = (int)test_rounds(RACES_MAX, 10);
    int ends[2];
    int status = 0;
    race = _i;
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        run_races(rounds);
    }
    close(ends[1]);
    FILE *said = fdopen(ends[0], "r");
    ck_assert_ptr_nonnull(said);
    const int traps = count_traps(said);
    fclose(said);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d", status);
    ck_assert_int_eq(traps, rounds);
}
END_TEST
#endif

#define RELEASERS 4
#define ROUNDS    500

/* A slot a thread: the owner puts an object in, the thread takes it out and gives it back. */
static _Atomic(void *) slots[RELEASERS];
static atomic_bool is_over;

static void *give_back(void *arg)
{
    _Atomic(void *) *slot = arg;
    uintptr_t released = 0;
    while (true) {
        /* Over is read before the slot: what was put in before the end is still seen. */
        bool was_over = atomic_load(&is_over);
        unsigned char *object = atomic_exchange(slot, NULL);
        if (object != NULL) {
            ck_assert_int_eq(object[0], 0xaa);
            memset(object, 0x55, OBJECT_BYTES);
            lull_recycler_release_foreign(recycler, object);
            released++;
        } else if (was_over) {
            return (void *)released;
        } else {
            sched_yield();
        }
    }
}

static uintptr_t run_releasers(int rounds, bool is_freed_first)
{
    pthread_t threads[RELEASERS];
    uintptr_t total = 0;
    atomic_store(&is_over, false);
    for (int i = 0; i < RELEASERS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, give_back, &slots[i]), 0);
    }
    for (int given = 0; given < rounds * RELEASERS;) {
        _Atomic(void *) *slot = &slots[given % RELEASERS];
        if (atomic_load(slot) == NULL) {
            atomic_store(slot, claim());
            given++;
        } else {
            sched_yield();
        }
    }
    if (is_freed_first) {
        lull_recycler_free(recycler);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < RELEASERS; i++) {
        void *released = NULL;
        pthread_join(threads[i], &released);
        total += (uintptr_t)released;
    }
    return total;
}

START_TEST(four_threads_give_back_and_not_one_object_is_lost)
{
    ck_assert_uint_eq(run_releasers(ROUNDS, false), ROUNDS * RELEASERS);
    lull_recycler_trim(recycler);
    struct lull_recycler_stats now = {.size = sizeof(now)};
    lull_recycler_stats(recycler, &now);
    ck_assert_uint_eq(now.claims, ROUNDS * RELEASERS);
    ck_assert_uint_eq(now.releases_foreign, ROUNDS * RELEASERS);
    ck_assert_uint_eq(now.in_use, 0);
    ck_assert_int_eq(counting.live, 1);
}
END_TEST

START_TEST(a_recycler_may_be_freed_while_four_threads_give_back)
{
    /* The slots are nearly full when the recycler goes: its end races with the last releases. */
    for (int i = 0; i < 10; i++) {
        if (recycler == NULL) {
            make();
        }
        ck_assert_uint_eq(run_releasers(20, true), 20 * RELEASERS);
        ck_assert_int_eq(counting.live, 0);
        recycler = NULL;
    }
}
END_TEST

static Suite *recycler_threads_suite(void)
{
    Suite *suite = suite_create("recycler_threads");
    TCase *tc = tcase_create("recycler_threads");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, set_up, tear_down);
#ifndef LULL_NO_POOL
    tcase_add_loop_test(tc, exactly_one_of_two_racing_releases_traps_and_the_other_is_accepted, 0,
                        (int)(sizeof(races) / sizeof(races[0])));
#endif
    tcase_add_test(tc, four_threads_give_back_and_not_one_object_is_lost);
    tcase_add_test(tc, a_recycler_may_be_freed_while_four_threads_give_back);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("recycler_threads", recycler_threads_suite)
