/* SPDX-License-Identifier: MIT */
#include "testkit/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/invariant.h"
#include "base/rc.h"
#include "lull/timer.h"

struct resolver_lookup {
    struct names *names;
    struct name *name; /* NULL: a host that was not added */
    struct lull_executor *executor;
    resolver_answer_fn on_answer;
    void *ctx;
    uint64_t epoch;
    uint16_t port;
    bool is_late;      /* the limit was reached */
    bool has_told;     /* the first part */
    bool is_cancelled;
    struct lull_timer due;
    struct lull_task tell;
};

static size_t read_addrs(const char *text, uint16_t port, struct addr *out)
{
    size_t count = 0;

    while (*text != '\0') {
        char host[64];
        size_t len = strcspn(text, " ");

        LULL_INVARIANT(len < sizeof(host) && count < RESOLVER_ADDRS_MAX, "a scripted answer is too long");
        memcpy(host, text, len);
        host[len] = '\0';
        LULL_INVARIANT(addr_from_ip(&out[count], host, port), "a scripted address is no number");
        count++;
        text += len + (text[len] == ' ');
    }
    return count;
}

static void end(struct resolver_lookup *lookup)
{
    lookup->names->open--;
    (void)lull_executor_unpost(lookup->executor, &lookup->tell);
    lull_timer_fini(&lookup->due);
}

static void run_tell(struct lull_task *task, struct lull_executor *executor)
{
    struct resolver_lookup *lookup = container_of(task, struct resolver_lookup, tell);
    const struct name *name = lookup->name;
    struct addr addrs[RESOLVER_ADDRS_MAX];
    struct resolver_answer answer = {.epoch = lookup->epoch, .addrs = addrs, .is_last = true};

    (void)executor;
    if (name != NULL && name->first != NULL && !lookup->has_told) {
        lookup->has_told = true;
        answer.is_last = false;
        answer.count = read_addrs(name->first, lookup->port, addrs);
        lookup->on_answer(lookup->ctx, &answer);
        return;
    }
    if (name == NULL) {
        answer.why = "NXDOMAIN";
    } else if (lookup->is_late) {
        answer.why = "no answer";
    } else if (name->addrs == NULL) {
        answer.why = name->why;
    } else {
        answer.count = read_addrs(name->addrs, lookup->port, addrs);
    }
    if (lookup->is_cancelled) {
        lull_timer_fini(&lookup->due);
    } else {
        end(lookup);
    }
    lookup->on_answer(lookup->ctx, &answer);
    free(lookup);
}

static void on_due(struct lull_timer *timer, struct lull_instant now)
{
    struct resolver_lookup *lookup = container_of(timer, struct resolver_lookup, due);

    (void)now;
    lull_executor_post(lookup->executor, &lookup->tell);
}

static struct name *find(struct names *names, const char *host)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->names[i].host, host) == 0) {
            return &names->names[i];
        }
    }
    return NULL;
}

static int start(struct lull_resolver *resolver, struct lull_loop *loop, struct lull_executor *executor,
                 const struct resolver_question *question, resolver_answer_fn on_answer, void *ctx,
                 struct resolver_lookup **out, struct lull_error *error)
{
    struct names *names = container_of(resolver, struct names, base);
    struct name *name = find(names, question->host);
    struct lull_instant now = lull_executor_now(executor);
    int64_t after_ns = name == NULL ? 0 : name->after_ns;
    struct resolver_lookup *lookup;

    (void)loop;
    names->questions++;
    if (name != NULL) {
        name->questions++;
        name->asked_at = now;
    }
    if (name != NULL && name->cannot_start) {
        return rc_fail(error, LULL_RC_SYSTEM, "%s", name->why);
    }
    lookup = (struct resolver_lookup *)calloc(1, sizeof(*lookup));
    if (lookup == NULL || lull_timer_init(&lookup->due, executor, on_due) != LULL_OK) {
        free(lookup);
        return rc_fail(error, LULL_RC_NOMEM, "no memory for a lookup");
    }
    lookup->names = names;
    lookup->name = name;
    lookup->executor = executor;
    lookup->on_answer = on_answer;
    lookup->ctx = ctx;
    lookup->epoch = question->epoch;
    lookup->port = question->port;
    lookup->is_late = after_ns >= question->limit_ns;
    lull_task_init(&lookup->tell, run_tell);
    names->open++;
    if (name != NULL && name->first != NULL) {
        lull_executor_post(executor, &lookup->tell);
    }
    lull_timer_arm(&lookup->due, lull_instant_add(now, lookup->is_late ? question->limit_ns : after_ns));
    *out = lookup;
    return rc_ok(error);
}

static void cancel(struct resolver_lookup *lookup)
{
    lookup->names->cancelled++;
    if (lookup->names->answers_cancelled) {
        lookup->names->open--;
        lookup->is_cancelled = true;
        return;
    }
    end(lookup);
    free(lookup);
}

static const struct resolver_ops names_ops = {.start = start, .cancel = cancel};

void names_init(struct names *names)
{
    memset(names, 0, sizeof(*names));
    names->base.ops = &names_ops;
}

struct name *names_add(struct names *names, const char *host, const char *addrs)
{
    struct name *name = &names->names[names->count++];

    LULL_INVARIANT(names->count <= NAMES_MAX, "no room for a name");
    name->host = host;
    name->addrs = addrs;
    return name;
}
