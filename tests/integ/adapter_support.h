/* SPDX-License-Identifier: MIT */
/*
 * The adapters of include/lull/adapters on the real libraries: what a library's test hands over, and what the scenarios share.
 *
 * Decides: which scenarios a host has to pass, the same for all. Called by tests/integ/adapter_*_test.c. Public functions only, so
 * that an adapter is seen as a user sees it. Must not know which library it is.
 */
#ifndef TESTS_INTEG_ADAPTER_SUPPORT_H
#define TESTS_INTEG_ADAPTER_SUPPORT_H

#include <check.h>
#include <stdbool.h>

#include <lull/lull.h>

/* How long a test waits for what it expects. */
#define PATIENCE_NS (30 * LULL_SECOND)

#define ECHO_METHOD "/adapter.Test/Echo"
#define NEVER_METHOD "/adapter.Test/Never"

/* One library, as its own users use it. */
struct adapter {
    const char *name;
    void (*open)(void);  /* the host's loop */
    void (*close)(void); /* ends it; asserts that nothing of lull's is left in it */
    int (*make)(const struct lull_executor_options *options, struct lull_loop **out);
    void (*drop)(struct lull_loop *loop);
    /* One round of the host's loop, which may sleep so long at most. */
    void (*round)(int64_t timeout_ns);
    /* Has the host call fn once, from a callback of its own. */
    void (*call_back)(void (*fn)(void));
    /* Runs the host's loop inside the host's loop until the condition holds; NULL: the library does not allow it. */
    void (*nest)(bool (*holds)(void));
    /* Rounds that may pass without a sleep between a callback that asked for a turn and that turn. */
    unsigned rounds_before_turn;
    unsigned sleeps_before_turn; /* of these, that would sleep if the kernel were not told */
    bool is_own;                 /* lull's own loop: its verbs are not counted, it may be a descriptor */
};

/* The scenarios, a Check program's worth. */
Suite *adapter_suite(const struct adapter *adapter);
void adapter_add_calls(TCase *cases); /* adapter_calls.c: what a call can go through */
void adapter_add_host(TCase *cases);  /* adapter_host.c: sleep, wake, alarms, the host's own callbacks */
void adapter_add_fds(TCase *cases);   /* adapter_fds.c: descriptors that come, go, and are wanting */
void adapter_add_ends(TCase *cases);  /* adapter_ends.c: who may end what from where */

/* ---- what the scenarios share; a test has its host's loop open */

extern const struct adapter *host;
extern struct lull_loop *loop;
extern struct lull_server *server;
extern struct lull_channel *channel;

/* A loop whose verbs are counted. */
struct lull_loop *make_loop(void);

extern unsigned wakes, soons;

/* Called when the host is about to wait in the kernel. [nullable] */
extern void (*on_wait)(int timeout_ms);

/* A loop, a server of Echo and Never, a channel to it with short timers. What `tune` [nullable] changes counts. */
void set_up(void (*tune)(struct lull_channel_options *options));
void tear_down(void);

/* What the server's callbacks do instead of answering. [nullable] */
struct server_hooks {
    void (*in_call)(void), (*in_message)(void), (*in_half_closed)(void), (*in_closed)(void);
};

extern struct server_hooks server_hooks;

/* Parts of set_up. */
struct lull_server *make_server(struct lull_loop *on);
struct lull_channel *make_channel(struct lull_loop *on, const char *target, void (*tune)(struct lull_channel_options *options));

struct lull_counters counted(void);
struct lull_channel_stats channel_stats(void);
int count_fds(void);
struct lull_instant now(void);

/* Runs rounds of the host until the condition holds; fails the test when it does not in time. */
void run_until(bool (*holds)(void));

/* A call and its end. */
struct outcome {
    struct lull_call *call; /* a reference; NULL: not started */
    unsigned headers, messages, writables, closed;
    size_t bytes;
    enum lull_code code;
    enum lull_reason reason;
    struct lull_instant closed_at;
    /* Called first in the callback of that name. [nullable] */
    void (*in_headers)(void), (*in_message)(void), (*in_closed)(void);
};

extern struct outcome outcome;

/* Starts a stream on `channel` whose callbacks write `outcome`. */
void start_stream(const char *method, int64_t timeout_ns, int64_t read_timeout_ns);
/* The same with one message and the end behind it. */
void start_call(const char *method, int64_t timeout_ns);
/* Gives the reference back. */
void forget_call(void);
bool is_closed(void);

#endif
