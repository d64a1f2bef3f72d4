/* SPDX-License-Identifier: MIT */
/*
 * The way out: frames are pulled from nghttp2 into one gathered write a flush.
 *
 * Decides: what is copied, when to stop, when to want writability. Each pointer that nghttp2_session_mem_send gives aliases one buffer,
 * so frames are copied into the executor's write buffer (RULINGS 24); a payload of 4 KiB or more goes from the message's own memory.
 * Nothing is pulled while the socket has not taken the last write, and at most 65 KiB and a frame at a time, so that PING and
 * RST_STREAM never stand behind much DATA. Called by transport.c, session_cb.c and recv.c.
 */
#ifndef H2_SEND_H
#define H2_SEND_H

#include <stdbool.h>
#include <stdint.h>

#include <nghttp2/nghttp2.h>

#include "base/list.h"

struct batch;
struct h2_stream;
struct h2_transport;
struct unsent;

struct send_state {
    struct unsent *unsent;            /* what the socket did not take; NULL: nothing */
    struct batch *batch;              /* being pulled */
    uint64_t pulled_bytes;            /* all that was made */
    uint64_t written_bytes;           /* all that the socket took */
    struct list_node headers_waiting; /* streams, by headers_end_at */
    struct list_node request_waiting; /* streams, by request_end_at */
    struct list_node writable;        /* streams that are owed on_writable */
    struct h2_stream *headers_of;     /* whose HEADERS, or last block, the chunk at hand ends */
    struct h2_stream *request_of;
    uint64_t answers;     /* HEADERS and DATA frames made */
    bool is_within_block; /* the last frame pulled wants a CONTINUATION */
    bool is_blocked;      /* the socket is full and has not told otherwise */
    bool is_held;         /* the last write was told as one behind which more follows */
    bool is_broken;       /* a write failed */
    bool has_given_up;    /* nghttp2 sent a GOAWAY of its own: a connection error it found */
    char give_up_text[200];
};

void send_init(struct send_state *send);
void send_fini(struct send_state *send);

/* The socket has room again: a flush is worth its while. */
void send_on_writable(struct h2_transport *t);

/* One flush. May end the transport. Not while nghttp2 is on the stack. */
void send_flush(struct h2_transport *t);

/* Writes what is unsent and `bytes` behind it, if that is possible at once and a frame may stand there. */
void send_last(struct h2_transport *t, const uint8_t *bytes, size_t len);

/* nghttp2 made the last frame of a request's HEADERS, of the request (`is_counted`: in pulled_bytes, as DATA is), or its own GOAWAY. */
void send_on_headers(struct h2_stream *stream);
void send_on_request_end(struct h2_stream *stream, bool is_counted);
void send_on_own_goaway(struct h2_transport *t, const nghttp2_goaway *frame);

/* Nothing is left to be written, as far as windows allow. */
bool send_is_through(const struct h2_transport *t);

/* The stream leaves the transport. */
void send_forget(struct h2_transport *t, struct h2_stream *stream);

/* Where the bytes of DATA come from: nghttp2's read callback and its send_data callback. */
ssize_t send_read_data(nghttp2_session *session, int32_t stream_id, uint8_t *into, size_t length,
                       uint32_t *data_flags, nghttp2_data_source *source, void *user);
int send_put_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head,
                  size_t length, nghttp2_data_source *source, void *user);

#endif
