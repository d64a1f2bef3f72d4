/* SPDX-License-Identifier: MIT */
/*
 * One lookup on a c-ares channel of its own. See resolver_ares.h.
 *
 * c-ares calls back inline: from ares_getaddrinfo (a name of the hosts file), from ares_process_fd, and from ares_destroy for what
 * is still asked, there with any status, a half success included. So a callback only writes down what came, and only while the
 * lookup is on; `work`, a task, tells. c-ares is never on the stack when the asker's code runs, and so cancel may destroy at once.
 */
#include "net/resolver_ares.h"

#include <ares.h>
#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/invariant.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/rc.h"
#include "base/strbuf.h"
#include "exec/executor.h"
#include "loop/loop.h"
#include "lull/rescheduler.h"
#include "net/resolver_ares_text.h"

/* c-ares' own waits for one server: 2 s, 4 s, 8 s, as its newer versions have them; a lost datagram costs 2 s and not 5. */
#define TRY_MS 2000
#define TRIES  3

enum { IP6, IP4, FAMILIES };

/* One socket of c-ares. */
struct ares_watch {
    struct lull_watch watch;
    struct list_node link;
    struct lull_task dead;
    struct resolver_lookup *lookup;
};

/* What is asked for one family. */
struct family {
    struct resolver_lookup *lookup;
    bool is_done;
    int status; /* c-ares' */
    size_t count;
    struct addr addrs[RESOLVER_ADDRS_MAX];
};

struct resolver_lookup {
    struct lull_loop *loop;
    struct lull_executor *executor;
    resolver_answer_fn on_answer;
    void *ctx;
    uint64_t epoch;
    ares_channel channel;
    bool is_inside; /* c-ares is on the stack */
    bool is_over;   /* the last answer was told, or it was cancelled */
    bool is_late;   /* the limit is past */
    bool has_told;  /* an answer that was not the last */
    int64_t limit_ns;
    struct lull_instant limit_at;
    struct lull_instant grace_at; /* LULL_NEVER: both families are waited for */
    struct lull_rescheduler timer; /* the first of limit_at, grace_at and what c-ares wants */
    struct lull_task work;
    struct lull_task dead;
    struct list_node watches;
    struct family families[FAMILIES];
};

/* ---- sockets */

static void free_watch(struct lull_task *task, struct lull_executor *executor)
{
    mem_release(executor_allocator(executor), container_of(task, struct ares_watch, dead));
}

static void set_timer(struct resolver_lookup *lookup);

static void process(struct resolver_lookup *lookup, ares_socket_t read_fd, ares_socket_t write_fd)
{
    lookup->is_inside = true;
    ares_process_fd(lookup->channel, read_fd, write_fd);
    lookup->is_inside = false;
    set_timer(lookup);
}

static void on_watch_ready(struct lull_task *task, struct lull_executor *executor)
{
    struct ares_watch *w = container_of(task, struct ares_watch, watch.on_ready);
    const unsigned ready = w->watch.ready;

    (void)executor;
    w->watch.ready = 0;
    process(w->lookup, (ready & LULL_WANT_READ) != 0 ? w->watch.fd : ARES_SOCKET_BAD,
            (ready & LULL_WANT_WRITE) != 0 ? w->watch.fd : ARES_SOCKET_BAD);
}

static struct ares_watch *find_watch(struct resolver_lookup *lookup, ares_socket_t fd)
{
    LIST_FOR_EACH(node, &lookup->watches)
    {
        struct ares_watch *w = LIST_ENTRY(node, struct ares_watch, link);
        if (w->watch.fd == fd) {
            return w;
        }
    }
    return NULL;
}

static void drop_watch(struct ares_watch *w)
{
    struct resolver_lookup *lookup = w->lookup;

    (void)lull_executor_unpost(lookup->executor, &w->watch.on_ready);
    if (w->watch.want != LULL_WANT_NONE) {
        (void)loop_watch(lookup->loop, &w->watch, LULL_WANT_NONE);
    }
    list_remove(&w->link);
    executor_post_dead(lookup->executor, &w->dead);
}

/* NULL: no memory. */
static struct ares_watch *make_watch(struct resolver_lookup *lookup, ares_socket_t fd)
{
    struct ares_watch *w = mem_zeroed(executor_allocator(lookup->executor), sizeof(*w));

