/* SPDX-License-Identifier: MIT */
/*
 * A channel over a socket that somebody else connected: here a helper process, as a sandbox has one that may open sockets while the program
 * itself may not. It passes the descriptor by SCM_RIGHTS; lull_channel_from_fd takes it. The server goes away in the end, and the
 * channel, which has nothing to dial, says so.
 * Build: cc from_fd.c $(pkg-config --cflags --libs lull)
 */
#include <lull/lull.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A descriptor in a message of one byte. */
union passed {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
};

static void describe(struct msghdr *message, struct iovec *part, char *byte, union passed *passed)
{
    memset(message, 0, sizeof(*message));
    memset(passed, 0, sizeof(*passed));
    *part = (struct iovec){byte, 1};
    message->msg_iov = part;
    message->msg_iovlen = 1;
    message->msg_control = passed->room;
    message->msg_controllen = sizeof(passed->room);
}

/* The helper: connects, passes the socket on, and is gone. */
static void help(int to, unsigned port)
{
    const struct sockaddr_in server = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    union passed passed;
    struct msghdr message;
    struct iovec part;
    char byte = 0;

    if (fd < 0 || connect(fd, (const struct sockaddr *)&server, sizeof(server)) != 0) {
        _exit(1);
    }
    describe(&message, &part, &byte, &passed);
    passed.head.cmsg_level = SOL_SOCKET;
    passed.head.cmsg_type = SCM_RIGHTS;
    passed.head.cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(&passed.head), &fd, sizeof(fd));
    _exit(sendmsg(to, &message, 0) == 1 ? 0 : 1);
}

/* The socket that the helper has opened, or -1. */
static int receive(int from)
{
    union passed passed;
    struct msghdr message;
    struct iovec part;
    char byte;
    int fd = -1;

    describe(&message, &part, &byte, &passed);
    if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) == 1 && message.msg_controllen >= CMSG_LEN(sizeof(fd)) &&
        passed.head.cmsg_type == SCM_RIGHTS) {
        memcpy(&fd, CMSG_DATA(&passed.head), sizeof(fd));
    }
    return fd;
}

static int ask_helper(unsigned port)
{
    int pair[2], fd;
    pid_t helper;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || (helper = fork()) < 0) {
        return -1;
    }
    if (helper == 0) {
        help(pair[1], port);
    }
    close(pair[1]);
    fd = receive(pair[0]);
    close(pair[0]);
    (void)waitpid(helper, NULL, 0);
    return fd;
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
    if (lull_server_new(&options, &server, NULL) != LULL_OK || lull_server_listen(server, "127.0.0.1:0", NULL) != LULL_OK ||
        lull_server_add(server, "/example.Echo/Ping", &handler, NULL) != LULL_OK) {
        exit(1);
    }
    return server;
}

/* ---- calls */

static char told[1200];

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    const struct lull_failure *failure = result->status.failure;

    snprintf(told, sizeof(told), "%s", failure == NULL ? lull_call_peer(call) : failure->line);
    *(int *)ctx = (int)result->status.code;
}

/* The code of a call, or of its refusal. */
static int ask(struct lull_channel *channel)
{
    struct lull_call_options options;
    struct lull_error error;
    int code = -1;

    lull_call_options_init(&options, "/example.Echo/Ping");
    options.timeout_ns = 5 * LULL_SECOND;
    if (lull_call_unary(channel, &options, lull_slice_static("ping", 4), on_done, &code, NULL, &error) != LULL_OK) {
        snprintf(told, sizeof(told), "%s", error.text);
        return (int)lull_code_from_rc((int)error.rc);
    }
    while (code < 0) {
        (void)lull_loop_run_once(lull_channel_loop(channel), LULL_SECOND);
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
    struct lull_channel_options options;
    struct lull_channel *channel;
    struct lull_error error;
    struct lull_loop *loop;
    struct lull_server *server;
    int fd;

    if (lull_loop_new(NULL, &loop) != LULL_OK) {
        return 1;
    }
    server = serve(loop);
    fd = ask_helper((unsigned)atoi(strrchr(lull_server_address(server, 0), ':') + 1));
    lull_channel_options_init(&options);
    options.loop = loop;
    options.authority = "echo.example"; /* of what is behind a descriptor nobody knows the name */
    if (lull_channel_from_fd(fd, &options, &channel, &error) != LULL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1; /* the descriptor is still ours; from success on it is the channel's */
    }
    check(ask(channel) == LULL_CODE_OK, told); /* the peer: "fd:7 (127.0.0.1:40123)" */
    lull_server_free(server);
    while (lull_channel_state(channel, false) != LULL_STATE_SHUTDOWN) {
        (void)lull_loop_run_once(loop, LULL_SECOND);
    }
    check(ask(channel) == LULL_CODE_UNAVAILABLE && strstr(told, "there is none to dial") != NULL, told);
    lull_channel_unref(channel);
    lull_loop_free(loop);
    printf("Checks: 2, Failures: %u, Errors: 0\n", failures);
    return failures == 0 ? 0 : 1;
}
