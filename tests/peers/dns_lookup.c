/* SPDX-License-Identifier: MIT */
/*
 * One lookup by resolver_ares, told on one line: what dns_test.sh reads.
 *
 *     dns_lookup [--server ADDRESS:PORT] [--resolv-conf FILE] [--port PORT] [--limit MS] [--cancel MS] HOST PORT
 *
 * Prints "answer ADDRESS... in MS ms", or "failed: WHY in MS ms"; an answer that is not the last is "so far ADDRESS...". --cancel
 * gives up after so long and prints "cancelled"; --port is that of
 * resolv.conf's servers. Exit status 1 when a descriptor or a timer is left afterwards. The hosts file is the
 * one that CARES_HOSTS names, if it is set.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "exec/executor.h"
#include "lull/timer.h"
#include "net/host_port.h"
#include "net/resolver_ares.h"

static struct {
    struct lull_loop *loop;
    struct lull_executor *executor;
    struct resolver_lookup *lookup;
    struct lull_instant began_at;
    struct lull_timer give_up;
} run;

static void fail(const char *what)
{
    fprintf(stderr, "dns_lookup: %s\n", what);
    exit(1);
}

/* Descriptors of this process, the directory's own included. */
static int open_fds(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");

    if (dir == NULL) {
        fail("there is no /proc");
    }
    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count;
}

static void print_addrs(const struct resolver_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        printf(" %s", answer->addrs[i].text);
    }
}

static void on_answer(void *ctx, const struct resolver_answer *answer)
{
    int64_t took_ns = lull_instant_diff(lull_executor_now(run.executor), run.began_at);

    (void)ctx;
    if (!answer->is_last) {
        printf("so far");
        print_addrs(answer);
        printf(" in %" PRId64 " ms\n", took_ns / LULL_MS);
        return;
    }
    printf(answer->count > 0 ? "answer" : "failed: ");
    print_addrs(answer);
    printf("%s in %" PRId64 " ms\n", answer->count > 0 ? "" : answer->why, took_ns / LULL_MS);
    run.lookup = NULL;
    lull_loop_stop(run.loop);
}

static void give_up(struct lull_timer *timer, struct lull_instant now)
{
    (void)timer;
    (void)now;
    if (run.lookup != NULL) {
        resolver_default()->ops->cancel(run.lookup);
        run.lookup = NULL;
        printf("cancelled\n");
    }
    lull_loop_stop(run.loop);
}

static void look_up(struct resolver_ares *resolver, const struct resolver_question *question,
                    int64_t cancel_ns)
{
    struct lull_error error;

    if (lull_executor_enter(run.executor) != LULL_OK ||
        lull_timer_init(&run.give_up, run.executor, give_up) != LULL_OK) {
        fail("cannot set up");
    }
    run.began_at = lull_executor_now(run.executor);
    if (cancel_ns > 0) {
        lull_timer_arm(&run.give_up, lull_instant_add(run.began_at, cancel_ns));
    }
    if (resolver->base.ops->start(&resolver->base, run.loop, run.executor, question, on_answer, NULL,
                                  &run.lookup, &error) != LULL_OK) {
        fail(error.text);
    }
    lull_executor_leave(run.executor);
    if (lull_loop_run(run.loop) != LULL_OK) {
        fail("the loop does not run");
    }
    if (lull_executor_enter(run.executor) != LULL_OK) {
        fail("the context cannot be entered");
    }
    lull_timer_fini(&run.give_up);
    lull_executor_leave(run.executor);
}

static struct addr read_server(const char *text)
{
    const struct reading reading = {text, NULL};
    struct host_port server;

    if (host_port_read(&reading, span_of(text), TARGET_PORT_DNS, &server) != LULL_OK ||
        !server.is_numeric) {
        fail("--server is no address");
    }
    return server.addr;
}

int main(int argc, char **argv)
{
    struct resolver_ares resolver;
    struct resolver_question question = {.limit_ns = 10 * LULL_SECOND, .epoch = 1};
    struct addr server;
    int64_t cancel_ns = 0;
    int i = 1;

    resolver_ares_init(&resolver);
    resolver.hosts_from_env = getenv("CARES_HOSTS") != NULL;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--server") == 0) {
            server = read_server(argv[i + 1]);
            question.server = &server;
        } else if (strcmp(argv[i], "--resolv-conf") == 0) {
            resolver.resolv_conf = argv[i + 1];
        } else if (strcmp(argv[i], "--port") == 0) {
            resolver.port = (uint16_t)atoi(argv[i + 1]);
        } else if (strcmp(argv[i], "--limit") == 0) {
            question.limit_ns = atoi(argv[i + 1]) * LULL_MS;
        } else if (strcmp(argv[i], "--cancel") == 0) {
            cancel_ns = atoi(argv[i + 1]) * LULL_MS;
        } else {
            fail("unknown option");
        }
    }
    if (argc - i != 2) {
        fail("needs a host and a port");
    }
    question.host = argv[i];
    question.port = (uint16_t)atoi(argv[i + 1]);
    if (lull_loop_new(NULL, &run.loop) != LULL_OK) {
        fail("no loop");
    }
    run.executor = lull_loop_executor(run.loop);
    int fds = open_fds();
    look_up(&resolver, &question, cancel_ns);

    struct lull_counters counters = {.size = sizeof(counters)};
    lull_executor_counters(run.executor, &counters);
    /* The loop opens its own three at its first need. */
    if (counters.timers_armed != 0 || open_fds() > fds + 3) {
        fail("a timer or a descriptor is left");
    }
    lull_loop_free(run.loop);
    if (open_fds() > fds) {
        fail("a descriptor is left behind the loop");
    }
    return 0;
}
