/* SPDX-License-Identifier: MIT */
/*
 * What a call sends: messages that wait for a stream, those kept to be sent again, and the half-close.
 *
 * Decides: when the application is told to wait, and for how long a call could start anew elsewhere (transparent retry, gRFC
 * A6; RULINGS 22). Called by the application (lull_call_send and _half_close of lull/call.h), by call_stream.c and by the end of
 * the call. Must not know why a stream ended. In context, unless it says otherwise.
 *
 * With a stream open everything is given to it at once, which sends it in the turn's flush. What was given stays here, by
 * reference, until the response begins or it becomes too much; once it is gone the call is committed to its stream.
 */
#ifndef CHANNEL_CALL_SEND_H
#define CHANNEL_CALL_SEND_H

#include <stdbool.h>
#include <stddef.h>

#include "channel/call_messages.h"

struct h2_request;
struct lull_call;

/* What may be kept to be sent again once the request has left, nodes included: of a call, and of all calls of a channel. */
#define CALL_REPLAY_BYTES         ((size_t)256 * 1024)
#define CALL_REPLAY_CHANNEL_BYTES ((size_t)16 * 1024 * 1024)

struct call_sending {
    struct call_messages messages; /* those given to the stream, then those that wait */
    struct call_message *waiting;  /* the first of the latter; NULL: none waits */
    size_t waiting_bytes;          /* prefixes included */
    size_t kept_bytes;             /* of all in `messages`, nodes included */
    bool is_half_closed;           /* the application will send no more */
    bool is_half_close_given;      /* the stream knows */
    bool is_committed;             /* what was given is kept no more: there is no second try */
    bool wants_writable;           /* it was told to wait */
    bool is_writable_due;          /* and may be told to go on */
    bool is_end_due;               /* or to find out that the call is over, whose end waits behind held messages */
};

void call_send_init(struct call_sending *sending);

/* The only message of a unary call [ref], and the half-close. Before the start; cannot fail. */
void call_send_whole(struct lull_call *call, struct lull_slice message);

/* Takes over a message with its node [own], from outside the context; after a half-close or the end it is dropped. */
void call_send_accept(struct lull_call *call, struct call_message *message);

/* Commands of those outside: no more will be sent; somebody was told to wait. */
void call_send_on_half_close(struct lull_call *call);
void call_send_on_told_to_wait(struct lull_call *call);

/* What goes out with the HEADERS. */
void call_send_fill(const struct lull_call *call, struct h2_request *request);

/* The stream is open with what call_send_fill filled in: gives it the rest. LULL_OK or LULL_RC_NOMEM. */
int call_send_on_opened(struct lull_call *call);

/* Gives an open stream what waits. A failure ends the call. */
void call_send_pump(struct lull_call *call);

/* The HEADERS went to the socket: from here on what is kept is counted. */
void call_send_on_headers_sent(struct lull_call *call);

/* The response has begun: nothing needs to be kept. */
void call_send_commit(struct lull_call *call);

/* The stream is over and the call is not: all of it waits for the next one. Only if it is not committed. */
void call_send_rewind(struct lull_call *call);

/* The call is over. */
void call_send_clear(struct lull_call *call);

/* The stream has room again: true when the application has to be told. */
bool call_send_on_room(struct lull_call *call);

/* True once when on_writable is to be called now. */
bool call_send_take_writable(struct lull_call *call);

/* Bytes that are queued, here and in the stream. */
size_t call_send_queued(const struct lull_call *call);

#endif
