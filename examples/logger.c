/* SPDX-License-Identifier: MIT */
/*
 * Objects that are made in an executor's turns and given back by another thread, by its port: a log. A timer makes a record each
 * second of a fake clock; the logger's thread writes them and gives their memory back, with no lock or list that it shares with
 * others. The executor never waits: what a full queue does not take is counted and dropped. Exits 0 when every record was written or
 * counted, in order, and every one came back.
 * Build: cc -pthread logger.c $(pkg-config --cflags --libs lull)
 */
#include <lull/lull.h>

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define RECORDS   10000u
#define QUEUE_MAX 256u

struct record {
    struct record *next;
    int64_t at_ns;
};

/* ---- the logger */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static struct record *first, **last = &first;
static unsigned waiting;
static bool is_over;
static unsigned written, disordered;

static struct record *take_all(void)
{
    struct record *records;
    pthread_mutex_lock(&lock);
    while (first == NULL && !is_over) {
        pthread_cond_wait(&news, &lock);
    }
    records = first;
    first = NULL;
    last = &first;
    waiting = 0;
    pthread_mutex_unlock(&lock);
    return records;
}

static void *write_records(void *arg)
{
    struct lull_recycler_port *port = arg; /* this thread's from here */
    struct record *record;
    int64_t before_ns = -1;
    while ((record = take_all()) != NULL) {
        while (record != NULL) {
            struct record *next = record->next;
            disordered += record->at_ns <= before_ns;
            before_ns = record->at_ns; /* here it would be written */
            written++;
            lull_recycler_port_release(port, record);
            record = next;
        }
    }
    lull_recycler_port_free(port); /* before or after lull_recycler_free: either is fine */
    return NULL;
}

/* ---- the executor's side */

static struct lull_recycler *records;
static unsigned made, dropped;

static void put(struct record *record)
{
    bool is_taken;
    record->next = NULL;
    pthread_mutex_lock(&lock);
    is_taken = waiting < QUEUE_MAX;
    if (is_taken) {
        *last = record;
        last = &record->next;
        waiting++;
        pthread_cond_signal(&news);
    }
    pthread_mutex_unlock(&lock);
    if (!is_taken) {
        dropped++;
        lull_recycler_release(records, record);
    }
}

static void tick(struct lull_timer *timer, struct lull_instant now)
{
    struct record *record = lull_recycler_claim(records);
    if (record == NULL) {
        abort(); /* no memory: an example's answer */
    }
    made++;
    record->at_ns = now.ns;
    put(record);
    if (made < RECORDS) {
        lull_timer_arm(timer, lull_instant_add(now, LULL_SECOND));
    }
}

int main(void)
{
    struct lull_fake_clock clock;
    struct lull_executor_options e;
    struct lull_recycler_options r;
    struct lull_recycler_stats stats = {.size = sizeof(stats)};
    struct lull_executor *exec;
    struct lull_recycler_port *port;
    struct lull_timer timer;
    pthread_t logger;
    unsigned missed = 0;

    lull_fake_clock_init(&clock, 0, 0);
    lull_executor_options_init(&e);
    e.clock = &clock.base;
    lull_recycler_options_init(&r, "records", sizeof(struct record));
    if (lull_executor_new(&e, &exec) != LULL_OK || lull_recycler_new(&r, &records) != LULL_OK ||
        lull_recycler_port_new(records, QUEUE_MAX, &port) != LULL_OK ||
        lull_executor_attach(exec, &clock) != LULL_OK || lull_executor_enter(exec) != LULL_OK ||
        lull_timer_init(&timer, exec, tick) != LULL_OK ||
        pthread_create(&logger, NULL, write_records, port) != 0) {
        abort();
    }
    lull_timer_arm(&timer, lull_at(LULL_SECOND));
    lull_executor_leave(exec);
    for (unsigned i = 0; i < RECORDS / 100; i++) {
        lull_fake_clock_advance(&clock, 100 * LULL_SECOND);
        sched_yield(); /* a real second would be long enough for the logger */
    }

    pthread_mutex_lock(&lock);
    is_over = true;
    pthread_cond_signal(&news);
    pthread_mutex_unlock(&lock);
    pthread_join(logger, NULL);

    lull_recycler_trim(records); /* looks into the ports too */
    lull_recycler_stats(records, &stats);
    printf("%u made: %u written, %u dropped; %llu came back by the port, %llu were allocated\n",
           made, written, dropped, (unsigned long long)stats.releases_port,
           (unsigned long long)stats.claims_allocated);
    missed += made != RECORDS;
    missed += written + dropped != made;
    missed += disordered != 0;
    missed += stats.claims != made;
    missed += stats.in_use != 0;
    missed += lull_executor_enter(exec) != LULL_OK;
    lull_timer_fini(&timer);
    lull_executor_leave(exec);
    printf("Checks: 6, Failures: %u, Errors: 0\n", missed);
    lull_executor_free(exec);
    lull_recycler_free(records);
    return missed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
