/* SPDX-License-Identifier: MIT */
/*
 * Tasks that say a word and queue what follows from it: for the tests of a turn's order.
 */
#ifndef TESTS_UNIT_EXEC_STEP_H
#define TESTS_UNIT_EXEC_STEP_H

#include "lull/timer.h"
#include "tests/unit/exec/fixture.h"

static char said[256];

static inline void say(const char *word)
{
    if (said[0] != 0) {
        strcat(said, " ");
    }
    ck_assert_uint_lt(strlen(said) + strlen(word) + 2, sizeof(said));
    strcat(said, word);
}

/* Says its word, then queues what follows from it. */
struct step {
    struct lull_task task;
    const char *word;
    struct step *posts;
    struct step *posts_ready;
    struct step *posts_flush;
    struct step *posts_dead;
    struct step *submits;
    struct lull_timer *arms; /* for now */
};

static inline void run_step(struct lull_task *task, struct lull_executor *executor)
{
    struct step *step = (struct step *)(void *)task;
    if (step->word[0] != 0) {
        say(step->word);
    }
    if (step->posts != NULL) {
        lull_executor_post(executor, &step->posts->task);
    }
    if (step->posts_ready != NULL) {
        executor_post_ready(executor, &step->posts_ready->task);
    }
    if (step->posts_flush != NULL) {
        executor_post_flush(executor, &step->posts_flush->task);
    }
    if (step->posts_dead != NULL) {
        executor_post_dead(executor, &step->posts_dead->task);
    }
    if (step->submits != NULL) {
        (void)lull_executor_submit(executor, &step->submits->task);
    }
    if (step->arms != NULL) {
        lull_timer_arm(step->arms, lull_executor_now(executor));
    }
}

static inline struct step step(const char *word)
{
    struct step s;
    memset(&s, 0, sizeof(s));
    lull_task_init(&s.task, run_step);
    s.word = word;
    return s;
}

#endif
