/* SPDX-License-Identifier: MIT */
/*
 * `lull watch`: keeps one channel and prints a line for each change of state, each PING's round trip and each fall into idle mode, as it
 * happens.
 *
 * Decides: what a line says. Called by main.c. Uses public headers only. It makes no calls, so the channel is dialled once, and again
 * only with --reconnect: a channel without calls has nothing to wake for.
 */
#include "watch.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <lull/lull.h>

#include "call.h"
#include "options.h"
#include "text.h"
#include "tls.h"

/* One run of the command. */
struct run {
    struct tool_texts words;
    struct tool_tls tls;
    struct tool_texts cacert, cert, key, authority;
    bool want_help, is_reconnecting;
    int64_t ping_ns;
    int64_t for_ns;
    struct lull_channel_options options;
    struct lull_loop *loop;
    struct lull_channel *channel;
    struct lull_instant start_at;
    struct lull_timer ping; /* the next --ping */
    struct lull_timer end;  /* --for */
    bool is_asked;          /* a PING is out */
    bool has_failed_output;
    bool is_over;
    char failed_at[256]; /* the address of the last attempt, if it failed; else "" */
};

/* Signals only leave a note and stop the loop, which lull_loop_stop may do in a handler. */
static struct lull_loop *signalled_loop;
static volatile sig_atomic_t stops;
static volatile sig_atomic_t dumps;

static void on_stop_signal(int number)
{
    (void)number;
    stops = 1;
    lull_loop_stop(signalled_loop);
}

static void on_dump_signal(int number)
{
    (void)number;
    dumps = 1;
    lull_loop_stop(signalled_loop);
}

void tool_watch_help(void)
{
    (void)fputs(
        "usage: lull watch [options] TARGET\n"
        "\n"
        "Connects to TARGET and prints what becomes of the channel, a line each with milliseconds\n"
        "since the start: its states, PINGs with their round trip, falling idle. Makes no call.\n"
        "Ends with SIGINT or SIGTERM; SIGUSR1 prints all about the channel as it is.\n"
        "\n"
        "  --tls               TLS, or\n"
        "  --plaintext         no TLS; one of the two is needed\n"
        "  --cacert FILE       believe the roots in this PEM file, and not the system's\n"
        "  --cert FILE, --key FILE\n"
        "                      the certificate (with its chain) to show, and its key\n"
        "  --insecure          believe any certificate: for tests, as nothing is secret then\n"
        "  --authority NAME    the name that the server must prove, when it is not the target's\n"
        "  --ping TIME         PING every TIME (5s); 0s: not at all. Many servers end the\n"
        "                      connection of a client that pings more often than once in 5m\n"
        "  --idle TIME         fall idle after TIME without a call (30m); 0s: never\n"
        "  --keepalive TIME, --keepalive-timeout TIME\n"
        "                      PING after TIME of silence, without calls too, and the silence\n"
        "                      that means a dead peer (off, 20s)\n"
        "  --reconnect         dial again whenever the channel has fallen idle\n"
        "  --for TIME          end after TIME\n"
        "  --short-timers      take times below the floors: for tests and demonstrations\n"
        "  -h, --help          this text\n"
        "\n"
        "The exit status is 0, or 14 when the channel was not READY at the end.\n",
        stdout);
}

/* ---- lines */

static void begin_line(struct run *run, const char *what)
{
    const int64_t since_ns = lull_instant_diff(lull_clock_now(lull_clock_system()), run->start_at);
    (void)printf("%12.3f ms  %-11s  ", (double)since_ns / (double)LULL_MS, what);
}

static void end_line(struct run *run)
{
    (void)fputc('\n', stdout);
    if (fflush(stdout) != 0) {
        run->has_failed_output = true;
        run->is_over = true;
        lull_loop_stop(run->loop);
    }
}