    if (w == NULL) {
        return NULL;
    }
    executor_counters(lookup->executor)->allocations++;
    w->lookup = lookup;
    w->watch.fd = fd;
    lull_task_init(&w->watch.on_ready, on_watch_ready);
    lull_task_init(&w->dead, free_watch);
    list_push_back(&lookup->watches, &w->link);
    return w;
}

/* c-ares opens a socket, wants other things of it, or (neither) is about to close it. One that cannot be watched is not heard of
 * again: the query fails by its timeout. */
static void on_sock_state(void *data, ares_socket_t fd, int readable, int writable)
{
    struct resolver_lookup *lookup = data;
    struct ares_watch *w = find_watch(lookup, fd);
    const unsigned want = (readable != 0 ? (unsigned)LULL_WANT_READ : 0u) |
                          (writable != 0 ? (unsigned)LULL_WANT_WRITE : 0u);

    if (want == LULL_WANT_NONE) {
        if (w != NULL) {
            drop_watch(w);
        }
        return;
    }
    if (w == NULL) {
        w = make_watch(lookup, fd);
    }
    if (w != NULL && w->watch.want != want) {
        (void)loop_watch(lookup->loop, &w->watch, want);
    }
}

/* ---- time */

static struct lull_instant earlier(struct lull_instant a, struct lull_instant b)
{
    return lull_instant_before(b, a) ? b : a;
}

/* The instant at which c-ares gives up a try. Its clock is its own: a millisecond more, and it will agree that it is time. */
static struct lull_instant ares_at(const struct resolver_lookup *lookup, struct lull_instant now)
{
    struct timeval tv;

    if (ares_timeout(lookup->channel, NULL, &tv) == NULL) {
        return lull_at(LULL_NEVER);
    }
    return lull_instant_add(now, (int64_t)tv.tv_sec * LULL_SECOND + (int64_t)tv.tv_usec * 1000 +
                                     LULL_MS);
}

static void set_timer(struct resolver_lookup *lookup)
{
    struct lull_instant now = lull_executor_now(lookup->executor);

    lull_rescheduler_set(&lookup->timer,
                         earlier(earlier(lookup->limit_at, lookup->grace_at), ares_at(lookup, now)));
}

