/* SPDX-License-Identifier: MIT */
/*
 * The server's public side. See server.h and lull/server.h.
 */
#include "server/server.h"

#include <inttypes.h>
#include <string.h>

#include "base/container.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "base/method.h"
#include "base/random.h"
#include "base/rc.h"
#include "base/sized.h"
#include "base/strbuf.h"
#include "exec/executor.h"
#include "exec/orphan.h"
#include "exec/lane.h"
#include "loop/loop.h"
#include "lull/clock.h"
#include "lull/credentials.h"
#include "net/endpoint.h"
#include "net/endpoint_tls.h"
#include "server/listener.h"
#include "server/server_call.h"
#include "server/server_conn.h"
#include "server/server_options.h"

/* ---- memory */

static void free_server(struct lull_server *server)
{
    const struct lull_allocator *allocator = server->allocator;
    while (!list_is_empty(&server->methods)) {
        struct list_node *node = list_pop_front(&server->methods);
        mem_release(allocator, LIST_ENTRY(node, struct server_method, in_methods));
    }
    lull_recycler_free(server->call_store);
    lull_recycler_free(server->held_store);
    lull_credentials_unref(server->options.credentials);
    mem_release(allocator, server);
}

static void run_dead(struct lull_task *task, struct lull_executor *executor)
{
    (void)executor;
    free_server(container_of(task, struct lull_server, dead));
}

static void free_if_gone(struct lull_server *server)
{
    if (server->is_freed && server->holds == 0 && !server->is_dying) {
        server->is_dying = true;
        executor_post_dead(server->executor, &server->dead);
    }
}

void server_hold(struct lull_server *server)
{
    server->holds++;
}

void server_release(struct lull_server *server)
{
    LULL_INVARIANT(server->holds > 0, "a hold on a server was given back twice");
    server->holds--;
    free_if_gone(server);
}

/* ---- making one */

static int make_store(struct lull_server *server, const char *name, size_t object_bytes,
                      struct lull_recycler **out)
{
    struct lull_recycler_options options;
    lull_recycler_options_init(&options, name, object_bytes);
    options.allocator = server->allocator;
    options.counters = server->counters;
    options.is_owner = executor_is_owner;
    options.owner = server->executor;
    return lull_recycler_new(&options, out);
}

static void run_drained(struct lull_task *task, struct lull_executor *executor)
{
    struct lull_server *server = container_of(task, struct lull_server, drained_task);
    lull_server_drained_fn drained = server->drained;
    if (drained == NULL || server->is_closed || !list_is_empty(&server->conns)) {
        return;
    }
    server->drained = NULL;
    drained(server, server->drained_ctx);
    executor_on_user_returned(executor);
}

static void set_up(struct lull_server *server, const struct lull_server_options *options,
                   const struct lull_world *world)
{
    server->options = *options;
    lull_credentials_ref(options->credentials);
    server->world = *world;
    server->options.world = &server->world;
    server->options.loop = world->loop;
    server->executor = lull_loop_executor(world->loop);
    server->counters = executor_counters(server->executor);
    server->counters->allocations++;
    trace_init(&server->trace, &options->trace, &options->log, true, server->executor, "");
    server->grace_ns = LULL_NEVER;
    list_init(&server->methods);
    list_init(&server->listeners);
    list_init(&server->conns);
    lull_task_init(&server->drained_task, run_drained);
    lull_task_init(&server->dead, run_dead);
    if (server->world.random == NULL) {
        /* The jitter of ages has to spread connections, not to keep a secret. */
        uint64_t seed = (uint64_t)lull_executor_now(server->executor).ns;
        seed = random_splitmix(&seed) ^ (uint64_t)(uintptr_t)server;
        lull_random_seed(&server->seeded, random_splitmix(&seed));
        server->world.random = &server->seeded.base;
    }
}

/* In context: the loop may be another thread's to drive, and what it counts is everybody's. NULL: no memory. */
static struct lull_server *make_server(const struct lull_server_options *options, const struct lull_world *world)
{
    const struct lull_allocator *allocator = executor_allocator(lull_loop_executor(world->loop));
    struct lull_server *server = (struct lull_server *)mem_zeroed(allocator, sizeof(*server));
    if (server == NULL) {
        return NULL;
    }
    server->allocator = allocator;
    set_up(server, options, world);
    int rc = make_store(server, "server call", sizeof(struct lull_server_call), &server->call_store);
    if (rc == LULL_OK) {
        rc = make_store(server, "server message", sizeof(struct server_held), &server->held_store);
    }
    if (rc != LULL_OK) {
        free_server(server);
        return NULL;
    }
    return server;
}

