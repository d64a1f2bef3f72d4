/* SPDX-License-Identifier: MIT */
#include "loop/loop_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void loop_pipe_init(struct loop_pipe *wake)
{
    wake->fds[0] = wake->fds[1] = -1;
    wake->is_set = 0;
    wake->writes = 0;
}

static void write_one(struct loop_pipe *wake, int fd)
{
    int saved = errno;
    ssize_t n;

    /* Never full: one byte at a time is in it. A signal handler may call us, so errno is kept. */
    do {
        n = write(fd, "", 1);
        __atomic_fetch_add(&wake->writes, 1, __ATOMIC_RELAXED);
    } while (n < 0 && errno == EINTR);
    errno = saved;
}

/* pipe2 is not everywhere; a fork and exec between the calls inherits two useless descriptors. */
static int prepare(int fd, struct lull_counters *counters)
{
    counters->syscalls += 2;
    return fcntl(fd, F_SETFL, O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 ? errno : 0;
}

int loop_pipe_open(struct loop_pipe *wake, struct lull_counters *counters)
{
    int fds[2];
    int err;

    counters->syscalls++;
    if (pipe(fds) != 0) {
        return errno;
    }
    err = prepare(fds[0], counters);
    err = err != 0 ? err : prepare(fds[1], counters);
    if (err != 0) {
        close(fds[0]);
        close(fds[1]);
        return err;
    }
    wake->fds[0] = fds[0];
    __atomic_store_n(&wake->fds[1], fds[1], __ATOMIC_SEQ_CST);
    /* Whoever set it before there was an fd wrote nothing. Either he saw the fd or we see the mark. */
    if (__atomic_load_n(&wake->is_set, __ATOMIC_SEQ_CST) != 0) {
        write_one(wake, fds[1]);
    }
    return 0;
}

void loop_pipe_close(struct loop_pipe *wake)
{
    for (int i = 0; i < 2; i++) {
        if (wake->fds[i] >= 0) {
            close(wake->fds[i]);
        }
    }
    loop_pipe_init(wake);
}

void loop_pipe_set(struct loop_pipe *wake)
{
    int fd;

    if (__atomic_exchange_n(&wake->is_set, 1, __ATOMIC_SEQ_CST) != 0) {
        return;
    }
    fd = __atomic_load_n(&wake->fds[1], __ATOMIC_SEQ_CST);
    if (fd >= 0) {
        write_one(wake, fd);
    }
}

void loop_pipe_take(struct loop_pipe *wake, struct lull_counters *counters)
{
    char bytes[8];

    counters->syscalls++;
    (void)!read(wake->fds[0], bytes, sizeof(bytes));
    /* After the read, so that no byte stays behind; an exchange, not a store: it must see what the thread did whose mark it takes. */
    (void)__atomic_exchange_n(&wake->is_set, 0, __ATOMIC_SEQ_CST);
    counters->syscalls += __atomic_exchange_n(&wake->writes, 0, __ATOMIC_RELAXED);
}