static void timer_expired(struct lull_rescheduler *timer, struct lull_instant now)
{
    struct resolver_lookup *lookup = container_of(timer, struct resolver_lookup, timer);

    if (!lull_instant_before(now, lookup->limit_at)) {
        lookup->is_late = true;
        lull_executor_post(lookup->executor, &lookup->work);
        return;
    }
    if (!lull_instant_before(now, lookup->grace_at)) {
        lull_executor_post(lookup->executor, &lookup->work);
        lookup->grace_at = lull_at(LULL_NEVER);
    }
    process(lookup, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

/* ---- what comes */

static void keep_addrs(struct family *family, const struct ares_addrinfo *from)
{
    const struct ares_addrinfo_node *node = from->nodes;

    for (; node != NULL && family->count < RESOLVER_ADDRS_MAX; node = node->ai_next) {
        addr_from_sockaddr(&family->addrs[family->count], node->ai_addr, node->ai_addrlen);
        family->count++;
    }
}

static void on_family(void *arg, int status, int timeouts, struct ares_addrinfo *result)
{
    struct family *family = arg;
    struct resolver_lookup *lookup = family->lookup;

    (void)timeouts;
    if (!lookup->is_over && !family->is_done) {
        family->is_done = true;
        family->status = status;
        if (status == ARES_SUCCESS && result != NULL) {
            keep_addrs(family, result);
        }
        if (family->count > 0 && lookup->grace_at.ns == LULL_NEVER) {
            lookup->grace_at =
                lull_instant_add(lull_executor_now(lookup->executor), RESOLVER_GRACE_NS);
        }
        lull_executor_post(lookup->executor, &lookup->work);
    }
    if (result != NULL) {
        ares_freeaddrinfo(result);
    }
}

/* ---- telling */

static void free_lookup(struct lull_task *task, struct lull_executor *executor)
{
    mem_release(executor_allocator(executor), container_of(task, struct resolver_lookup, dead));
}

/* Nothing of it is left but its memory, which the free phase takes. */
static void end(struct resolver_lookup *lookup)
{
    LULL_INVARIANT(!lookup->is_inside, "a lookup ends with c-ares on the stack");
    lookup->is_over = true;
    (void)lull_executor_unpost(lookup->executor, &lookup->work);
    ares_destroy(lookup->channel);
    LIST_FOR_EACH_SAFE(node, after, &lookup->watches)
    {
        drop_watch(LIST_ENTRY(node, struct ares_watch, link));
    }
    lull_rescheduler_fini(&lookup->timer);
    executor_post_dead(lookup->executor, &lookup->dead);
}

/* The one that says more: a family that has no record of its kind says little. */
static int worst_status(const struct resolver_lookup *lookup)
{
    const struct family *ip4 = &lookup->families[IP4];
    const struct family *ip6 = &lookup->families[IP6];

    return ip4->status == ARES_ENODATA ? ip6->status : ip4->status;
}

static void describe(struct resolver_lookup *lookup, struct strbuf *why)
{
    const struct family *ip4 = &lookup->families[IP4];
    const struct family *ip6 = &lookup->families[IP6];

    if (lookup->is_late && !(ip4->is_done && ip6->is_done)) {
        strbuf_add(why, "no answer within ");
        strbuf_duration(why, lookup->limit_ns);
        strbuf_add(why, " (");
    } else {
        strbuf_printf(why, "%s (c-ares: %s; ", resolver_ares_status(worst_status(lookup)),
                      ares_strerror(worst_status(lookup)));
    }
    resolver_ares_asked(lookup->channel, why);
    strbuf_add(why, ")");
}

static void run_work(struct lull_task *task, struct lull_executor *executor)
{
    struct resolver_lookup *lookup = container_of(task, struct resolver_lookup, work);
    const struct family *ip4 = &lookup->families[IP4];
    const struct family *ip6 = &lookup->families[IP6];
    struct addr addrs[RESOLVER_ADDRS_MAX];
    char text[RESOLVER_WHY_BYTES];
    struct resolver_answer answer = {.epoch = lookup->epoch, .addrs = addrs};
    struct strbuf why;

    (void)executor;
    answer.is_last = lookup->is_late || (ip4->is_done && ip6->is_done);
    answer.count = resolver_interleave(ip6->addrs, ip6->count, ip4->addrs, ip4->count, addrs,
                                       RESOLVER_ADDRS_MAX);
    if (!answer.is_last) {
        struct lull_instant now = lull_executor_now(lookup->executor);
        const bool is_grace_over = lookup->grace_at.ns == LULL_NEVER ||
                                   !lull_instant_before(now, lookup->grace_at);
        if (answer.count == 0 || lookup->has_told || !is_grace_over) {
            set_timer(lookup);
            return;
        }
        lookup->has_told = true;
        lookup->on_answer(lookup->ctx, &answer);
        return;
    }
    if (answer.count == 0) {
        strbuf_init(&why, text, sizeof(text));
        describe(lookup, &why);
        answer.why = text;
    }
    end(lookup);
    lookup->on_answer(lookup->ctx, &answer);
}

/* ---- asking */

static int set_server(ares_channel channel, const struct addr *server)
{
    struct ares_addr_port_node node = {.next = NULL};
    const struct sockaddr_storage *storage = &server->storage;

    node.family = storage->ss_family;
    if (storage->ss_family == AF_INET) {
        const struct sockaddr_in *sin = (const struct sockaddr_in *)storage;
        node.addr.addr4 = sin->sin_addr;
        node.udp_port = ntohs(sin->sin_port);
    } else {
        const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)storage;
        memcpy(&node.addr.addr6, &sin6->sin6_addr, sizeof(node.addr.addr6));
        node.udp_port = ntohs(sin6->sin6_port);
    }
    node.tcp_port = node.udp_port;
    return ares_set_servers_ports(channel, &node);
}

/* Reads the system's files. A status of c-ares. */
static int open_channel(struct resolver_lookup *lookup, const struct resolver_ares *resolver,
                        const struct addr *server, int flags)
{
    struct ares_options options;
    int mask = ARES_OPT_SOCK_STATE_CB | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_FLAGS;
    char path[1024];

    memset(&options, 0, sizeof(options));
    options.flags = flags;
    options.sock_state_cb = on_sock_state;
    options.sock_state_cb_data = lookup;
    options.timeout = TRY_MS;
    options.tries = TRIES;
    if (resolver->resolv_conf != NULL) {
        snprintf(path, sizeof(path), "%s", resolver->resolv_conf);
        options.resolvconf_path = path;
        mask |= ARES_OPT_RESOLVCONF;
    }
    if (resolver->port != 0) {
        options.udp_port = resolver->port;
        options.tcp_port = resolver->port;
        mask |= ARES_OPT_UDP_PORT | ARES_OPT_TCP_PORT;
    }
    int status = ares_init_options(&lookup->channel, &options, mask);
    if (status != ARES_SUCCESS) {
        return status;
    }
    status = server == NULL ? ARES_SUCCESS : set_server(lookup->channel, server);
    if (status != ARES_SUCCESS) {
        ares_destroy(lookup->channel);
    }
    return status;
}

/*
 * By itself c-ares asks the next server after SERVFAIL, REFUSED and NOTIMP, and in the end tells, up to 1.18, that none could be
 * reached. Where there is no next server its answer is better taken as it is.
 */
static int set_up(struct resolver_lookup *lookup, const struct resolver_ares *resolver,
                  const struct addr *server)
{
    int status = open_channel(lookup, resolver, server, 0);

    if (status != ARES_SUCCESS || resolver_ares_servers(lookup->channel) != 1) {
        return status;
    }
    ares_destroy(lookup->channel);
    return open_channel(lookup, resolver, server, ARES_FLAG_NOCHECKRESP);
}

static void ask(struct resolver_lookup *lookup, const struct resolver_ares *resolver,
                const struct resolver_question *question)
{
    struct ares_addrinfo_hints hints = {
        .ai_flags = ARES_AI_NOSORT | ARES_AI_NUMERICSERV |
                    (resolver->hosts_from_env ? ARES_AI_ENVHOSTS : 0),
        .ai_socktype = SOCK_STREAM,
    };
    char service[8];

    snprintf(service, sizeof(service), "%u", (unsigned)question->port);
    lookup->is_inside = true;
    for (int i = 0; i < FAMILIES; i++) {
        hints.ai_family = i == IP6 ? AF_INET6 : AF_INET;
        lookup->families[i].lookup = lookup;
        ares_getaddrinfo(lookup->channel, question->host, service, &hints, on_family,
                         &lookup->families[i]);
    }
    lookup->is_inside = false;
    set_timer(lookup);
}

static int start(struct lull_resolver *base, struct lull_loop *loop, struct lull_executor *executor,
                 const struct resolver_question *question, resolver_answer_fn on_answer, void *ctx,
                 struct resolver_lookup **out, struct lull_error *error)
{
    const struct resolver_ares *resolver = container_of(base, struct resolver_ares, base);
    const struct lull_allocator *allocator = executor_allocator(executor);
    struct resolver_lookup *lookup = mem_zeroed(allocator, sizeof(*lookup));

    if (lookup == NULL) {
        return rc_fail(error, LULL_RC_NOMEM, "no memory for a lookup");
    }
    executor_counters(executor)->allocations++;
    lookup->loop = loop;
    lookup->executor = executor;
    lookup->on_answer = on_answer;
    lookup->ctx = ctx;
    lookup->epoch = question->epoch;
    lookup->limit_ns = question->limit_ns;
    lookup->limit_at = lull_instant_add(lull_executor_now(executor), question->limit_ns);
    lookup->grace_at = lull_at(LULL_NEVER);
    list_init(&lookup->watches);
    lull_task_init(&lookup->work, run_work);
    lull_task_init(&lookup->dead, free_lookup);
    if (lull_rescheduler_init(&lookup->timer, executor, timer_expired) != LULL_OK) {
        mem_release(allocator, lookup);
        return rc_fail(error, LULL_RC_NOMEM, "no memory for a lookup's timer");
    }
    int status = set_up(lookup, resolver, question->server);
    if (status != ARES_SUCCESS) {
        lull_rescheduler_fini(&lookup->timer);
        mem_release(allocator, lookup);
        return rc_fail(error, status == ARES_ENOMEM ? LULL_RC_NOMEM : LULL_RC_SYSTEM,
                       "c-ares could not be set up: %s", ares_strerror(status));
    }
    ask(lookup, resolver, question);
    *out = lookup;
    return rc_ok(error);
}

static void cancel(struct resolver_lookup *lookup)
{
    if (!lookup->is_over) {
        end(lookup);
    }
}

static const struct resolver_ops ares_ops = {.start = start, .cancel = cancel};

void resolver_ares_init(struct resolver_ares *resolver)
{
    *resolver = (struct resolver_ares){.base = {.ops = &ares_ops}};
}

struct lull_resolver *resolver_ares_system(void)
{
    static struct resolver_ares resolver = {.base = {.ops = &ares_ops}};

    return &resolver.base;
}
