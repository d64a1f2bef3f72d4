/* SPDX-License-Identifier: MIT */
/*
 * `lull serve`: listens, prints where, serves the demonstration's methods until a signal ends it.
 *
 * Decides: what the signals do and when the process ends. Called by main.c. Uses public headers only: it is an example of a server's life.
 */
#include "serve.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <lull/lull.h>

#include "call.h"
#include "demo.h"
#include "options.h"
#include "text.h"
#include "timeline.h"
#include "tls.h"

/* One run of the command. */
struct run {
    struct tool_texts addresses;
    struct tool_texts words;
    struct tool_tls tls;
    struct tool_texts cacert, cert, key;
    bool is_verbose, want_help, is_echo;
    int64_t grace_ns;
    struct lull_server_options options;
    struct timeline timeline;
    struct lull_loop *loop;
    struct lull_server *server;
    struct tool_demo demo;
    bool is_silent;
    bool is_drained;
};

/* Signals only leave a note and stop the loop, which lull_loop_stop may do in a handler. */
static struct lull_loop *signalled_loop;
static volatile sig_atomic_t stops;
static volatile sig_atomic_t toggles;

static void on_stop_signal(int number)
{
    (void)number;
    stops = stops < 2 ? stops + 1 : 2;
    lull_loop_stop(signalled_loop);
}

static void on_silence_signal(int number)
{
    (void)number;
    toggles = !toggles;
    lull_loop_stop(signalled_loop);
}

void tool_serve_help(void)
{
    (void)fputs(
        "usage: lull serve [options]\n"
        "\n"
        "Serves gRPC for trying clients, prints the addresses, and stops on SIGINT or\n"
        "SIGTERM: calls may finish, the second signal ends them. SIGUSR1 makes it silent (it "
        "reads\n"
        "and answers nothing, PINGs included, and closes nothing), and the next one ends that.\n"
        "\n"
        "  --listen ADDRESS    127.0.0.1:0 without it; may be repeated. Port 0 is chosen by the\n"
        "                      system; unix:PATH, [::1]:PORT and the like work, too\n"
        "  --cert FILE, --key FILE\n"
        "                      TLS: the certificate (with its chain) to show, and its key\n"
        "  --cacert FILE       only clients whose certificates come from the roots in this file\n"
        "  --echo              echo any method, not only the ones below\n"
        "  --grace TIME        how long calls may go on after the first signal (5s)\n"
        "  --max-streams N     calls at a time on one connection (1000); 0: no limit\n"
        "  --permit-keepalive TIME\n"
        "                      clients may PING once in TIME (5m)\n"
        "  --permit-without-calls\n"
        "                      the same without calls; else once in 2h\n"
        "  --max-idle TIME, --max-age TIME, --max-age-grace TIME\n"
        "                      connections that are told to go (never)\n"
        "  --keepalive TIME, --keepalive-timeout TIME\n"
        "                      the server's own PINGs (2h, 20s)\n"
        "  --short-timers      take times below the floors: for tests and demonstrations\n"
        "  -v, --verbose       tell on standard error what happens when\n"
        "  -h, --help          this text\n"
        "\n"
        "  /lull.Demo/Echo     each message comes back, and x- metadata\n"
        "  /lull.Demo/Slow     \"MS\": answers after so many milliseconds\n"
        "  /lull.Demo/Ticks    \"N MS\": N messages, one each MS milliseconds\n"
        "  /lull.Demo/Count    takes messages, answers how many\n"
        "  /lull.Demo/Status   \"CODE TEXT\": ends with that status\n"
        "  /lull.Demo/Silent   \"MS\": answers, then the server is silent for so long\n",
        stdout);
}

static int parse(struct run *run, int argc, char **argv, struct text_fault *fault)
{
    struct lull_server_options *o = &run->options;
    const struct tool_option options[] = {
        {"--listen", TOOL_OPTION_TEXTS, &run->addresses},
        {"--cert", TOOL_OPTION_TEXTS, &run->cert},
        {"--key", TOOL_OPTION_TEXTS, &run->key},
        {"--cacert", TOOL_OPTION_TEXTS, &run->cacert},
        {"--echo", TOOL_OPTION_FLAG, &run->is_echo},
        {"--grace", TOOL_OPTION_DURATION, &run->grace_ns},
        {"--max-streams", TOOL_OPTION_NUMBER, &o->max_streams},
        {"--permit-keepalive", TOOL_OPTION_DURATION, &o->permit_keepalive_time_ns},
        {"--permit-without-calls", TOOL_OPTION_FLAG, &o->permit_keepalive_without_calls},
        {"--max-idle", TOOL_OPTION_DURATION, &o->max_connection_idle_ns},
        {"--max-age", TOOL_OPTION_DURATION, &o->max_connection_age_ns},
        {"--max-age-grace", TOOL_OPTION_DURATION, &o->max_connection_age_grace_ns},
        {"--keepalive", TOOL_OPTION_DURATION, &o->keepalive_time_ns},
        {"--keepalive-timeout", TOOL_OPTION_DURATION, &o->keepalive_timeout_ns},
        {"--short-timers", TOOL_OPTION_FLAG, &o->allow_short_timers},
        {"-v", TOOL_OPTION_FLAG, &run->is_verbose},
        {"--verbose", TOOL_OPTION_FLAG, &run->is_verbose},
        {"-h", TOOL_OPTION_FLAG, &run->want_help},
        {"--help", TOOL_OPTION_FLAG, &run->want_help},
    };
    if (tool_options_parse(options, sizeof(options) / sizeof(options[0]), "serve", &run->words, 0,
                           argc, argv, fault) != 0) {
        return -1;
    }
    run->tls.cacert = tool_texts_last(&run->cacert);
    run->tls.cert = tool_texts_last(&run->cert);
    run->tls.key = tool_texts_last(&run->key);
    return tool_tls_check_server(&run->tls, fault);
}

