/* SPDX-License-Identifier: MIT */
/*
 * One channel's whole life in a few seconds, client and server on one loop, as a timeline. Timeouts that are minutes in earnest are
 * shortened by allow_short_timers. Ends with 0 only if every step was observed.
 * Build: cc life.c $(pkg-config --cflags --libs lull)
 */
#include <lull/lull.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define IDLE_TIMEOUT (1 * LULL_SECOND)
#define KEEPALIVE_TIME (700 * LULL_MS)
#define KEEPALIVE_TIMEOUT (400 * LULL_MS)
#define DEADLINE (300 * LULL_MS)
#define PATIENCE (5 * LULL_SECOND)

struct life {
    struct lull_loop *loop;
    struct lull_server *server;
    struct lull_channel *channel;
    struct lull_instant began_at;
    int steps, failed;
    /* the call under way */
    bool is_over;
    enum lull_code code;
    enum lull_reason reason;
    unsigned messages;
    /* states that were passed, a bit each */
    unsigned states_seen;
};

static struct lull_instant now(const struct life *life)
{
    return lull_executor_now(lull_loop_executor(life->loop));
}

static void say(const struct life *life, const char *what, const char *detail)
{
    double ms = (double)lull_instant_diff(now(life), life->began_at) / (double)LULL_MS;

    printf("%9.1f ms  %-10s %s\n", ms, what, detail);
    fflush(stdout);
}

static void on_dump_line(void *ctx, const char *line)
{
    say(ctx, "   dump", line);
}

static void step(struct life *life, bool observed, const char *sentence)
{
    life->steps++;
    life->failed += !observed;
    say(life, observed ? "   ok" : "   NOT SEEN", sentence);
    if (!observed && life->channel != NULL) {
        lull_channel_dump(life->channel, on_dump_line, life);
    }
}

/* ---- what the channel tells */

static void on_event(void *ctx, const struct lull_event *event)
{
    struct life *life = ctx;

    switch (event->kind) {
    case LULL_EVENT_STATE:
        say(life, "state", event->detail);
        break;
    case LULL_EVENT_LOST:
        say(life, "lost", event->detail);
        break;
    case LULL_EVENT_PING:
        say(life, "ping", event->detail);
        break;
    case LULL_EVENT_CALL_CLOSED:
        say(life, "call", event->detail);
        break;
    default:
        break;
    }
}

static void on_state(struct lull_channel *channel, enum lull_state state, void *ctx)
{
    struct life *life = ctx;

    life->states_seen |= 1u << state;
    (void)lull_channel_watch(channel, state, on_state, life);
}

/* ---- the server: /lull.Life/Echo answers, /lull.Life/Never does not */

static void echo(struct lull_server_call *call, struct lull_slice message, void *ctx)
{
    (void)ctx;
    (void)lull_server_call_send(call, message);
}

static void echo_end(struct lull_server_call *call, void *ctx)
{
    (void)ctx;
    (void)lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL);
}

static bool start_server(struct life *life)
{
    struct lull_server_options options;
    struct lull_server_handler handler;
    struct lull_error error;

    lull_server_options_init(&options);
    options.loop = life->loop;
    options.permit_keepalive_time_ns = KEEPALIVE_TIME / 2;
    options.allow_short_timers = true;
    lull_server_handler_init(&handler);
    if (lull_server_new(&options, &life->server, &error) != LULL_OK ||
        lull_server_add(life->server, "/lull.Life/Never", &handler, NULL) != LULL_OK) {
        return false;
    }
    handler.on_message = echo;
    handler.on_half_closed = echo_end;
    return lull_server_add(life->server, "/lull.Life/Echo", &handler, NULL) == LULL_OK &&
           lull_server_listen(life->server, "127.0.0.1:0", &error) == LULL_OK;
}

/* ---- calls */

static void on_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    (void)call;
    (void)message;
    ((struct life *)ctx)->messages++;
}

static void on_closed(struct lull_call *call, const struct lull_status *status,
                      const struct lull_metadata *trailers, void *ctx)
{
    struct life *life = ctx;

    (void)call;
    (void)trailers;
    life->is_over = true;
    life->code = status->code;
    life->reason = status->failure != NULL ? status->failure->reason : LULL_REASON_NONE;
}

/* Starts a call with `messages` messages and, if it has any, a half-close behind them. */
static void call(struct life *life, const char *method, int64_t timeout_ns, int messages)
{
    struct lull_call_options options;
    struct lull_call_handler handler;
    struct lull_call *started = NULL;

    lull_call_options_init(&options, method);
    options.timeout_ns = timeout_ns;
    lull_call_handler_init(&handler);
    handler.on_message = on_message;
    handler.on_closed = on_closed;
    life->is_over = false;
    life->messages = 0;
    if (lull_call_start(life->channel, &options, &handler, life, &started, NULL) != LULL_OK) {
        return;
    }
    for (int i = 0; i < messages; i++) {
        (void)lull_call_send(started, lull_slice_static("hello", 5));
    }
    if (messages > 0) {
        (void)lull_call_half_close(started);
    }
    lull_call_unref(started);
}

/* ---- waiting for something to be so, PATIENCE at most */

typedef bool (*condition)(struct life *life);

