/* SPDX-License-Identifier: MIT */
#include "loop/loop_fork.h"

#include <sys/mman.h>
#include <unistd.h>

#include "loop/loop.h"

/* The least that can be mapped; the kernel rounds it up to its page. */
#define MARK_BYTES ((size_t)4096)

static unsigned char *new_mark(void)
{
#ifdef MADV_WIPEONFORK
    unsigned char *mark =
        (unsigned char *)mmap(NULL, MARK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (mark == MAP_FAILED) {
        return NULL;
    }
    if (madvise(mark, MARK_BYTES, MADV_WIPEONFORK) == 0) {
        *mark = 1;
        return mark;
    }
    (void)munmap(mark, MARK_BYTES);
#endif
    return NULL;
}

void loop_fork_own(struct lull_loop *loop)
{
    if (loop->fork_mark == NULL) {
        loop->fork_mark = new_mark();
    }
    __atomic_store_n(&loop->owner_pid, (int)getpid(), __ATOMIC_RELEASE);
}

/* Each store leaves a list that can be walked from its head: another thread may fork between any two of them. */
void loop_fork_list(struct lull_loop *loop, struct lull_watch *w)
{
    w->next_watched = loop->watched;
    w->at_watched = &loop->watched;
    if (loop->watched != NULL) {
        loop->watched->at_watched = &w->next_watched;
    }
    __atomic_store_n(&loop->watched, w, __ATOMIC_RELEASE);
}

void loop_fork_unlist(struct lull_watch *w)
{
    __atomic_store_n(w->at_watched, w->next_watched, __ATOMIC_RELEASE);
    if (w->next_watched != NULL) {
        w->next_watched->at_watched = w->at_watched;
    }
    w->at_watched = NULL;
}

void loop_fork_close(struct lull_loop *loop)
{
    for (struct lull_watch *w = loop->watched; w != NULL; w = w->next_watched) {
        if (w->fd >= 0) {
            (void)close(w->fd);
            w->fd = -1;
        }
    }
}

void loop_fork_fini(struct lull_loop *loop)
{
    if (loop->fork_mark != NULL) {
        (void)munmap(loop->fork_mark, MARK_BYTES);
        loop->fork_mark = NULL;
    }
}

bool lull_loop_is_forked(const struct lull_loop *loop)
{
    int owner = __atomic_load_n(&loop->owner_pid, __ATOMIC_ACQUIRE);

    if (owner == 0) {
        return false;
    }
    if (loop->fork_mark != NULL) {
        return __atomic_load_n(loop->fork_mark, __ATOMIC_RELAXED) == 0;
    }
    return owner != (int)getpid();
}
