/* SPDX-License-Identifier: MIT */
/* src/net/resolver_ares.c: c-ares on real sockets, a name server of ours, and a fake clock. What comes in bytes: resolver_ares_noise_test.c. */
#include "net/resolver_ares.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/container.h"
#include "tests/support/counting_allocator.h"
#include "tests/unit/net/name_asked.h"

#define LIMIT_NS (10 * LULL_SECOND)

static struct name_world world;
static struct resolver_ares resolver;
static struct addr servers[NAME_WORLD_SERVERS];
static char resolv_conf[64], hosts[64];

static void begin(const struct lull_allocator *allocator)
{
    name_world_init(&world, allocator);
    resolver_ares_init(&resolver);
    resolver.port = world.servers[0].port;
    ck_assert(addr_from_ip(&servers[0], "127.0.0.1", world.servers[0].port));
    ck_assert(addr_from_ip(&servers[1], "127.0.0.2", world.servers[1].port));
}

static void end(void)
{
    name_world_fini(&world);
}

static void start(struct name_asked *asked, const char *host, const struct addr *server)
{
    name_asked_init(asked);
    ck_assert_int_eq(lull_executor_enter(world.executor), LULL_OK);
    ck_assert_int_eq(name_asked_start(asked, &world, &resolver, host, server, LIMIT_NS), LULL_OK);
    ck_assert_uint_eq(asked->told, 0);
    lull_executor_leave(world.executor);
    ck_assert_uint_eq(asked->told, 0);
}

static void cancel(struct name_asked *asked)
{
    ck_assert_int_eq(lull_executor_enter(world.executor), LULL_OK);
    name_asked_cancel(asked);
    lull_executor_leave(world.executor);
}

/* Until the first server has been asked so many times. */
static void wait_asked(unsigned times)
{
    while (world.servers[0].asked < times) {
        name_world_round(&world);
    }
}

