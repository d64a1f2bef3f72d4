/* SPDX-License-Identifier: MIT */
/*
 * See listener.h.
 */
#include "server/listener.h"

#include <errno.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/rc.h"
#include "base/strbuf.h"
#include "exec/executor.h"
#include "loop/loop.h"
#include "net/endpoint_tcp.h"
#include "net/sys.h"
#include "net/target.h"
#include "server/server.h"

/* The system cuts it to its own limit (net.core.somaxconn). */
#define BACKLOG 4096

#define ADDRESS_MAX_BYTES 256

static struct lull_counters *counters_of(const struct listener *listener)
{
    return listener->server->counters;
}

/* ---- where */

/* Port 0 is no target; it is a place to listen at. */
static int parse_any_port(const char *address, size_t host_len, struct addr *out,
                          struct lull_error *error)
{
    static const char *const schemes[] = {"ipv4:", "ipv6:", "dns:///", "dns:"};
    char host[ADDRESS_MAX_BYTES];
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        const size_t len = strlen(schemes[i]);
        if (host_len > len && strncmp(address, schemes[i], len) == 0) {
            address += len;
            host_len -= len;
            break;
        }
    }
    if (host_len > 2 && address[0] == '[' && address[host_len - 1] == ']') {
        address++;
        host_len -= 2;
    }
    memcpy(host, address, host_len);
    host[host_len] = '\0';
    if (!addr_from_ip(out, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, 0)) {
        return rc_fail(error, LULL_RC_INVALID,
                       "address \"%.100s:0\": a numeric host, localhost or a unix socket is needed",
                       host);
    }
    return LULL_OK;
}

static int parse(const char *address, struct addr *out, struct lull_error *error)
{
    struct target target;
    const size_t len = strlen(address);
    if (len > 2 && len < ADDRESS_MAX_BYTES && strcmp(address + len - 2, ":0") == 0 &&
        strncmp(address, "unix", 4) != 0) {
        return parse_any_port(address, len - 2, out, error);
    }
    struct lull_error why;
    int rc = target_parse(address, TARGET_PORT_NONE, &target, &why);
    if (rc != LULL_OK) {
        /* "target: port ..."; here it is an address. */
        return rc_fail(error, (enum lull_rc)rc, "address%s",
                       strncmp(why.text, "target", 6) == 0 ? why.text + 6 : why.text);
    }
    if (target.addr_count == 0) {
        return rc_fail(error, LULL_RC_UNSUPPORTED,
                       "address \"%.100s\": a numeric host, localhost or a unix socket is needed",
                       address);
    }
    *out = target.addrs[0];
    return LULL_OK;
}

static bool has_path(const struct addr *addr)
{
    return strncmp(addr->text, "unix:", 5) == 0;
}

/* ---- accepting */

static void warn(const struct listener *listener, const char *what, int err)
{
    const struct trace *trace = &listener->server->trace;
    if (trace_wants(trace, LULL_EVENT_WARNING)) {
        char text[128];
        struct strbuf sb;
        strbuf_init(&sb, text, sizeof(text));
        strbuf_errno(&sb, err);
        trace_tell(trace, LULL_EVENT_WARNING, 0, "%s: %s: %s", listener->addr.text, what, text);
    }
}

static void resume_later(struct listener *listener)
{
    listener->is_paused = true;
    lull_rescheduler_set(
        &listener->resume,
        lull_instant_add(lull_executor_now(listener->server->executor), LISTENER_PAUSE_NS));
}

/* 0 or an errno. */
static int set_watch(struct listener *listener)
{
    struct lull_loop *loop = listener->server->world.loop;
    const bool is_wanted = !listener->is_closed && !listener->is_paused && !listener->is_silent;
    const unsigned want = is_wanted ? LULL_WANT_READ : LULL_WANT_NONE;
    return listener->watch.want == want ? 0 : loop_watch(loop, &listener->watch, want);
}

static void watch(struct listener *listener)
{
    const int err = set_watch(listener);
    if (err != 0 && !listener->is_closed) {
        warn(listener, "cannot be watched", err);
        resume_later(listener);
    }
}

static void pause_accepting(struct listener *listener, int err)
{
    struct lull_server *server = listener->server;
    warn(listener, "accepting pauses", err);
    server->stats.accept_pauses++;
    resume_later(listener);
    watch(listener);
}

static void resume_accepting(struct listener *listener)
{
    listener->is_paused = false;
    lull_rescheduler_cancel(&listener->resume);
    watch(listener);
}

static void resume_due(struct lull_rescheduler *resume, struct lull_instant now)
{
    (void)now;
    resume_accepting(container_of(resume, struct listener, resume));
}