/* From 10 s on nobody wants to read milliseconds: "29 min 57 s". */
static void put_duration(int64_t ns)
{
    const int64_t s = ns / LULL_SECOND;
    if (ns == LULL_NEVER) {
        (void)fputs("never", stdout);
    } else if (s >= 3600) {
        (void)printf("%lld h %lld min", (long long)(s / 3600), (long long)(s / 60 % 60));
    } else if (s >= 60) {
        (void)printf("%lld min %lld s", (long long)(s / 60), (long long)(s % 60));
    } else if (s >= 10) {
        (void)printf("%lld s", (long long)s);
    } else {
        (void)printf("%.3f ms", (double)ns / (double)LULL_MS);
    }
}

static void print_state(struct run *run, enum lull_state state)
{
    struct lull_channel_stats stats = {.size = sizeof(stats)};
    lull_channel_stats(run->channel, &stats);
    begin_line(run, "state");
    (void)fputs(lull_state_name((int)state), stdout);
    if (state == LULL_STATE_TRANSIENT_FAILURE && run->failed_at[0] != '\0' && strstr(stats.reason, run->failed_at) == NULL) {
        (void)fputs(": ", stdout);
        tool_text_put(stdout, run->failed_at, strlen(run->failed_at));
    }
    if (stats.reason[0] != '\0') {
        (void)fputs(": ", stdout);
        tool_text_put(stdout, stats.reason, strlen(stats.reason));
    }
    if (stats.is_in_idle_mode) {
        (void)fputs(" (idle mode: no connection, no timer)", stdout);
    } else if (stats.idle_after_ns != LULL_NEVER) {
        (void)fputs(" (falls asleep in ", stdout);
        put_duration(stats.idle_after_ns);
        (void)fputc(')', stdout);
    }
    end_line(run);
}

/* "127.0.0.1:80 attempt 1: connection refused; next in 1 s" */
static void on_event(void *ctx, const struct lull_event *event)
{
    struct run *run = ctx;
    const char *name;
    switch (event->kind) {
    case LULL_EVENT_DIAL:
        name = "dial";
        break;
    case LULL_EVENT_DIAL_FAILED:
        name = "dial failed";
        break;
    case LULL_EVENT_NAME_FAILED:
        name = "name failed";
        break;
    default:
        return;
    }
    run->failed_at[0] = '\0';
    if (event->kind == LULL_EVENT_DIAL_FAILED) {
        const char *end = strstr(event->detail, " attempt ");
        const size_t len = end != NULL ? (size_t)(end - event->detail) : 0;
        if (len < sizeof(run->failed_at)) {
            memcpy(run->failed_at, event->detail, len);
            run->failed_at[len] = '\0';
        }
    }
    begin_line(run, name);
    tool_text_put(stdout, event->detail, strlen(event->detail));
    end_line(run);
}

static void on_dump_line(void *ctx, const char *line)
{
    struct run *run = ctx;
    begin_line(run, "dump");
    tool_text_put(stdout, line, strlen(line));
    end_line(run);
}

static void on_ping(void *ctx, int64_t rtt_ns, const char *why)
{
    struct run *run = ctx;
    struct lull_channel_stats stats = {.size = sizeof(stats)};
    run->is_asked = false;
    if (run->channel == NULL) {
        return; /* the command is over */
    }
    begin_line(run, "ping");
    if (rtt_ns < 0) {
        (void)fputs("no answer: ", stdout);
        tool_text_put(stdout, why, strlen(why));
    } else {
        lull_channel_stats(run->channel, &stats);
        put_duration(rtt_ns);
        (void)fputs(" (min ", stdout);
        put_duration(stats.rtt_min_ns);
        (void)fputs(", max ", stdout);
        put_duration(stats.rtt_max_ns);
        (void)printf("; %llu sent, %llu answered)", (unsigned long long)stats.pings_sent,
                     (unsigned long long)stats.pings_acked);
    }
    end_line(run);
}

/* ---- what happens */

static void arm_in(struct run *run, struct lull_timer *timer, int64_t after_ns)
{
    struct lull_clock *clock = lull_executor_clock(lull_loop_executor(run->loop));
    lull_timer_arm(timer, lull_instant_add(lull_clock_now(clock), after_ns));
}

static struct run *of_ping(struct lull_timer *timer)
{
    return (struct run *)(void *)((char *)timer - offsetof(struct run, ping));
}

