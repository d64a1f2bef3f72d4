/* SPDX-License-Identifier: MIT */
/*
 * The commands that reach a call from outside its turn, and cancelling it.
 *
 * Decides: what a cancel means where a call stands: nothing on the wire for one that waits, RST_STREAM(CANCEL) for one that was
 * sent, no more messages for one that is over and has not been told of all. The public side is lull_call_cancel of lull/call.h.
 *
 * A command is a bit in lull_call.commands and the call's one task, posted in a turn and submitted to the inbox outside, on any
 * thread. Commands that meet in the mask travel together: a second cancel needs no second task.
 */
#ifndef CHANNEL_CALL_CANCEL_H
#define CHANNEL_CALL_CANCEL_H

struct lull_call;

/* Hands commands to the call's task. Any thread. `instead_of` takes those back that are still on their way. */
void call_command(struct lull_call *call, unsigned command);
void call_command_instead(struct lull_call *call, unsigned command, unsigned instead_of);

/* Ends the call with CANCELLED. In context. */
void call_cancel(struct lull_call *call);

#endif
