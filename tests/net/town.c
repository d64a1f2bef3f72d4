/* SPDX-License-Identifier: MIT */
/* setns and unshare are not in POSIX. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "tests/net/town.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check.h>

#include <lull/lull.h>

#define LINE_BYTES 2048

/* A child that dies with this process. */
static pid_t fork_child(void)
{
    pid_t pid;
    (void)fflush(NULL);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    return pid;
}

static int open_net(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    return fd;
}

/* A process that does nothing but to be in a namespace of its own. */
static pid_t hold_net(void)
{
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe(ready), 0);
    const pid_t pid = fork_child();
    if (pid == 0) {
        if (unshare(CLONE_NEWNET) != 0 || write(ready[1], "r", 1) != 1) {
            _exit(1);
        }
        for (;;) {
            (void)pause();
        }
    }
    (void)close(ready[1]);
    ck_assert_msg(read(ready[0], &byte, 1) == 1, "no network namespace");
    (void)close(ready[0]);
    return pid;
}

static void become_shell(const struct town *town, enum town_place place, const char *line)
{
    if (setns(town->nets[place], CLONE_NEWNET) != 0) {
        perror("setns");
        _exit(1);
    }
    (void)execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

void town_do(const struct town *town, enum town_place place, const char *line)
{
    int status;
    const pid_t pid = fork_child();
    if (pid == 0) {
        become_shell(town, place, line);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(status == 0, "%s: status %d", line, status);
}

pid_t town_start(const struct town *town, enum town_place place, const char *line, const char *sign)
{
    int out[2];
    char said[LINE_BYTES];
    ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
    const pid_t pid = fork_child();
    if (pid == 0) {
        (void)dup2(out[1], STDOUT_FILENO);
        (void)dup2(out[1], STDERR_FILENO);
        become_shell(town, place, line);
    }
    (void)close(out[1]);
    FILE *from = fdopen(out[0], "r");
    ck_assert_ptr_nonnull(from);
    do {
        ck_assert_msg(fgets(said, sizeof(said), from) != NULL, "%s ended", line);
    } while (strstr(said, sign) == NULL);
    /* The pipe stays open, since the other end may say more. */
    return pid;
}

void town_enter(const struct town *town, enum town_place place)
{
    ck_assert_int_eq(setns(town->nets[place], CLONE_NEWNET), 0);
}

/* ---- TLS */

static const char *certs(void)
{
    const char *directory = getenv("NET_CERTS");
    ck_assert_msg(directory != NULL, "NET_CERTS is not set: partitions_test.sh runs this");
    return directory;
}

const char *town_tls_options(void)
{
    static char options[512];
    (void)snprintf(options, sizeof(options), " --cert %s/leaf.pem --key %s/leaf.key", certs(),
                   certs());
    return options;
}

struct lull_credentials *town_trust(void)
{
    struct lull_credentials_options options;
    struct lull_credentials *credentials;
    char path[512];
    lull_credentials_options_init(&options);
    (void)snprintf(path, sizeof(path), "%s/ca.pem", certs());
    options.ca_file = path;
    options.server_name = "svc.test";
    ck_assert_int_eq(lull_credentials_new(&options, &credentials, NULL), LULL_OK);
    return credentials;
}

/* ---- the server */

void town_serve(struct town *town, const char *options)
{
    char line[LINE_BYTES];
    const char *build = getenv("abs_top_builddir");
    ck_assert_msg(build != NULL, "abs_top_builddir is not set: partitions_test.sh runs this");
    (void)snprintf(line, sizeof(line),
                   "exec '%s/lull' serve --listen " TOWN_SERVER_ADDRESS ":" TOWN_PORT
                   " --short-timers --permit-keepalive 1ms --permit-without-calls%s",
                   build, options);
    town->server = town_start(town, TOWN_SERVER, line, "listening on ");
}

/* ---- the cable */

/*
 * Neighbours are known and links are up before anything is measured: a first packet that waited for them makes the system believe in a
 * slow network. Nobody listens at port 1, and that answer has come all the way.
 */
static void warm_up(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(1)};
    ck_assert_int_eq(inet_pton(AF_INET, TOWN_SERVER_ADDRESS, &to.sin_addr), 1);
    for (int i = 0; i < 2; i++) {
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_ne(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
        ck_assert_msg(errno == ECONNREFUSED, "the server is not there: %s", strerror(errno));
        (void)close(fd);
    }
}

static void begin(struct town *town)
{
    memset(town, 0, sizeof(*town));
    ck_assert_msg(unshare(CLONE_NEWNET) == 0, "no network namespace");
    town->holders[TOWN_CLIENT] = getpid();
    town->holders[TOWN_ROUTER] = hold_net();
    town->holders[TOWN_SERVER] = hold_net();
    for (unsigned i = 0; i < TOWN_PLACES; i++) {
        town->nets[i] = open_net(town->holders[i]);
    }
}

void town_make(struct town *town, enum town_kind kind)
{
    char line[LINE_BYTES];
    begin(town);
    (void)snprintf(line, sizeof(line),
                   "ip -batch - <<'END'\n"
                   "link set lo up\n"
                   "link add rc type veth peer name c0 netns %d\n"
                   "link add rs type veth peer name s0 netns %d\n"
                   "addr add 10.83.1.1/24 dev rc\n"
                   "addr add 10.83.2.1/24 dev rs\n"
                   "link set rc up\n"
                   "link set rs up\n"
                   "END\n"
                   "echo 1 >/proc/sys/net/ipv4/ip_forward && nft -f - <<'END'\n"
                   "table inet cable {\n"
                   "  chain forward { type filter hook forward priority 0; }\n"
                   "}\n"
                   "END\n",
                   (int)town->holders[TOWN_CLIENT], (int)town->holders[TOWN_SERVER]);
    town_do(town, TOWN_ROUTER, line);
    town_do(town, TOWN_CLIENT,
            "ip -batch - <<'END'\n"
            "link set lo up\n"
            "addr add " TOWN_CLIENT_ADDRESS "/24 dev c0\n"
            "link set c0 up\n"
            "route add default via 10.83.1.1\n"
            "END\n");
    /* Small buffers: a server that does not read blocks its writers soon. */
    town_do(town, TOWN_SERVER,
            "ip -batch - <<'END'\n"
            "link set lo up\n"
            "addr add " TOWN_SERVER_ADDRESS "/24 dev s0\n"
            "link set s0 up\n"
            "route add default via 10.83.2.1\n"
            "END\n"
            "echo 4096 16384 16384 >/proc/sys/net/ipv4/tcp_rmem\n");
    warm_up();
    if (kind == TOWN_NAT) {
        /* Strict, as many boxes are: what belongs to no connection that it knows is dropped (RULINGS 28). */
        town_do(town, TOWN_ROUTER,
                "nft -f - <<'END' && cd /proc/sys/net/netfilter &&\n"
                "table inet nat {\n"
                "  chain out { type nat hook postrouting priority 100; oifname rs masquerade; }\n"
                "  chain strict { type filter hook forward priority 1; ct state invalid drop; }\n"
                "}\n"
                "END\n"
                "echo 0 >nf_conntrack_tcp_loose && echo 5 >nf_conntrack_tcp_timeout_established");
    }
}

void town_make_slow(struct town *town, const char *how)
{
    char line[LINE_BYTES];
    begin(town);
    const char *build = getenv("abs_top_builddir");
    (void)snprintf(line, sizeof(line),
                   "exec '%s/tests/net/tun_forward' /proc/%d/ns/net /proc/%d/ns/net %s", build,
                   (int)town->holders[TOWN_CLIENT], (int)town->holders[TOWN_SERVER], how);
    (void)town_start(town, TOWN_ROUTER, line, "ready");
    town_do(town, TOWN_CLIENT,
            "ip -batch - <<'END'\n"
            "link set lo up\n"
            "addr add " TOWN_CLIENT_ADDRESS " peer " TOWN_SERVER_ADDRESS " dev slow0\n"
            "link set slow0 up\n"
            "END\n");
    town_do(town, TOWN_SERVER,
            "ip -batch - <<'END'\n"
            "link set lo up\n"
            "addr add " TOWN_SERVER_ADDRESS " peer " TOWN_CLIENT_ADDRESS " dev slow0\n"
            "link set slow0 up\n"
            "END\n");
    warm_up();
}

void town_drop(const struct town *town, const char *packets)
{
    char line[LINE_BYTES];
    (void)snprintf(line, sizeof(line), "exec nft 'add rule inet cable forward %s drop'", packets);
    town_do(town, TOWN_ROUTER, line);
}

void town_heal(const struct town *town)
{
    town_do(town, TOWN_ROUTER, "exec nft flush chain inet cable forward");
}