static void ping_due(struct lull_timer *timer, struct lull_instant now)
{
    struct run *run = of_ping(timer);
    (void)now;
    if (!run->is_asked && lull_channel_ping(run->channel, on_ping, run, NULL) == LULL_OK) {
        run->is_asked = true;
    }
    arm_in(run, &run->ping, run->ping_ns);
}

static void end_due(struct lull_timer *timer, struct lull_instant now)
{
    struct run *run = (struct run *)(void *)((char *)timer - offsetof(struct run, end));
    (void)now;
    run->is_over = true;
    lull_loop_stop(run->loop);
}

static void on_state(struct lull_channel *channel, enum lull_state now, void *ctx)
{
    struct run *run = ctx;
    print_state(run, now);
    (void)lull_channel_watch(channel, now, on_state, run);
    if (now == LULL_STATE_READY && run->ping_ns != LULL_NEVER) {
        arm_in(run, &run->ping, 0);
    } else {
        lull_timer_disarm(&run->ping);
    }
    if (now == LULL_STATE_IDLE && run->is_reconnecting) {
        (void)lull_channel_state(channel, true);
    }
}

/* ---- the command */

static int parse(struct run *run, int argc, char **argv, struct text_fault *fault)
{
    struct lull_channel_options *o = &run->options;
    const struct tool_option options[] = {
        {"--plaintext", TOOL_OPTION_FLAG, &run->tls.is_plaintext},
        {"--tls", TOOL_OPTION_FLAG, &run->tls.is_tls},
        {"--cacert", TOOL_OPTION_TEXTS, &run->cacert},
        {"--cert", TOOL_OPTION_TEXTS, &run->cert},
        {"--key", TOOL_OPTION_TEXTS, &run->key},
        {"--insecure", TOOL_OPTION_FLAG, &run->tls.is_insecure},
        {"--authority", TOOL_OPTION_TEXTS, &run->authority},
        {"--ping", TOOL_OPTION_DURATION, &run->ping_ns},
        {"--idle", TOOL_OPTION_DURATION, &o->idle_timeout_ns},
        {"--keepalive", TOOL_OPTION_DURATION, &o->keepalive_time_ns},
        {"--keepalive-timeout", TOOL_OPTION_DURATION, &o->keepalive_timeout_ns},
        {"--reconnect", TOOL_OPTION_FLAG, &run->is_reconnecting},
        {"--for", TOOL_OPTION_DURATION, &run->for_ns},
        {"--short-timers", TOOL_OPTION_FLAG, &o->allow_short_timers},
        {"-h", TOOL_OPTION_FLAG, &run->want_help},
        {"--help", TOOL_OPTION_FLAG, &run->want_help},
    };
    if (tool_options_parse(options, sizeof(options) / sizeof(options[0]), "watch", &run->words, 1,
                           argc, argv, fault) != 0) {
        return -1;
    }
    if (run->want_help) {
        return 0;
    }
    if (run->words.count == 0) {
        return tool_text_fault_set(fault, "the target is missing (see 'lull help watch')");
    }
    run->tls.cacert = tool_texts_last(&run->cacert);
    run->tls.cert = tool_texts_last(&run->cert);
    run->tls.key = tool_texts_last(&run->key);
    o->authority = tool_texts_last(&run->authority);
    if (tool_tls_check_client(&run->tls, "watch", fault) != 0) {
        return -1;
    }
    if (run->ping_ns == 0) {
        run->ping_ns = LULL_NEVER;
    }
    o->keepalive_without_calls = true;
    return 0;
}

static int complain(int rc, const struct lull_error *error)
{
    tool_text_complain(error != NULL && error->text[0] != '\0' ? error->text : lull_rc_name(rc));
    return rc == LULL_RC_INVALID || rc == LULL_RC_UNSUPPORTED ? CALL_EXIT_USAGE
                                                              : CALL_EXIT_SOFTWARE;
}