/* What is left of those that wait is the network's fault of one connection (Linux, accept(2)), not a reason to stop. */
static bool is_want_of_something(int err)
{
    return err == EMFILE || err == ENFILE || err == ENOBUFS || err == ENOMEM;
}

static void take(struct listener *listener, int fd, const struct addr *peer)
{
    struct lull_server *server = listener->server;
    struct endpoint *endpoint;
    const int err = endpoint_tcp_adopt(server->world.loop, server->executor, fd, peer, &endpoint);
    if (err != 0) {
        sys_close(counters_of(listener), fd);
        pause_accepting(listener, err);
        return;
    }
    server_accept(server, endpoint);
}

static void accept_some(struct listener *listener)
{
    for (int i = 0; i < LISTENER_ACCEPTS_MAX && !listener->is_paused; i++) {
        struct addr peer;
        int fd;
        const int err = sys_accept(counters_of(listener), listener->watch.fd, &fd, &peer);
        if (err == EAGAIN) {
            return;
        }
        if (is_want_of_something(err)) {
            pause_accepting(listener, err);
        } else if (err == 0) {
            take(listener, fd, &peer);
        }
    }
}

static void on_ready(struct lull_task *task, struct lull_executor *executor)
{
    struct listener *listener = container_of(task, struct listener, watch.on_ready);
    (void)executor;
    listener->watch.ready = LULL_WANT_NONE;
    if (!listener->is_closed && !listener->is_paused && !listener->is_silent) {
        accept_some(listener);
    }
}

void listener_set_silent(struct listener *listener, bool is_silent)
{
    listener->is_silent = is_silent;
    watch(listener);
}

void listener_on_room(struct listener *listener)
{
    if (listener->is_paused && !listener->is_closed) {
        resume_accepting(listener);
    }
}

/* ---- its life */

static void free_dead(struct lull_task *task, struct lull_executor *executor)
{
    mem_release(executor_allocator(executor), container_of(task, struct listener, dead));
}

void listener_close(struct listener *listener)
{
    if (listener->is_closed) {
        return;
    }
    listener->is_closed = true;
    watch(listener);
    (void)lull_executor_unpost(listener->server->executor, &listener->watch.on_ready);
    sys_close(counters_of(listener), listener->watch.fd);
    if (has_path(&listener->addr)) {
        sys_unlink(counters_of(listener), &listener->addr);
    }
    listener->watch.fd = -1;
    lull_rescheduler_fini(&listener->resume);
}

void listener_free(struct listener *listener)
{
    listener_close(listener);
    list_remove(&listener->in_listeners);
    executor_post_dead(listener->server->executor, &listener->dead);
}

/* Binds, listens and watches; on failure nothing of it is left. */
static int start(struct listener *listener, const struct addr *wanted, const char **what)
{
    struct lull_counters *counters = counters_of(listener);
    int fd;
    *what = "make a socket for";
    int err = sys_socket(counters, wanted->storage.ss_family, &fd);
    if (err != 0) {
        return err;
    }
    listener->watch.fd = fd;
    *what = "bind to";
    err = sys_bind(counters, fd, wanted);
    if (err == 0) {
        *what = "listen at";
        err = sys_listen(counters, fd, BACKLOG);
        if (err == 0) {
            err = sys_getsockname(counters, fd, &listener->addr);
        }
        if (err == 0) {
            err = set_watch(listener);
        }
        if (err != 0 && has_path(wanted)) {
            sys_unlink(counters, wanted);
        }
    }
    if (err != 0) {
        sys_close(counters, fd);
    }
    return err;
}

int listener_open(struct lull_server *server, const char *address, struct lull_error *error)
{
    struct addr wanted;
    const char *what = "";
    int rc = parse(address, &wanted, error);
    if (rc != LULL_OK) {
        return rc;
    }
    struct listener *listener = (struct listener *)mem_zeroed(server->allocator, sizeof(*listener));
    if (listener == NULL) {
        return rc_fail(error, LULL_RC_NOMEM, "no memory for a listener");
    }
    server->counters->allocations++;
    listener->server = server;
    list_init(&listener->in_listeners);
    lull_task_init(&listener->watch.on_ready, on_ready);
    lull_task_init(&listener->dead, free_dead);
    if (lull_rescheduler_init(&listener->resume, server->executor, resume_due) != LULL_OK) {
        mem_release(server->allocator, listener);
        return rc_fail(error, LULL_RC_NOMEM, "no memory for a listener");
    }
    listener->is_silent = server->is_silent;
    int err = start(listener, &wanted, &what);
    if (err != 0) {
        lull_rescheduler_fini(&listener->resume);
        mem_release(server->allocator, listener);
        return rc_fail_system(error, err, "cannot %s %s", what, wanted.text);
    }
    list_push_back(&server->listeners, &listener->in_listeners);
    return rc_ok(error);
}
