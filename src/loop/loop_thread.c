/* SPDX-License-Identifier: MIT */
#include "loop/loop_thread.h"

#include <pthread.h>
#include <signal.h>

#include "base/mem.h"
#include "exec/executor.h"
#include "exec/roles.h"
#include "loop/loop.h"
#include "loop/loop_fork.h"

struct lull_loop_thread {
    struct lull_loop *loop;
    pthread_t thread;
    unsigned char is_ending; /* atomic, set in context */
    int rc;                  /* of the run */
};

static void *run(void *arg)
{
    struct lull_loop_thread *thread = arg;

    thread->rc = loop_run_until_ending(thread->loop, &thread->is_ending);
    return NULL;
}

/* Signals are for the application's threads; a fault belongs to the thread that made it. */
static void fill_with_ours(sigset_t *blocked)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};

    (void)sigfillset(blocked);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        (void)sigdelset(blocked, faults[i]);
    }
}

static int create(struct lull_loop_thread *thread)
{
    sigset_t blocked, before;
    int err;

    fill_with_ours(&blocked);
    (void)pthread_sigmask(SIG_SETMASK, &blocked, &before);
    err = pthread_create(&thread->thread, NULL, run, thread);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err == 0 ? LULL_OK : LULL_RC_SYSTEM;
}

/* In context, which the new thread waits for. */
static int start(struct lull_loop *loop)
{
    struct lull_loop_thread *thread;
    int rc;

    if (loop->thread != NULL) {
        return LULL_RC_STATE;
    }
    thread = mem_zeroed(executor_allocator(loop->executor), sizeof(*thread));
    if (thread == NULL) {
        return LULL_RC_NOMEM;
    }
    if (__atomic_load_n(&loop->owner_pid, __ATOMIC_ACQUIRE) == 0) {
        /* A child that is forked before the thread has opened anything has no such thread either. */
        loop_fork_own(loop);
    }
    thread->loop = loop;
    rc = create(thread);
    if (rc != LULL_OK) {
        mem_release(executor_allocator(loop->executor), thread);
        return rc;
    }
    loop->thread = thread;
    return LULL_OK;
}

int lull_loop_start(struct lull_loop *loop)
{
    bool had_to_enter;
    int rc;

    if (!executor_may_be_visited(loop->executor) || lull_loop_is_forked(loop)) {
        return LULL_RC_UNSUPPORTED;
    }
    had_to_enter = executor_enter(loop->executor);
    rc = start(loop);
    executor_leave(loop->executor, had_to_enter);
    return rc;
}

/* Takes it off the loop and tells it to end; NULL: there is none. */
static struct lull_loop_thread *take(struct lull_loop *loop)
{
    struct lull_executor *executor = loop->executor;
    struct lull_loop_thread *thread;

    executor_take(executor);
    thread = loop->thread;
    loop->thread = NULL;
    if (thread != NULL) {
        __atomic_store_n(&thread->is_ending, 1, __ATOMIC_SEQ_CST);
        /* It waits for the poll, or it polls, or it looks at its mark before it does either. */
        roles_stop_drivers(executor);
    }
    executor_end_visit(executor);
    if (thread != NULL) {
        loop->ops->wake(loop);
    }
    return thread;
}

int lull_loop_join(struct lull_loop *loop)
{
    struct lull_loop_thread *thread;
    int rc;

    if (!executor_may_be_visited(loop->executor)) {
        return LULL_RC_STATE;
    }
    if (lull_loop_is_forked(loop)) {
        return LULL_RC_UNSUPPORTED;
    }
    if (lull_executor_in_context(loop->executor)) {
        return LULL_RC_IN_TURN;
    }
    thread = take(loop);
    if (thread == NULL) {
        return LULL_RC_STATE;
    }
    (void)pthread_join(thread->thread, NULL);
    rc = thread->rc;
    mem_release(executor_allocator(loop->executor), thread);
    return rc;
}

void loop_thread_end(struct lull_loop *loop)
{
    if (lull_loop_is_forked(loop)) {
        /* The thread stayed with the parent. */
        mem_release(executor_allocator(loop->executor), loop->thread);
        loop->thread = NULL;
    } else if (executor_may_be_visited(loop->executor)) {
        (void)lull_loop_join(loop);
    }
}