static bool until(struct life *life, condition is_so)
{
    struct lull_instant give_up_at = lull_instant_add(now(life), PATIENCE);

    while (!is_so(life)) {
        int64_t left_ns = lull_instant_diff(give_up_at, now(life));

        if (left_ns <= 0 || lull_loop_run_once(life->loop, left_ns) != LULL_OK) {
            return false;
        }
    }
    return true;
}

static struct lull_channel_stats stats(const struct life *life)
{
    struct lull_channel_stats s = {.size = sizeof(s)};

    lull_channel_stats(life->channel, &s);
    return s;
}

static bool is_over(struct life *life)
{
    return life->is_over;
}

static bool is_asleep(struct life *life)
{
    struct lull_server_stats server = {.size = sizeof(server)};

    lull_server_stats(life->server, &server);
    return stats(life).is_in_idle_mode && server.connections == 0;
}

static bool was_pinged(struct life *life)
{
    return stats(life).pings_acked > 0;
}

/* ---- the life */

static void young(struct life *life)
{
    unsigned way = 1u << LULL_STATE_CONNECTING | 1u << LULL_STATE_READY;

    step(life, lull_channel_state(life->channel, false) == LULL_STATE_IDLE && stats(life).attempts == 0,
         "a new channel is IDLE and has dialled nobody");
    call(life, "/lull.Life/Echo", PATIENCE, 1);
    step(life, until(life, is_over) && life->code == LULL_CODE_OK && life->messages == 1 && (life->states_seen & way) == way,
         "the first call took it through CONNECTING to READY, and was answered");
    call(life, "/lull.Life/Echo", PATIENCE, 3);
    step(life, until(life, is_over) && life->code == LULL_CODE_OK && life->messages == 3,
         "a stream sent three messages and got three back");
}

/* Nothing is asked to be in time, only not to be early: the machine may be busy. */
static void patient(struct life *life)
{
    struct lull_instant from = now(life);
    bool seen;

    call(life, "/lull.Life/Never", DEADLINE, 1);
    seen = until(life, is_over);
    step(life, seen && life->code == LULL_CODE_DEADLINE_EXCEEDED && life->reason == LULL_REASON_DEADLINE &&
               lull_instant_diff(now(life), from) >= DEADLINE,
         "a call that nobody answers ended at its deadline of 300 ms, not before");
    seen = until(life, is_asleep);
    step(life, seen && lull_instant_diff(now(life), from) >= DEADLINE + IDLE_TIMEOUT,
         "one second after the last call it fell idle and let the connection go");
    call(life, "/lull.Life/Echo", PATIENCE, 1);
    step(life, until(life, is_over) && life->code == LULL_CODE_OK && stats(life).connections_made == 2,
         "the next call woke it");
}

static void hurt(struct life *life)
{
    char text[96];
    struct lull_instant from;
    bool seen;

    call(life, "/lull.Life/Never", LULL_NEVER, 0);
    seen = until(life, was_pinged);
    snprintf(text, sizeof(text), "a quiet stream was pinged after 700 ms; answered in %" PRId64 " us", stats(life).rtt_ns / 1000);
    step(life, seen && !life->is_over, text);
    say(life, "server", "goes silent: it reads and answers nothing, and closes nothing");
    lull_server_set_silent(life->server, true);
    from = now(life);
    seen = until(life, is_over);
    step(life, seen && life->code == LULL_CODE_UNAVAILABLE && life->reason == LULL_REASON_KEEPALIVE &&
               lull_instant_diff(now(life), from) >= KEEPALIVE_TIMEOUT,
         "the silent peer was declared dead 400 ms after the next PING");
    lull_server_set_silent(life->server, false);
    call(life, "/lull.Life/Echo", PATIENCE, 1);
    step(life, until(life, is_over) && life->code == LULL_CODE_OK && stats(life).connections_made == 3,
         "the server came back, and the next call reconnected");
}

static bool set_up(struct life *life)
{
    struct lull_channel_options options;

    if (lull_loop_new(NULL, &life->loop) != LULL_OK || !start_server(life)) {
        return false;
    }
    lull_channel_options_init(&options);
    options.loop = life->loop;
    options.allow_short_timers = true;
    options.idle_timeout_ns = IDLE_TIMEOUT;
    options.keepalive_time_ns = KEEPALIVE_TIME;
    options.keepalive_timeout_ns = KEEPALIVE_TIMEOUT;
    options.backoff_initial_ns = 100 * LULL_MS;
    options.trace.event = on_event;
    options.trace.ctx = life;
    if (lull_channel_new(lull_server_address(life->server, 0), &options, &life->channel, NULL) != LULL_OK) {
        return false;
    }
    life->began_at = now(life);
    return lull_channel_watch(life->channel, LULL_STATE_IDLE, on_state, life) == LULL_OK;
}

int main(void)
{
    struct life life;

    memset(&life, 0, sizeof(life));
    if (!set_up(&life)) {
        fprintf(stderr, "life: no loop, server or channel could be made\n");
        return 1;
    }
    printf("Timeouts are shortened by allow_short_timers: idle 1 s (default 30 min), keepalive 700 ms + 400 ms (default off).\n");
    young(&life);
    patient(&life);
    hurt(&life);
    printf("%d of %d steps observed\n", life.steps - life.failed, life.steps);
    lull_channel_close(life.channel);
    lull_channel_unref(life.channel);
    lull_server_free(life.server);
    lull_loop_free(life.loop);
    return life.failed == 0 ? 0 : 1;
}
