/* SPDX-License-Identifier: MIT */
/*
 * Sockets that the program sees before they connect: each gets a firewall mark, so that policy routing sends it the right way (SO_MARK, which wants
 * CAP_NET_ADMIN), or where that is not allowed a class of service (IP_TOS). SO_BINDTODEVICE for a VRF goes the same way. What
 * the hook refuses is a failed attempt with its errno.
 * Build: cc on_socket.c $(pkg-config --cflags --libs lull)
 */
#include <lull/lull.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

struct wish {
    int mark;          /* of SO_MARK */
    int service;       /* of IP_TOS, where a mark is not allowed */
    bool refuses;     /* the next socket, for want of a reason */
    unsigned sockets; /* that it has seen */
    char got[64];
};

/* In a turn: short, and without a call into lull. 0, or an errno that fails the attempt. */
static int on_socket(void *ctx, int fd)
{
    struct wish *wish = ctx;
    int value = 0;
    socklen_t len = sizeof(value);

    wish->sockets++;
    if (wish->refuses) {
        return EACCES;
    }
#ifdef SO_MARK
    if (setsockopt(fd, SOL_SOCKET, SO_MARK, &wish->mark, sizeof(wish->mark)) == 0) {
        if (getsockopt(fd, SOL_SOCKET, SO_MARK, &value, &len) != 0) {
            return errno;
        }
        snprintf(wish->got, sizeof(wish->got), "mark %d", value);
        return 0;
    }
    if (errno != EPERM) {
        return errno;
    }
#endif
    if (setsockopt(fd, IPPROTO_IP, IP_TOS, &wish->service, sizeof(wish->service)) != 0 ||
        getsockopt(fd, IPPROTO_IP, IP_TOS, &value, &len) != 0) {
        return errno;
    }
    snprintf(wish->got, sizeof(wish->got), "class of service 0x%02x", (unsigned)value);
    return 0;
}

/* ---- a server to talk to, on the same loop */

static void on_half_closed(struct lull_server_call *call, void *ctx)
{
    (void)ctx;
    (void)lull_server_call_send(call, lull_slice_static("pong", 4));
    (void)lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL);
}

static struct lull_server *serve(struct lull_loop *loop)
{
    struct lull_server_options options;
    struct lull_server_handler handler;
    struct lull_server *server;

    lull_server_options_init(&options);
    options.loop = loop;
    lull_server_handler_init(&handler);
    handler.on_half_closed = on_half_closed;
    if (lull_server_new(&options, &server, NULL) != LULL_OK) {
        return NULL;
    }
    if (lull_server_listen(server, "127.0.0.1:0", NULL) != LULL_OK ||
        lull_server_add(server, "/example.Echo/Ping", &handler, NULL) != LULL_OK) {
        lull_server_free(server);
        return NULL;
    }
    return server;
}

/* ---- calls */

static char line[1200];

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    snprintf(line, sizeof(line), "%s", result->status.failure == NULL ? "OK" : result->status.failure->line);
    *(int *)ctx = (int)result->status.code;
}

static int ask(struct lull_loop *loop, struct lull_channel *channel)
{
    struct lull_call_options options;
    int code = -1;

    lull_call_options_init(&options, "/example.Echo/Ping");
    options.timeout_ns = 5 * LULL_SECOND;
    if (lull_call_unary(channel, &options, lull_slice_static("ping", 4), on_done, &code, NULL, NULL) != LULL_OK) {
        return -1;
    }
    while (code < 0 && lull_loop_run_once(loop, LULL_SECOND) == LULL_OK) {
    }
    return code;
}

static unsigned failures;

static void check(bool is_right, const char *what)
{
    printf("%s: %s\n", is_right ? "ok" : "NOT OK", what);
    failures += !is_right;
}

int main(void)
{
    struct wish wish = {.mark = 108, .service = IPTOS_LOWDELAY};
    struct lull_channel_options options;
    struct lull_channel *channel;
    struct lull_server *server;
    struct lull_loop *loop;

    if (lull_loop_new(NULL, &loop) != LULL_OK || (server = serve(loop)) == NULL) {
        return 1;
    }
    lull_channel_options_init(&options);
    options.loop = loop;
    options.on_socket = on_socket;
    options.on_socket_ctx = &wish;
    if (lull_channel_new(lull_server_address(server, 0), &options, &channel, NULL) != LULL_OK) {
        return 1;
    }
    check(ask(loop, channel) == LULL_CODE_OK && wish.sockets == 1 && wish.got[0] != '\0', wish.got);
    lull_channel_enter_idle(channel); /* the next call dials anew, with a socket that is seen as well */
    wish.refuses = true;
    check(ask(loop, channel) == LULL_CODE_UNAVAILABLE && strstr(line, "socket hook") != NULL, line);
    lull_channel_unref(channel);
    lull_server_free(server);
    lull_loop_free(loop);
    printf("Checks: 2, Failures: %u, Errors: 0\n", failures);
    return failures == 0 ? 0 : 1;
}
