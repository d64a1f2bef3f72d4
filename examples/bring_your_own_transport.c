/* SPDX-License-Identifier: MIT */
/*
 * lull's parts without its HTTP/2: an echo protocol of the application's own, two ends in memory.
 * A message comes from a recycler and flies by a timer. Two policies say when to ping, give up and
 * sleep: a fact goes in, a step comes out, and the glue (do_keepalive, do_idle) does it and sets a
 * Rescheduler to what is next. Ends with 0 only if every step was observed.
 * Build: cc bring_your_own_transport.c $(pkg-config --cflags --libs lull)
 */
#include <lull/lull.h>

#include <stdio.h>
#include <stdlib.h>

#define FLIGHT (10 * LULL_MS)

struct message {
    struct lull_timer flight; /* first: what expires is the message */
    unsigned call;            /* 0: a ping */
    bool is_answer;
};

static struct lull_fake_clock clock_;
static struct lull_executor *exec;
static struct lull_recycler *pool;
static struct lull_keepalive keepalive;
static struct lull_idle idle;
static struct lull_rescheduler keepalive_timer, idle_timer;
static bool peer_is_mute;
static unsigned calls, answers, pings, deaths, naps, missed;

static void arrived(struct lull_timer *flight, struct lull_instant now);

static void send_message(unsigned call, struct lull_instant now)
{
    struct message *m = lull_recycler_claim(pool);
    if (m == NULL || lull_timer_init(&m->flight, exec, arrived) != LULL_OK) {
        abort(); /* no memory: an example's answer */
    }
    m->call = call;
    m->is_answer = false;
    lull_timer_arm(&m->flight, lull_instant_add(now, FLIGHT));
}

static void do_idle(struct lull_idle_step step)
{
    lull_rescheduler_set(&idle_timer, step.next_at);
    if (step.action == LULL_IDLE_ENTER) { /* disconnect, and nothing stays armed */
        naps++;
        (void)lull_keepalive_on_transport_closed(&keepalive);
        lull_rescheduler_disarm(&keepalive_timer);
        lull_rescheduler_disarm(&idle_timer);
    }
}

static void do_keepalive(struct lull_keepalive_step step, struct lull_instant now)
{
    lull_rescheduler_set(&keepalive_timer, step.next_at);
    if (step.action == LULL_KEEPALIVE_SEND_PING) {
        pings++;
        send_message(0, now);
    } else if (step.action == LULL_KEEPALIVE_PEER_IS_DEAD) { /* and the call has failed */
        deaths++;
        do_idle(lull_idle_on_call_ended(&idle, now));
    }
}

static void expired(struct lull_rescheduler *timer, struct lull_instant now)
{
    (void)timer; /* either: asking early costs nothing */
    do_keepalive(lull_keepalive_on_timer(&keepalive, now), now);
    do_idle(lull_idle_on_timer(&idle, now));
}

static void arrived(struct lull_timer *flight, struct lull_instant now)
{
    struct message *m = (struct message *)flight;
    if (m->is_answer) { /* at our end: life, the answer to a ping as well as any other */
        answers += m->call == 0 || m->call == calls;
        do_keepalive(lull_keepalive_on_read(&keepalive, now), now);
    } else if (!peer_is_mute) { /* at the other end: back it goes */
        m->is_answer = true;
        lull_timer_arm(flight, lull_instant_add(now, FLIGHT));
        return;
    }
    lull_timer_fini(flight);
    lull_recycler_release(pool, m);
}

static void start_call(struct lull_instant now)
{
    do_idle(lull_idle_on_call_started(&idle)); /* WAKE means: connect, which takes no time here */
    do_keepalive(lull_keepalive_on_transport_opened(&keepalive, now), now);
    do_keepalive(lull_keepalive_on_stream_opened(&keepalive, now), now);
    send_message(++calls, now);
}

/* Lets time pass, outside the context: `what` happens once, after exactly this long. */
static void step(int64_t after_ns, const unsigned *what, const char *sentence)
{
    unsigned before = *what, early;
    lull_executor_leave(exec);
    lull_fake_clock_advance(&clock_, after_ns - 1);
    early = *what;
    lull_fake_clock_advance(&clock_, 1);
    missed += lull_executor_enter(exec) != LULL_OK || early != before || *what != before + 1;
    printf("%9.2f s  %s, %u missed\n", (double)clock_.mono_at.ns / 1e9, sentence, missed);
}

int main(void)
{
    struct lull_executor_options e;
    struct lull_recycler_options r;
    struct lull_keepalive_options k;
    struct lull_recycler_stats stats = {.size = sizeof(stats)};
    lull_fake_clock_init(&clock_, 0, 0);
    lull_executor_options_init(&e);
    e.clock = &clock_.base;
    lull_recycler_options_init(&r, "messages", sizeof(struct message));
    lull_keepalive_options_init(&k);
    k.time_ns = 30 * LULL_SECOND;
    lull_idle_init(&idle, LULL_IDLE_TIMEOUT_DEFAULT_NS, false);
    if (lull_executor_new(&e, &exec) != LULL_OK || lull_recycler_new(&r, &pool) != LULL_OK ||
        lull_executor_attach(exec, &clock_) != LULL_OK || lull_executor_enter(exec) != LULL_OK ||
        lull_keepalive_init(&keepalive, &k) != LULL_OK ||
        lull_rescheduler_init(&keepalive_timer, exec, expired) != LULL_OK ||
        lull_rescheduler_init(&idle_timer, exec, expired) != LULL_OK) {
        abort();
    }
    start_call(lull_executor_now(exec));
    step(2 * FLIGHT, &answers, "a call: its message came back as it went");
    step(30 * LULL_SECOND, &pings, "silence: one PING, 30 s after the last byte");
    step(2 * FLIGHT, &answers, "its answer");
    do_keepalive(lull_keepalive_on_last_stream_closed(&keepalive), lull_executor_now(exec));
    do_idle(lull_idle_on_call_ended(&idle, lull_executor_now(exec)));
    step(LULL_IDLE_TIMEOUT_DEFAULT_NS, &naps, "silence: idle, 30 min after the end of the call");
    peer_is_mute = true;
    start_call(lull_executor_now(exec));
    step(30 * LULL_SECOND, &pings, "a peer that died: one PING");
    step(LULL_KEEPALIVE_TIMEOUT_DEFAULT_NS, &deaths, "declared dead 20 s after it");
    step(LULL_IDLE_TIMEOUT_DEFAULT_NS, &naps, "idle again, 30 min after the call failed");
    lull_recycler_stats(pool, &stats);
    missed += pings != 2 || answers != 2 || stats.claims != 4 || stats.in_use != 0;
    printf("Checks: 8, Failures: %u, Errors: 0\n", missed);
    lull_rescheduler_fini(&keepalive_timer);
    lull_rescheduler_fini(&idle_timer);
    lull_executor_leave(exec);
    lull_executor_free(exec);
    lull_recycler_free(pool);
    return missed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
