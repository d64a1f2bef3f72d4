/* SPDX-License-Identifier: MIT */
/* The floor under every floor: 64 bytes there and back over TCP. `raw block|epoll PORT SECONDS`, against the raw port of bench/ngserver. */
#include "common.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t syscalls;

static uint64_t count(void *ctx)
{
    (void)ctx;
    return syscalls;
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN};
    struct bench_meter meter = {0};
    struct bench_args args;
    char bytes[64] = {0};
    bool polls;
    int on = 1;
    int fd, poll_fd;

    bench_arguments(&args, argc, argv);
    polls = strcmp(args.mode, "epoll") == 0;
    address.sin_port = htons((uint16_t)args.port);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    poll_fd = epoll_create1(0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        bench_fail("connect", NULL);
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    meter.syscalls = count;
    bench_meter_begin(&meter, &args, 3);
    for (;;) {
        uint64_t from = bench_now_ns();

        if (write(fd, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes)) {
            bench_fail("write", NULL);
        }
        if (polls) {
            epoll_wait(poll_fd, &event, 1, -1);
        }
        if (read(fd, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes)) {
            bench_fail("read", NULL);
        }
        syscalls += polls ? 3 : 2;
        if (!bench_meter_sample(&meter, from, bench_now_ns())) {
            break;
        }
    }
    bench_meter_print(&meter);
    close(poll_fd);
    close(fd);
    return 0;
}