static void write_file(char *path, size_t size, const char *text)
{
    FILE *file;

    if (path[0] == '\0') {
        ck_assert_int_lt(snprintf(path, size, "/tmp/lull-names-XXXXXX"), (int)size);
        const int fd = mkstemp(path);
        ck_assert_int_ge(fd, 0);
        close(fd);
    }
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* ---- what is answered */

static const struct {
    const char *host;
    const char *says;
} rows[] = {
    {"both.x", "answer [fd00::1]:80 10.0.1.1:80"},
    {"four.x", "answer 10.0.1.1:80"},
    {"six.x", "answer [fd00::1]:80"},
    {"order.x", "answer 10.0.1.1:80 127.0.0.1:80"},
    {"Both.X.", "answer [fd00::1]:80 10.0.1.1:80"},
    {"none.x", "failed: NXDOMAIN (c-ares: Domain name not found; asked "},
    {"servfail.x", "failed: SERVFAIL (c-ares: DNS server returned general failure; asked "},
    {"refused.x", "failed: REFUSED (c-ares: DNS server refused query; asked "},
};

START_TEST(an_answer_is_told_once_and_nothing_is_left)
{
    char says[256];
    struct name_asked asked;
    const char *row = rows[_i].says;

    begin(NULL);
    start(&asked, rows[_i].host, &servers[0]);
    name_asked_wait(&asked, &world);
    const bool is_failure = strncmp(row, "failed", 6) == 0;
    snprintf(says, sizeof(says), "%s%s%s", row, is_failure ? servers[0].text : "",
             is_failure ? ")" : "");
    ck_assert_str_eq(asked.text, says);
    ck_assert_uint_eq(asked.told, 1);
    end();
}
END_TEST

START_TEST(a_truncated_answer_is_asked_for_again_over_tcp)
{
    struct name_asked asked;

    begin(NULL);
    start(&asked, "many.x", &servers[0]);
    name_asked_wait(&asked, &world);
    ck_assert_uint_ge(world.servers[0].asked_by_tcp, 1);
    /* Sixteen are kept, in the server's order. */
    ck_assert_ptr_nonnull(strstr(asked.text, "answer 10.0.1.1:80 10.0.1.2:80 "));
    ck_assert_ptr_nonnull(strstr(asked.text, " 10.0.1.16:80"));
    ck_assert_ptr_null(strstr(asked.text, " 10.0.1.17:80"));
    end();
}
END_TEST

/* c-ares knows it at once, inside start; the asker hears it from a task. */
START_TEST(a_name_of_the_hosts_file_asks_nobody)
{
    struct name_asked asked;

    begin(NULL);
    write_file(hosts, sizeof(hosts), "10.9.9.9 both.x\nfd99::9 both.x\n");
    ck_assert_int_eq(setenv("CARES_HOSTS", hosts, 1), 0);
    resolver.hosts_from_env = true;
    start(&asked, "both.x", &servers[0]);
    name_asked_wait(&asked, &world);
    ck_assert_str_eq(asked.text, "answer [fd99::9]:80 10.9.9.9:80");
    ck_assert_uint_eq(world.servers[0].asked, 0);
    end();
}
END_TEST

/* ---- time */

START_TEST(silence_ends_at_the_limit_and_not_before)
{
    struct name_asked asked;
    char says[256];

    begin(NULL);
    start(&asked, "mute.x", &servers[0]);
    wait_asked(2);
    /* c-ares asks again after 2 s; but its own clock stands still, and so it does not when ours says that it is time. */
    name_world_pass(&world, LIMIT_NS - 1);
    ck_assert_uint_eq(asked.told, 0);
    name_world_pass(&world, 1);
    snprintf(says, sizeof(says), "failed: no answer within 10 s (asked %s)", servers[0].text);
    ck_assert_str_eq(asked.text, says);
    ck_assert(asked.is_over);
    end();
}
END_TEST

/* RFC 8305 section 3. */
START_TEST(one_family_is_told_when_the_other_is_50_ms_late)
{
    static const struct {
        const char *host;
        const char *so_far;
    } late[] = {{"held6.x", "so far 10.0.1.1:80"}, {"held4.x", "so far [fd00::1]:80"}};
    struct name_asked asked;

    begin(NULL);
    start(&asked, late[_i].host, &servers[0]);
    wait_asked(2);
    name_world_settle(&world);
    ck_assert_uint_eq(world.servers[0].held_count, 1);
    name_world_pass(&world, 50 * LULL_MS - 1); /* C24: the number itself, not RESOLVER_GRACE_NS */
    ck_assert_uint_eq(asked.told, 0);
    name_world_pass(&world, 1);
    ck_assert_str_eq(asked.text, late[_i].so_far);
    ck_assert(!asked.is_over);
    name_server_release(&world.servers[0]);
    name_asked_wait(&asked, &world);
    ck_assert_ptr_nonnull(strstr(asked.text, "; answer [fd00::1]:80 10.0.1.1:80"));
    ck_assert_uint_eq(asked.told, 2);
    end();
}
END_TEST

START_TEST(one_family_is_the_answer_when_the_other_never_comes)
{
    struct name_asked asked;

    begin(NULL);
    start(&asked, "held6.x", &servers[0]);
    wait_asked(2);
    name_world_settle(&world);
    name_world_pass(&world, LIMIT_NS);
    ck_assert_str_eq(asked.text, "answer 10.0.1.1:80");
    name_server_release(&world.servers[0]);
    name_world_settle(&world);
    ck_assert_uint_eq(asked.told, 1);
    end();
}
END_TEST

/* What came in a turn is heard before the limit that the same turn finds past. */
START_TEST(an_answer_that_is_there_beats_the_limit)
{
    struct name_asked asked;

    begin(NULL);
    start(&asked, "held.x", &servers[0]);
    wait_asked(2);
    name_server_release(&world.servers[0]);
    lull_fake_clock_advance(&world.clock, 2 * LIMIT_NS);
    name_asked_wait(&asked, &world);
    ck_assert_str_eq(asked.text, "answer [fd00::1]:80 10.0.1.1:80");
    end();
}
END_TEST

/* ---- giving up */

START_TEST(a_late_answer_after_cancel_is_nobodys)
{
    struct name_asked first, second;

    begin(NULL);
    start(&first, "held.x", &servers[0]);
    wait_asked(2);
    cancel(&first);
    ck_assert_uint_eq(world.count, 0);
    start(&second, "held.x", &servers[0]);
    name_server_release(&world.servers[0]);
    wait_asked(4);
    name_world_settle(&world);
    ck_assert_uint_eq(first.told, 0);
    ck_assert_uint_eq(second.told, 0);
    name_server_release(&world.servers[0]);
    name_asked_wait(&second, &world);
    ck_assert_str_eq(second.text, "answer [fd00::1]:80 10.0.1.1:80");
    ck_assert_uint_eq(first.told, 0);
    end();
}
END_TEST

/* Whatever is on its way: nothing, the questions, both answers, read but not told, a connection. */
START_TEST(cancel_takes_back_whatever_is_on_its_way)
{
    static const char *const names[] = {"mute.x", "both.x", "held.x", "many.x", "none.x"};

    for (int rounds = 0; rounds < 8; rounds++) {
        struct name_asked asked;

        begin(NULL);
        start(&asked, names[_i % 5], &servers[0]);
        for (int i = 0; i < rounds && !asked.is_over; i++) {
            if (i > 0) {
                name_server_release(&world.servers[0]);
            }
            name_world_settle(&world);
            if (i == 0 && _i >= 5) {
                name_world_pass(&world, RESOLVER_GRACE_NS);
            }
        }
        const unsigned told = asked.told;
        if (!asked.is_over) {
            cancel(&asked);
        }
        ck_assert_uint_eq(world.count, 0);
        name_server_release(&world.servers[0]);
        name_world_settle(&world);
        name_world_pass(&world, 2 * LIMIT_NS);
        ck_assert_uint_eq(asked.told, told);
        end();
    }
}
END_TEST

static void cancel_before_turn(void *ctx)
{
    struct name_asked *asked = ctx;

    world.before_turn = NULL;
    cancel(asked);
}

/* Its descriptor is on the ready list already. */
START_TEST(a_lookup_is_cancelled_between_readiness_and_its_turn)
{
    struct name_asked asked;

    begin(NULL);
    start(&asked, "held.x", &servers[0]);
    wait_asked(2);
    name_world_settle(&world);
    name_server_release(&world.servers[0]);
    world.before_turn = cancel_before_turn;
    world.ctx = &asked;
    name_world_settle(&world);
    ck_assert(world.before_turn == NULL);
    ck_assert_uint_eq(asked.told, 0);
    ck_assert_uint_eq(world.count, 0);
    end();
}
END_TEST

static void cancel_this(struct name_asked *asked, bool is_last)
{
    if (!is_last) {
        name_asked_cancel(asked);
    }
}

START_TEST(a_lookup_is_cancelled_inside_its_own_answer)
{
    struct name_asked asked;

    begin(NULL);
    start(&asked, "held6.x", &servers[0]);
    asked.then = cancel_this;
    wait_asked(2);
    name_world_settle(&world);
    name_world_pass(&world, RESOLVER_GRACE_NS);
    ck_assert_str_eq(asked.text, "so far 10.0.1.1:80");
    ck_assert_uint_eq(world.count, 0);
    name_server_release(&world.servers[0]);
    name_world_settle(&world);
    ck_assert_uint_eq(asked.told, 1);
    end();
}
END_TEST

static void cancel_the_other(struct name_asked *asked, bool is_last)
{
    struct name_asked *other = asked->ctx;

    (void)is_last;
    if (!other->is_over) {
        name_asked_cancel(other);
    }
}

/* Both answers are there in one turn; the first that is told takes the other back, in the middle of its way. */
START_TEST(a_lookup_is_cancelled_inside_the_answer_of_another)
{
    struct name_asked a, b;

    begin(NULL);
    start(&a, "held.x", &servers[0]);
    start(&b, "held.y", &servers[0]);
    a.then = b.then = cancel_the_other;
    a.ctx = &b;
    b.ctx = &a;
    wait_asked(4);
    name_server_release(&world.servers[0]);
    while (!a.is_over || !b.is_over) {
        name_world_round(&world);
    }
    ck_assert_uint_eq(a.told + b.told, 1);
    ck_assert_uint_eq(world.count, 0);
    name_world_pass(&world, 2 * LIMIT_NS);
    ck_assert_uint_eq(a.told + b.told, 1);
    end();
}
END_TEST

static void ask_again(struct name_asked *asked, bool is_last)
{
    struct name_asked *next = asked->ctx;

    ck_assert(is_last);
    ck_assert_int_eq(name_asked_start(next, &world, &resolver, "both.x", &servers[1], LIMIT_NS),
                     LULL_OK);
}

START_TEST(a_lookup_is_started_inside_the_last_answer_of_another)
{
    struct name_asked asked, next;

    begin(NULL);
    name_asked_init(&next);
    start(&asked, "none.x", &servers[0]);
    asked.then = ask_again;
    asked.ctx = &next;
    name_asked_wait(&asked, &world);
    name_asked_wait(&next, &world);
    ck_assert_str_eq(next.text, "answer [fd00::2]:80 10.0.2.1:80");
    end();
}
END_TEST

/* ---- resolv.conf */

/* RULINGS: a changed resolv.conf counts from the next lookup on; one that is under way goes on with what it has read. */
START_TEST(a_changed_resolv_conf_counts_from_the_next_lookup_on)
{
    struct name_asked before, under_way, after;

    begin(NULL);
    write_file(resolv_conf, sizeof(resolv_conf), "nameserver 127.0.0.1\nsearch one\n");
    resolver.resolv_conf = resolv_conf;
    start(&before, "app", NULL);
    name_asked_wait(&before, &world);
    ck_assert_str_eq(before.text, "answer 10.0.1.1:80");

    const unsigned asked = world.servers[0].asked;
    start(&under_way, "held.x", NULL);
    write_file(resolv_conf, sizeof(resolv_conf), "search two\nnameserver 127.0.0.2\n");
    start(&after, "app", NULL);
    name_asked_wait(&after, &world);
    ck_assert_str_eq(after.text, "answer 10.0.2.1:80");
    wait_asked(asked + 2);
    name_server_release(&world.servers[0]);
    name_asked_wait(&under_way, &world);
    ck_assert_str_eq(under_way.text, "answer [fd00::1]:80 10.0.1.1:80");
    ck_assert_uint_eq(world.servers[0].asked, asked + 2);

    /* The same file again. */
    write_file(resolv_conf, sizeof(resolv_conf), "nameserver 127.0.0.1\nsearch one\n");
    start(&after, "app", NULL);
    name_asked_wait(&after, &world);
    ck_assert_str_eq(after.text, "answer 10.0.1.1:80");
    end();
}
END_TEST

/* A daemon may be between taking the old file away and putting the new one there. */
START_TEST(a_resolv_conf_that_is_not_there_fails_no_lookup_for_ever)
{
    struct name_asked asked;

    begin(NULL);
    write_file(resolv_conf, sizeof(resolv_conf), "");
    resolver.resolv_conf = resolv_conf;
    ck_assert_int_eq(unlink(resolv_conf), 0);
    start(&asked, "both.x", NULL);
    /* c-ares then asks 127.0.0.1. */
    name_asked_wait(&asked, &world);
    ck_assert_str_eq(asked.text, "answer [fd00::1]:80 10.0.1.1:80");
    write_file(resolv_conf, sizeof(resolv_conf), "nameserver 127.0.0.2\n");
    start(&asked, "both.x", NULL);
    name_asked_wait(&asked, &world);
    ck_assert_str_eq(asked.text, "answer [fd00::2]:80 10.0.2.1:80");
    end();
}
END_TEST

/* ---- what the machine refuses */

START_TEST(a_socket_that_cannot_be_watched_ends_at_the_limit)
{
    struct name_asked asked;

    begin(NULL);
    world.is_watch_refused = true;
    start(&asked, "both.x", &servers[0]);
    name_world_settle(&world);
    ck_assert_uint_eq(asked.told, 0);
    name_world_pass(&world, LIMIT_NS);
    ck_assert_ptr_nonnull(strstr(asked.text, "failed: no answer within 10 s"));
    end();
}
END_TEST

START_TEST(want_of_memory_at_any_place_leaves_nothing)
{
    struct counting_allocator memory;
    bool was_ok = false;

    for (long i = 0; !was_ok; i++) {
        struct name_asked asked;

        ck_assert_int_lt(i, 50);
        counting_init(&memory);
        begin(&memory.base);
        name_asked_init(&asked);
        ck_assert_int_eq(lull_executor_enter(world.executor), LULL_OK);
        atomic_store(&memory.fail_from, atomic_load(&memory.asked) + i);
        const int rc = name_asked_start(&asked, &world, &resolver, "many.x", &servers[0], LIMIT_NS);
        lull_executor_leave(world.executor);
        ck_assert(rc == LULL_OK || rc == LULL_RC_NOMEM);
        while (rc == LULL_OK && !asked.is_over) {
            name_world_settle(&world);
            name_world_pass(&world, LIMIT_NS);
        }
        was_ok = strncmp(asked.text, "answer 10.0.1.1:80 ", 19) == 0;
        counting_replenish(&memory);
        end();
        ck_assert_int_eq(atomic_load(&memory.live), 0);
    }
}
END_TEST

static void drop_files(void)
{
    if (resolv_conf[0] != '\0') {
        (void)unlink(resolv_conf);
    }
    if (hosts[0] != '\0') {
        (void)unlink(hosts);
    }
}

/* The user's own words about names are not for a test. */
static void forget_environment(void)
{
    (void)unsetenv("LOCALDOMAIN");
    (void)unsetenv("RES_OPTIONS");
    (void)unsetenv("CARES_HOSTS");
}

static Suite *resolver_ares_suite(void)
{
    Suite *suite = suite_create("resolver_ares");
    TCase *cases = tcase_create("resolver_ares");

    tcase_add_checked_fixture(cases, forget_environment, drop_files);
    tcase_add_loop_test(cases, an_answer_is_told_once_and_nothing_is_left, 0,
                        (int)(sizeof(rows) / sizeof(rows[0])));
    tcase_add_test(cases, a_truncated_answer_is_asked_for_again_over_tcp);
    tcase_add_test(cases, a_name_of_the_hosts_file_asks_nobody);
    tcase_add_test(cases, silence_ends_at_the_limit_and_not_before);
    tcase_add_loop_test(cases, one_family_is_told_when_the_other_is_50_ms_late, 0, 2);
    tcase_add_test(cases, one_family_is_the_answer_when_the_other_never_comes);
    tcase_add_test(cases, an_answer_that_is_there_beats_the_limit);
    tcase_add_test(cases, a_late_answer_after_cancel_is_nobodys);
    tcase_add_loop_test(cases, cancel_takes_back_whatever_is_on_its_way, 0, 10);
    tcase_add_test(cases, a_lookup_is_cancelled_between_readiness_and_its_turn);
    tcase_add_test(cases, a_lookup_is_cancelled_inside_its_own_answer);
    tcase_add_test(cases, a_lookup_is_cancelled_inside_the_answer_of_another);
    tcase_add_test(cases, a_lookup_is_started_inside_the_last_answer_of_another);
    tcase_add_test(cases, a_changed_resolv_conf_counts_from_the_next_lookup_on);
    tcase_add_test(cases, a_resolv_conf_that_is_not_there_fails_no_lookup_for_ever);
    tcase_add_test(cases, a_socket_that_cannot_be_watched_ends_at_the_limit);
    tcase_add_test(cases, want_of_memory_at_any_place_leaves_nothing);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("resolver_ares", resolver_ares_suite)