int lull_server_new(const struct lull_server_options *options, struct lull_server **out,
                    struct lull_error *error)
{
    struct lull_server_options resolved;
    struct lull_world world;
    if (out == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "out is NULL");
    }
    int rc = server_options_resolve(options, &resolved, error);
    if (rc == LULL_OK) {
        rc = loop_settle_world(resolved.world, resolved.loop, NULL, &world, error);
    }
    if (rc != LULL_OK) {
        return rc;
    }
    struct lull_executor *executor = lull_loop_executor(world.loop);
    bool had_to_enter = executor_enter(executor);
    struct lull_server *server = make_server(&resolved, &world);
    executor_leave(executor, had_to_enter);
    if (server == NULL) {
        return rc_fail(error, LULL_RC_NOMEM, "no memory for a server");
    }
    *out = server;
    return rc_ok(error);
}

const struct lull_server_options *lull_server_effective_options(const struct lull_server *server)
{
    return &server->options;
}

/* ---- methods */

const struct server_method *server_find_method(const struct lull_server *server, const char *name)
{
    const struct server_method *any = NULL;
    LIST_FOR_EACH(node, &server->methods)
    {
        const struct server_method *method = LIST_ENTRY(node, struct server_method, in_methods);
        if (strcmp(method->name, name) == 0) {
            return method;
        }
        if (method->name[0] == '\0') {
            any = method;
        }
    }
    return any;
}

static bool has_method(const struct lull_server *server, const char *name)
{
    const struct server_method *method = server_find_method(server, name);
    return method != NULL && strcmp(method->name, name) == 0;
}

int lull_server_add(struct lull_server *server, const char *method,
                    const struct lull_server_handler *handler, void *ctx)
{
    static const struct sized kind = {.first = SIZED_UP_TO(struct lull_server_handler, on_closed),
                                      .own = sizeof(*handler)};
    const char *name = method != NULL ? method : "";
    const size_t size = strlen(name) + 1;
    struct lull_server_handler taken;
    lull_server_handler_init(&taken);
    if (handler == NULL || (size > 1 && method_fault(name) != NULL) ||
        sized_take(&kind, &taken, handler, NULL) != LULL_OK) {
        return LULL_RC_INVALID;
    }
    if (has_method(server, name)) {
        return LULL_RC_STATE;
    }
    struct server_method *added =
        (struct server_method *)mem_alloc(server->allocator, sizeof(*added) + size);
    if (added == NULL) {
        return LULL_RC_NOMEM;
    }
    server->counters->allocations++;
    list_init(&added->in_methods);
    added->handler = taken;
    added->ctx = ctx;
    memcpy(added->name, name, size);
    list_push_back(&server->methods, &added->in_methods);
    return LULL_OK;
}

/* ---- connections */

/* With credentials: TLS over it. 0 or an errno. */
static int shield(struct lull_server *server, struct endpoint **endpoint)
{
    return server->options.credentials == NULL
               ? 0
               : endpoint_tls_server(server->world.loop, *endpoint, server->options.credentials,
                                     endpoint);
}

void server_accept(struct lull_server *server, struct endpoint *endpoint)
{
    const bool is_wanted = !server->is_shut_down;
    if (is_wanted && shield(server, &endpoint) == 0 && server_conn_open(server, endpoint) == LULL_OK) {
        return;
    }
    if (is_wanted) {
        TRACE(&server->trace, LULL_EVENT_WARNING, 0, "%s is not served: no memory for a connection",
              endpoint->peer.text);
    }
    endpoint_close(endpoint);
}

void server_on_conn_gone(struct lull_server *server)
{
    LIST_FOR_EACH(node, &server->listeners)
    {
        listener_on_room(LIST_ENTRY(node, struct listener, in_listeners));
    }
    if (!list_is_empty(&server->conns)) {
        return;
    }
    lanes_disarm_empty(executor_lanes(server->executor)); /* of the calls that there were */
    if (server->is_shut_down && !server->is_closed) {
        lull_executor_post(server->executor, &server->drained_task);
    }
}

int lull_server_listen(struct lull_server *server, const char *address, struct lull_error *error)
{
    if (address == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "address is NULL");
    }
    if (server->is_shut_down) {
        return rc_fail(error, LULL_RC_CLOSED, "the server was shut down");
    }
    bool had_to_enter = executor_enter(server->executor);
    int rc = listener_open(server, address, error);
    if (rc == LULL_OK) {
        struct list_node *last = server->listeners.prev;
        server->trace.target =
            LIST_ENTRY(list_first(&server->listeners), struct listener, in_listeners)->addr.text;
        TRACE(&server->trace, LULL_EVENT_STATE, 0, "listening at %s",
              LIST_ENTRY(last, struct listener, in_listeners)->addr.text);
    }
    executor_leave(server->executor, had_to_enter);
    return rc;
}

