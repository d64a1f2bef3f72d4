/* SPDX-License-Identifier: MIT */
/*
 * The command lines of `lull serve` and `lull watch`: a table of options, each with a place for its value.
 *
 * Decides: how options are written (--name value, --name=value, -- ends them), what a duration looks like, and which line names a fault.
 * Called by serve.c, watch.c and, for durations, args.c. Must not know: what an option is for.
 */
#ifndef LULL_TOOL_OPTIONS_H
#define LULL_TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

#define TOOL_TEXTS_MAX 8

/* The values of an option that may come more than once. */
struct tool_texts {
    const char *items[TOOL_TEXTS_MAX];
    size_t count;
};

/* Of an option that counts once: the last; NULL: none. */
static inline const char *tool_texts_last(const struct tool_texts *texts)
{
    return texts->count > 0 ? texts->items[texts->count - 1] : NULL;
}

struct tool_option {
    const char *name; /* as it is typed */
    enum {
        TOOL_OPTION_FLAG,     /* bool */
        TOOL_OPTION_DURATION, /* int64_t, ns */
        TOOL_OPTION_NUMBER,   /* uint32_t */
        TOOL_OPTION_TEXTS     /* struct tool_texts */
    } kind;
    void *into;
};

/*
 * Reads argv[0..argc). Words that are no options go to `words`, further ones are a fault. `command` is for the fault's text. Returns 0, or
 * -1 and the fault.
 */
int tool_options_parse(const struct tool_option *options, size_t count, const char *command,
                       struct tool_texts *words, size_t words_max, int argc, char **argv,
                       struct text_fault *fault);

/* "300ms": a whole number and ns, us, ms, s, m or h. Returns 0, or -1 and a fault without the option's name. */
int tool_options_duration(const char *text, int64_t *out_ns, struct text_fault *fault);

/* A line on standard error when a time that was given is below its floor. */
void tool_options_tell_raised(const char *option, int64_t asked_ns, int64_t in_force_ns);

/* Reads the decimal digits at *at and moves *at behind them. False: none, or more than INT64_MAX. */
bool tool_options_number(const char **at, int64_t *out);

#endif
