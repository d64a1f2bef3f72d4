/* SPDX-License-Identifier: MIT */
/*
 * Why attempts and connections failed, as texts that take memory only where something did. See subchannel.h.
 *
 * Decides: what is told when there is no memory for that. Called by the other files of a subchannel, and by who reads.
 */
#include <errno.h>

#include "base/mem.h"
#include "channel/subchannel.h"
#include "exec/executor.h"

/* Stands for one that could not be written down, and is not written to. */
static struct subchannel_failure no_memory = {.reach = REACHED_NO_PEER,
                                              .sys_errno = ENOMEM,
                                              .reason = "no memory to say why"};

static const struct subchannel_failure *told(const struct subchannel_failure *failure)
{
    static const struct subchannel_failure nothing;
    return failure == NULL ? &nothing : failure;
}

const struct subchannel_failure *subchannel_last_failure(const struct subchannel *subchannel)
{
    return told(subchannel->last_failure);
}

const struct subchannel_failure *subchannel_so_far(const struct subchannel *subchannel)
{
    return told(subchannel->so_far);
}

static void forget(const struct subchannel *sub, struct subchannel_failure **which)
{
    if (*which != &no_memory) {
        mem_release(sub->options.allocator, *which);
    }
    *which = NULL;
}

void subchannel_forget_last(struct subchannel *subchannel)
{
    forget(subchannel, &subchannel->last_failure);
}

void subchannel_forget_so_far(struct subchannel *subchannel)
{
    forget(subchannel, &subchannel->so_far);
}

void subchannel_keep_so_far(struct subchannel *subchannel)
{
    subchannel_forget_last(subchannel);
    subchannel->last_failure = subchannel->so_far;
    subchannel->so_far = NULL;
}

struct subchannel_failure *subchannel_note(struct subchannel *subchannel,
                                           struct subchannel_failure **which)
{
    if (*which == NULL) {
        *which = mem_zeroed(subchannel->options.allocator, sizeof(**which));
        if (*which == NULL) {
            *which = &no_memory;
        } else {
            executor_counters(subchannel->options.executor)->allocations++;
        }
    }
    return *which == &no_memory ? NULL : *which;
}
