/* SPDX-License-Identifier: MIT */
/*
 * What a call receives, until the application has it: headers, messages, room to send, in the order in which they are told.
 *
 * Decides: what is told now, what a pause holds back, and when the peer gets credit: with the messages that were told. Called by
 * call_stream.c (what came) and call.c (telling, from a task). Must not know frames or how a call ends. In context. Here is
 * the application's side of it too: lull_call_pause and lull_call_resume of lull/call.h.
 */
#ifndef CHANNEL_CALL_RECEIVE_H
#define CHANNEL_CALL_RECEIVE_H

#include <stdbool.h>

#include "channel/call_messages.h"
#include "h2/stream.h"

struct lull_call;

/* Messages told in one run of a call's task; then others get their turns. */
#define CALL_RECEIVE_BURST 64

struct call_receiving {
    struct call_messages messages;
    bool is_paused;
    bool is_headers_due; /* they came, somebody wants them and does not have them yet */
};

void call_receive_init(struct call_receiving *receiving);

/* A message came [own]. LULL_OK or LULL_RC_NOMEM: it is lost. Legal with nghttp2 on the stack, as the next one. */
int call_receive_push(struct lull_call *call, struct lull_slice message);
/* Several of them [own], the same. */
int call_receive_push_run(struct lull_call *call, struct h2_run run);
void call_receive_on_headers(struct lull_call *call);

/* The public functions of these names, in context. True: there are messages to be told, from a task. */
void call_receive_pause(struct lull_call *call);
bool call_receive_resume(struct lull_call *call);

/* Nothing more is told but the end. */
void call_receive_discard(struct lull_call *call);

/* True when something is there that may be told now. */
bool call_receive_has_some(const struct lull_call *call);

/* True when the end has to wait: messages that came before it are not told yet. */
bool call_receive_is_holding(const struct lull_call *call);

/* Tells what may be told, a burst of it at most. From a task. */
void call_receive_tell(struct lull_call *call);

#endif