/* Says what went wrong and returns an exit status. */
static int complain(const char *what, int rc, const struct lull_error *error)
{
    struct text_fault fault;
    (void)tool_text_fault_set(&fault, "%s%s", what,
                              error != NULL && error->text[0] != '\0' ? error->text
                                                                      : lull_rc_name(rc));
    tool_text_complain(fault.text);
    return rc == LULL_RC_INVALID || rc == LULL_RC_UNSUPPORTED ? CALL_EXIT_USAGE
                                                              : CALL_EXIT_SOFTWARE;
}

static int open_server(struct run *run)
{
    struct lull_error error = {.rc = LULL_OK};
    int rc = lull_loop_new(NULL, &run->loop);
    if (rc != LULL_OK) {
        return complain("cannot make an event loop: ", rc, NULL);
    }
    run->options.loop = run->loop;
    if (run->is_verbose) {
        tool_timeline_start(&run->timeline, lull_clock_now(lull_clock_system()));
        run->options.trace.event = tool_timeline_event;
        run->options.trace.ctx = &run->timeline;
    }
    rc = tool_tls_open(&run->tls, true, &run->options.credentials, &error);
    if (rc == LULL_OK) {
        rc = lull_server_new(&run->options, &run->server, &error);
        lull_credentials_unref(run->options.credentials);
    }
    if (rc != LULL_OK) {
        return complain("", rc, &error);
    }
    rc = tool_demo_init(&run->demo, run->server, run->loop, run->is_echo);
    if (rc != LULL_OK) {
        return complain("", rc, NULL);
    }
    if (run->addresses.count == 0) {
        run->addresses.items[run->addresses.count++] = "127.0.0.1:0";
    }
    for (size_t i = 0; i < run->addresses.count; i++) {
        rc = lull_server_listen(run->server, run->addresses.items[i], &error);
        if (rc != LULL_OK) {
            return complain("", rc, &error);
        }
    }
    return 0;
}

static void tell_raised(const struct run *run)
{
    const struct lull_server_options *in_force = lull_server_effective_options(run->server);
    tool_options_tell_raised("--max-idle", run->options.max_connection_idle_ns, in_force->max_connection_idle_ns);
    tool_options_tell_raised("--max-age", run->options.max_connection_age_ns, in_force->max_connection_age_ns);
    tool_options_tell_raised("--keepalive", run->options.keepalive_time_ns, in_force->keepalive_time_ns);
    tool_options_tell_raised("--keepalive-timeout", run->options.keepalive_timeout_ns, in_force->keepalive_timeout_ns);
}

static int print_addresses(const struct run *run)
{
    const char *address;
    for (size_t i = 0; (address = lull_server_address(run->server, i)) != NULL; i++) {
        (void)printf("listening on %s (%s)\n", address, run->tls.cert != NULL ? "TLS" : "plaintext");
    }
    if (fflush(stdout) != 0) {
        tool_text_complain("cannot write to standard output");
        return CALL_EXIT_IO;
    }
    return 0;
}

static void on_drained(struct lull_server *server, void *ctx)
{
    struct run *run = ctx;
    (void)server;
    run->is_drained = true;
    lull_loop_stop(run->loop);
}

static void watch_signals(struct run *run)
{
    signalled_loop = run->loop;
    (void)signal(SIGINT, on_stop_signal);
    (void)signal(SIGTERM, on_stop_signal);
#ifdef SIGUSR1
    (void)signal(SIGUSR1, on_silence_signal);
#endif
}

/* The loop ends when a signal came or the server is drained. Returns the exit status. */
static int serve(struct run *run)
{
    bool is_stopping = false;
    while (!run->is_drained && stops < 2) {
        const int rc = lull_loop_run(run->loop);
        if (rc != LULL_OK) {
            return complain("the event loop stopped: ", rc, NULL);
        }
        if (run->is_silent != (toggles != 0)) {
            run->is_silent = toggles != 0;
            lull_server_set_silent(run->server, run->is_silent);
        }
        if (stops > 0 && !is_stopping) {
            is_stopping = true;
            lull_server_shutdown(run->server, run->grace_ns, on_drained, run);
        }
    }
    return 0;
}

int tool_serve_main(int argc, char **argv)
{
    struct run run;
    struct text_fault fault;
    int status;
    memset(&run, 0, sizeof(run));
    run.grace_ns = 5 * LULL_SECOND;
    lull_server_options_init(&run.options);
    if (parse(&run, argc, argv, &fault) != 0) {
        tool_text_complain(fault.text);
        return CALL_EXIT_USAGE;
    }
    if (run.want_help) {
        tool_serve_help();
        return 0;
    }
    status = open_server(&run);
    if (status == 0) {
        watch_signals(&run);
        tell_raised(&run);
        status = print_addresses(&run);
    }
    if (status == 0) {
        status = serve(&run);
    }
    lull_server_free(run.server);
    if (run.loop != NULL) {
        (void)lull_loop_run_once(run.loop, 0);
    }
    tool_demo_fini(&run.demo);
    lull_loop_free(run.loop);
    return status;
}