const char *lull_server_address(const struct lull_server *server, size_t n)
{
    LIST_FOR_EACH(node, &server->listeners)
    {
        const struct listener *listener = LIST_ENTRY(node, struct listener, in_listeners);
        if (n-- == 0) {
            return listener->is_closed ? NULL : listener->addr.text;
        }
    }
    return NULL;
}

/* ---- its end */

/* In context. Their memory stays until the server is freed: lull_server_address counts them. */
static void stop_listening(struct lull_server *server)
{
    LIST_FOR_EACH(node, &server->listeners)
    {
        listener_close(LIST_ENTRY(node, struct listener, in_listeners));
    }
}

void lull_server_shutdown(struct lull_server *server, int64_t grace_ns,
                          lull_server_drained_fn drained, void *ctx)
{
    if (server->is_closed) {
        return;
    }
    bool had_to_enter = executor_enter(server->executor);
    server->is_shut_down = true;
    TRACE(&server->trace, LULL_EVENT_STATE, 0, "shuts down with %" PRIu64 " connection%s",
          server->stats.connections, plural_s(server->stats.connections));
    server->drained = drained;
    server->drained_ctx = ctx;
    stop_listening(server);
    LIST_FOR_EACH_SAFE(node, after, &server->conns)
    {
        server_age_shut_down(LIST_ENTRY(node, struct server_conn, in_conns), grace_ns);
    }
    if (list_is_empty(&server->conns)) {
        lull_executor_post(server->executor, &server->drained_task);
    }
    executor_leave(server->executor, had_to_enter);
}

/* In context. */
static void close_now(struct lull_server *server)
{
    if (server->is_closed) {
        return;
    }
    server->is_closed = server->is_shut_down = true;
    TRACE(&server->trace, LULL_EVENT_STATE, 0, "closed with %" PRIu64 " connection%s",
          server->stats.connections, plural_s(server->stats.connections));
    (void)lull_executor_unpost(server->executor, &server->drained_task);
    stop_listening(server);
    LIST_FOR_EACH_SAFE(node, after, &server->conns)
    {
        struct server_conn *conn = LIST_ENTRY(node, struct server_conn, in_conns);
        /* The calls first: nothing more is told of one, whatever has come already. */
        LIST_FOR_EACH_SAFE(call_node, call_after, &conn->calls)
        {
            server_call_end(LIST_ENTRY(call_node, struct lull_server_call, in_calls),
                            LULL_SERVER_END_CLOSED, "the server was closed");
        }
        server_conn_close(conn, "the server was closed");
    }
}

void lull_server_close(struct lull_server *server)
{
    bool had_to_enter = executor_enter(server->executor);
    close_now(server);
    executor_leave(server->executor, had_to_enter);
}

void lull_server_free(struct lull_server *server)
{
    if (server == NULL) {
        return;
    }
    if (executor_is_orphan(server->executor)) {
        return; /* a forked child: what is open is closed with the loop */
    }
    bool had_to_enter = executor_enter(server->executor);
    struct lull_executor *executor = server->executor;
    close_now(server);
    LIST_FOR_EACH_SAFE(node, after, &server->listeners)
    {
        listener_free(LIST_ENTRY(node, struct listener, in_listeners));
    }
    server->trace.target = "";
    server->is_freed = true;
    free_if_gone(server);
    executor_leave(executor, had_to_enter);
}

/* ---- the rest */

void lull_server_set_silent(struct lull_server *server, bool is_silent)
{
    if (server->is_silent == is_silent) {
        return;
    }
    bool had_to_enter = executor_enter(server->executor);
    server->is_silent = is_silent;
    LIST_FOR_EACH(node, &server->listeners)
    {
        listener_set_silent(LIST_ENTRY(node, struct listener, in_listeners), is_silent);
    }
    LIST_FOR_EACH_SAFE(node, after, &server->conns)
    {
        struct server_conn *conn = LIST_ENTRY(node, struct server_conn, in_conns);
        h2_transport_set_silent(conn->transport, is_silent);
        if (!is_silent) {
            server_age_on_awake(conn);
        }
    }
    executor_leave(server->executor, had_to_enter);
}

void lull_server_stats(const struct lull_server *server, struct lull_server_stats *out)
{
    const size_t size = out->size < sizeof(*out) ? out->size : sizeof(*out);
    if (size >= sizeof(out->size)) {
        memcpy(out, &server->stats, size);
        out->size = size;
    }
}
