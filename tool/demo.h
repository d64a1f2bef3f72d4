/* SPDX-License-Identifier: MIT */
/*
 * What `lull serve` serves: an echo of any method, and a few methods that do one thing a client may want to see done.
 *
 * Decides: what each method answers; doc/TOOL.md lists them. Called by serve.c. Uses public headers only: it is an example of a server. Must
 * not know: where the server listens.
 */
#ifndef LULL_TOOL_DEMO_H
#define LULL_TOOL_DEMO_H

#include <lull/lull.h>

/* Lives as long as the server. */
struct tool_demo {
    struct lull_server *server;
    struct lull_loop *loop;
    struct lull_timer silence; /* ends the silence that a client asked for */
    struct lull_clock *clock;
};

/* Adds the methods; `with_echo`: all others, too. LULL_OK, LULL_RC_NOMEM. Before the loop runs. */
int tool_demo_init(struct tool_demo *demo, struct lull_server *server, struct lull_loop *loop,
                   bool with_echo);

/* After the server was freed and its calls have ended. Harmless on zeroed memory. */
void tool_demo_fini(struct tool_demo *demo);

#endif
