/* SPDX-License-Identifier: MIT */
#include "loop/loop_wake.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

void loop_wake_init(struct loop_wake *wake)
{
    wake->fd = -1;
    wake->is_set = 0;
    wake->writes = 0;
}

static void write_one(struct loop_wake *wake, int fd)
{
    static const uint64_t one = 1;
    int saved = errno;
    ssize_t n;

    /* Never full: it would take 2^64 - 2 wakes. A signal handler may call us, so errno is kept. */
    do {
        n = write(fd, &one, sizeof(one));
        __atomic_fetch_add(&wake->writes, 1, __ATOMIC_RELAXED);
    } while (n < 0 && errno == EINTR);
    errno = saved;
}

int loop_wake_open(struct loop_wake *wake, int epoll_fd, struct lull_counters *counters)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {.ptr = wake}};
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int err;

    counters->syscalls++;
    if (fd < 0) {
        return errno;
    }
    counters->syscalls++;
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        err = errno;
        close(fd);
        return err;
    }
    __atomic_store_n(&wake->fd, fd, __ATOMIC_SEQ_CST);
    /* Whoever set it before there was an fd wrote nothing. Either he saw the fd or we see the mark.
     */
    if (__atomic_load_n(&wake->is_set, __ATOMIC_SEQ_CST) != 0) {
        write_one(wake, fd);
    }
    return 0;
}

void loop_wake_close(struct loop_wake *wake)
{
    if (wake->fd >= 0) {
        close(wake->fd);
    }
    loop_wake_init(wake);
}

void loop_wake_set(struct loop_wake *wake)
{
    int fd;

    if (__atomic_exchange_n(&wake->is_set, 1, __ATOMIC_SEQ_CST) != 0) {
        return;
    }
    fd = __atomic_load_n(&wake->fd, __ATOMIC_SEQ_CST);
    if (fd >= 0) {
        write_one(wake, fd);
    }
}

void loop_wake_take(struct loop_wake *wake, struct lull_counters *counters)
{
    /* An exchange, not a store: it must see what the thread did whose mark it takes. */
    (void)__atomic_exchange_n(&wake->is_set, 0, __ATOMIC_SEQ_CST);
    counters->syscalls += __atomic_exchange_n(&wake->writes, 0, __ATOMIC_RELAXED);
}

void loop_wake_quieten(struct loop_wake *wake)
{
    uint64_t told;

    if (__atomic_load_n(&wake->is_set, __ATOMIC_SEQ_CST) != 0) {
        return;
    }
    __atomic_fetch_add(&wake->writes, 1, __ATOMIC_RELAXED);
    /* Either he who wakes writes behind this, or his mark is seen and what was taken of his is put back. */
    if (read(wake->fd, &told, sizeof(told)) > 0 && __atomic_load_n(&wake->is_set, __ATOMIC_SEQ_CST) != 0) {
        write_one(wake, wake->fd);
    }
}