static int open_channel(struct run *run)
{
    struct lull_error error = {.rc = LULL_OK};
    int rc = lull_loop_new(NULL, &run->loop);
    if (rc == LULL_OK) {
        rc = lull_timer_init(&run->ping, lull_loop_executor(run->loop), ping_due);
    }
    if (rc == LULL_OK) {
        rc = lull_timer_init(&run->end, lull_loop_executor(run->loop), end_due);
    }
    if (rc != LULL_OK) {
        return complain(rc, NULL);
    }
    run->options.loop = run->loop;
    run->options.user_agent = "lull-tool/" LULL_VERSION;
    run->options.trace.event = on_event;
    run->options.trace.ctx = run;
    rc = tool_tls_open(&run->tls, false, &run->options.credentials, &error);
    if (rc == LULL_OK) {
        rc = lull_channel_new(run->words.items[0], &run->options, &run->channel, &error);
        lull_credentials_unref(run->options.credentials);
    }
    return rc == LULL_OK ? 0 : complain(rc, &error);
}

static int watch(struct run *run)
{
    int rc = lull_channel_watch(run->channel, LULL_STATE_IDLE, on_state, run);
    if (rc != LULL_OK) {
        return complain(rc, NULL);
    }
    signalled_loop = run->loop;
    (void)signal(SIGINT, on_stop_signal);
    (void)signal(SIGTERM, on_stop_signal);
    (void)signal(SIGUSR1, on_dump_signal);
    const struct lull_channel_options *in_force = lull_channel_effective_options(run->channel);
    tool_options_tell_raised("--idle", run->options.idle_timeout_ns, in_force->idle_timeout_ns);
    tool_options_tell_raised("--keepalive", run->options.keepalive_time_ns, in_force->keepalive_time_ns);
    tool_options_tell_raised("--keepalive-timeout", run->options.keepalive_timeout_ns, in_force->keepalive_timeout_ns);
    run->start_at = lull_clock_now(lull_clock_system());
    print_state(run, LULL_STATE_IDLE);
    (void)lull_channel_state(run->channel, true);
    if (run->for_ns != LULL_NEVER &&
        lull_executor_enter(lull_loop_executor(run->loop)) == LULL_OK) {
        arm_in(run, &run->end, run->for_ns);
        lull_executor_leave(lull_loop_executor(run->loop));
    }
    do {
        rc = lull_loop_run(run->loop);
        if (dumps) {
            dumps = 0;
            lull_channel_dump(run->channel, on_dump_line, run);
        }
    } while (rc == LULL_OK && !stops && !run->is_over);
    if (rc != LULL_OK) {
        return complain(rc, NULL);
    }
    if (run->has_failed_output) {
        tool_text_complain("cannot write to standard output");
        return CALL_EXIT_IO;
    }
    return lull_channel_state(run->channel, false) == LULL_STATE_READY ? 0 : LULL_CODE_UNAVAILABLE;
}

static void close_all(struct run *run)
{
    if (run->channel != NULL) {
        (void)lull_channel_unwatch(run->channel, on_state, run);
    }
    lull_channel_unref(run->channel);
    run->channel = NULL;
    if (run->loop != NULL) {
        (void)lull_loop_run_once(run->loop, 0); /* a PING that is out is told */
        if (lull_executor_enter(lull_loop_executor(run->loop)) == LULL_OK) {
            lull_timer_fini(&run->ping);
            lull_timer_fini(&run->end);
            lull_executor_leave(lull_loop_executor(run->loop));
        }
    }
    lull_loop_free(run->loop);
}

int tool_watch_main(int argc, char **argv)
{
    struct run run;
    struct text_fault fault;
    int status;
    memset(&run, 0, sizeof(run));
    run.ping_ns = 5 * LULL_SECOND;
    run.for_ns = LULL_NEVER;
    lull_channel_options_init(&run.options);
    if (parse(&run, argc, argv, &fault) != 0) {
        tool_text_complain(fault.text);
        return CALL_EXIT_USAGE;
    }
    if (run.want_help) {
        tool_watch_help();
        return 0;
    }
    status = open_channel(&run);
    if (status == 0) {
        status = watch(&run);
    }
    close_all(&run);
    return status;
}
