/* SPDX-License-Identifier: MIT */
/*
 * `lull call --delimited`: see stream.h.
 *
 * The loop watches standard input and output beside the channel's socket. Neither is made non-blocking, as whoever gave them to us may
 * share them: each is asked with poll before a read, or a write of no more than a pipe with room takes whole. A file that epoll does not
 * take (a regular one, /dev/null) is always ready.
 *
 * Input is read only while the call takes messages (LULL_RC_AGAIN stops it until on_writable). Output that its reader does not take is
 * kept, up to OUT_MAX_BYTES and a message; then the call is paused, and the server has to wait.
 */
#include "stream.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "delimited.h"
#include "ending.h"
#include "hex.h"
#include "text.h"
#include "timeline.h"

enum { OUT_MAX_BYTES = 256 * 1024 };

struct stream {
    const struct args *args;
    struct lull_loop *loop;
    struct lull_call *call; /* a reference of our own */

    struct lull_watch in;
    struct tool_delimited messages;
    struct lull_slice waiting; /* a message that found no room */
    bool has_waiting;
    bool is_in_over; /* nothing more will be read or sent */
    uint64_t sent;

    struct lull_watch out;
    unsigned char *output; /* [out_start, out_end) is to be written */
    size_t out_start, out_end, out_room;
    bool is_out_broken;
    bool is_paused;

    int exit_status; /* of the call, then what went wrong here */
    bool is_closed;
};

/* ---- the two files */

static bool is_ready(int fd, short what)
{
    struct pollfd one = {.fd = fd, .events = what};
    /* An error is told by the read or the write. */
    return poll(&one, 1, 0) != 0;
}

static void unwatch(struct stream *stream, struct lull_watch *w)
{
    if (w->want != LULL_WANT_NONE) {
        (void)stream->loop->ops->watch(stream->loop, w, LULL_WANT_NONE);
    }
}

/* Has w->on_ready run when the file is ready, or in a task of its own when the loop cannot watch it. */
static void watch(struct stream *stream, struct lull_watch *w, unsigned want)
{
    if (w->want != want && stream->loop->ops->watch(stream->loop, w, want) != 0) {
        lull_executor_post(lull_loop_executor(stream->loop), &w->on_ready);
    }
}

static void stop_when_over(struct stream *stream)
{
    if (stream->is_closed && (stream->is_out_broken || stream->out_start == stream->out_end)) {
        lull_loop_stop(stream->loop);
    }
}

/* ---- input */

static void end_input(struct stream *stream)
{
    stream->is_in_over = true;
    unwatch(stream, &stream->in);
}

/*
 * The input is no good from here on. The messages before it are sent, and the call ends as it does without more of them; when
 * there were none it is not worth anybody's time.
 */
static void refuse_input(struct stream *stream, const struct text_fault *fault)
{
    tool_text_complain(fault->text);
    stream->exit_status = CALL_EXIT_IO;
    end_input(stream);
    if (stream->sent == 0 || lull_call_half_close(stream->call) == LULL_RC_NOMEM) {
        lull_call_cancel(stream->call);
    }
}

/* Sends the message that waits. False: the call takes no more now. */
static bool send_waiting(struct stream *stream)
{
    struct text_fault fault;
    int rc = lull_call_send(stream->call, stream->waiting);
    if (rc == LULL_RC_AGAIN) {
        unwatch(stream, &stream->in);
        return false;
    }
    lull_slice_unref(stream->waiting);
    stream->has_waiting = false;
    if (rc == LULL_OK) {
        stream->sent++;
        return true;
    }
    if (rc == LULL_RC_CLOSED) {
        end_input(stream); /* the server has ended the call; on_closed says how */
    } else {
        (void)tool_text_fault_set(&fault, "cannot send a request: %s", lull_rc_name(rc));
        refuse_input(stream, &fault);
    }
    return false;
}

/* Sends the messages that have come whole. False: not now, or never. */
static bool send_messages(struct stream *stream)
{
    const unsigned char *body;
    size_t len;
    struct text_fault fault;
    for (;;) {
        if (stream->has_waiting && !send_waiting(stream)) {
            return false;
        }
        switch (tool_delimited_next(&stream->messages, &body, &len, &fault)) {
        case TOOL_DELIMITED_MORE:
            return true;
        case TOOL_DELIMITED_BAD:
            refuse_input(stream, &fault);
            return false;
        default:
            break;
        }
        if (lull_slice_copy(NULL, body, len, &stream->waiting) != LULL_OK) {
            (void)tool_text_fault_set(&fault, "cannot keep a request: out of memory");
            refuse_input(stream, &fault);
            return false;
        }
        stream->has_waiting = true;
    }
}

static void finish_input(struct stream *stream)
{
    struct text_fault fault;
    if (tool_delimited_end(&stream->messages, &fault) != 0) {
        refuse_input(stream, &fault);
        return;
    }
    end_input(stream);
    if (lull_call_half_close(stream->call) == LULL_RC_NOMEM) {
        lull_call_cancel(stream->call);
    }
}

/* Reads once. False: nothing is there now, or nothing will be. */
static bool read_some(struct stream *stream)
{
    struct text_fault fault;
    unsigned char *at;
    size_t room;
    ssize_t got;
    if (!is_ready(STDIN_FILENO, POLLIN)) {
        return false;
    }
    if (tool_delimited_room(&stream->messages, &at, &room) != 0) {
        (void)tool_text_fault_set(&fault, "cannot keep a request: out of memory");
        refuse_input(stream, &fault);
        return false;
    }
    got = read(STDIN_FILENO, at, room);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        return false;
    }
    if (got < 0) {
        (void)tool_text_fault_set(&fault, "cannot read the request: %s", strerror(errno));
        refuse_input(stream, &fault);
        return false;
    }
    if (got == 0) {
        finish_input(stream);
        return false;
    }
    stream->messages.end += (size_t)got;
    return true;
}

static void take_input(struct stream *stream)
{
    if (stream->is_in_over || stream->is_closed || !send_messages(stream)) {
        return;
    }
    /* Once a task: what comes back has its turn too. */
    if (read_some(stream) && !send_messages(stream)) {
        return;
    }
    if (!stream->is_in_over) {
        watch(stream, &stream->in, LULL_WANT_READ);
    }
}

static void input_ready(struct lull_task *task, struct lull_executor *executor)
{
    (void)executor;
    take_input((struct stream *)(void *)((char *)task - offsetof(struct stream, in.on_ready)));
}

static void on_writable(struct lull_call *call, void *ctx)
{
    (void)call;
    take_input(ctx);
}

/* ---- output */

static void break_output(struct stream *stream, const char *why)
{
    struct text_fault fault;
    (void)tool_text_fault_set(&fault, "cannot write the response: %s", why);
    tool_text_complain(fault.text);
    stream->exit_status = CALL_EXIT_IO;
    stream->is_out_broken = true;
    end_input(stream);
    unwatch(stream, &stream->out);
    lull_call_cancel(stream->call);
}

static void write_output(struct stream *stream)
{
    while (!stream->is_out_broken && stream->out_start < stream->out_end) {
        size_t len = stream->out_end - stream->out_start;
        ssize_t put;
        if (!is_ready(STDOUT_FILENO, POLLOUT)) {
            watch(stream, &stream->out, LULL_WANT_WRITE);
            break;
        }
        put = write(STDOUT_FILENO, stream->output + stream->out_start,
                    len < PIPE_BUF ? len : PIPE_BUF);
        if (put >= 0) {
            stream->out_start += (size_t)put;
        } else if (errno != EINTR && errno != EAGAIN) {
            break_output(stream, strerror(errno));
        }
    }
    size_t left = stream->is_out_broken ? 0 : stream->out_end - stream->out_start;
    if (left == 0) {
        stream->out_start = 0;
        stream->out_end = 0;
        unwatch(stream, &stream->out);
    }
    if (left > OUT_MAX_BYTES && !stream->is_paused) {
        stream->is_paused = true;
        lull_call_pause(stream->call);
    } else if (left <= OUT_MAX_BYTES / 2 && stream->is_paused) {
        stream->is_paused = false;
        lull_call_resume(stream->call);
    }
    stop_when_over(stream);
}

static void output_ready(struct lull_task *task, struct lull_executor *executor)
{
    (void)executor;
    write_output((struct stream *)(void *)((char *)task - offsetof(struct stream, out.on_ready)));
}

/* Room for len more bytes of output. NULL: out of memory. */
static unsigned char *reserve(struct stream *stream, size_t len)
{
    if (stream->out_start > 0 && stream->out_room - stream->out_end < len) {
        memmove(stream->output, stream->output + stream->out_start,
                stream->out_end - stream->out_start);
        stream->out_end -= stream->out_start;
        stream->out_start = 0;
    }
    if (stream->out_room - stream->out_end < len) {
        size_t room = 2 * stream->out_room;
        if (room < stream->out_end + len) {
            room = stream->out_end + len;
        }
        unsigned char *output = realloc(stream->output, room);
        if (output == NULL) {
            return NULL;
        }
        stream->output = output;
        stream->out_room = room;
    }
    return stream->output + stream->out_end;
}

static void on_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    struct stream *stream = ctx;
    (void)call;
    if (stream->is_out_broken) {
        return;
    }
    unsigned char *at = reserve(stream, 2 * message.len + TOOL_DELIMITED_LENGTH_BYTES);
    if (at == NULL) {
        break_output(stream, "out of memory");
        return;
    }
    if (stream->args->is_hex) {
        tool_hex_encode(message.data, message.len, (char *)at);
        at[2 * message.len] = '\n';
        stream->out_end += 2 * message.len + 1;
    } else {
        size_t wide = tool_delimited_put(message.len, at);
        if (message.len > 0) {
            memcpy(at + wide, message.data, message.len);
        }
        stream->out_end += wide + message.len;
    }
    write_output(stream);
}

/* ---- the call */

static void on_headers(struct lull_call *call, const struct lull_metadata *headers, void *ctx)
{
    const struct stream *stream = ctx;
    (void)call;
    if (stream->args->is_verbose) {
        tool_timeline_metadata('<', headers);
    }
}

static void on_closed(struct lull_call *call, const struct lull_status *status,
                      const struct lull_metadata *trailers, void *ctx)
{
    struct stream *stream = ctx;
    (void)call;
    stream->is_closed = true;
    end_input(stream);
    if (stream->args->is_verbose) {
        tool_timeline_metadata('<', trailers);
        if (status->failure != NULL) {
            tool_timeline_failure(status->failure);
        }
    }
    if (stream->exit_status == 0) {
        stream->exit_status = (int)status->code;
    }
    /* A call that we cancelled has had its line. */
    if (status->code != LULL_CODE_OK &&
        !(stream->exit_status == CALL_EXIT_IO && status->code == LULL_CODE_CANCELLED)) {
        tool_ending_print(status);
    }
    stop_when_over(stream);
}

static int start_call(struct stream *stream, struct lull_channel *channel)
{
    const struct args *args = stream->args;
    struct lull_call_options options;
    struct lull_call_handler handler;
    struct lull_error error;
    lull_call_options_init(&options, args->method);
    options.metadata.items = args->headers;
    options.metadata.count = args->header_count;
    options.timeout_ns = args->timeout_ns;
    options.read_timeout_ns = args->read_timeout_ns;
    options.wait_for_ready = args->wait_for_ready;
    lull_call_handler_init(&handler);
    handler.on_headers = on_headers;
    handler.on_message = on_message;
    handler.on_writable = on_writable;
    handler.on_closed = on_closed;
    memset(&error, 0, sizeof(error));
    if (args->is_verbose) {
        tool_timeline_request(args->method, -1, &options.metadata);
    }
    int rc = lull_call_start(channel, &options, &handler, stream, &stream->call, &error);
    if (rc != LULL_OK) {
        tool_text_complain(error.text[0] != '\0' ? error.text : lull_rc_name(rc));
        return rc == LULL_RC_INVALID ? CALL_EXIT_USAGE : (int)lull_code_from_rc(rc);
    }
    return 0;
}

/* --data-hex is the one request; else standard input is read, from a task of the first turn on. */
static void begin_input(struct stream *stream)
{
    struct lull_executor *executor = lull_loop_executor(stream->loop);
    if (stream->args->data == NULL) {
        (void)lull_executor_submit(executor, &stream->in.on_ready);
        return;
    }
    stream->is_in_over = true;
    int rc =
        lull_call_send(stream->call, lull_slice_static(stream->args->data, stream->args->data_len));
    if (rc == LULL_OK) {
        rc = lull_call_half_close(stream->call);
    }
    if (rc == LULL_RC_NOMEM) {
        lull_call_cancel(stream->call);
    }
}

static void leave_files(struct stream *stream)
{
    struct lull_executor *executor = lull_loop_executor(stream->loop);
    if (lull_executor_enter(executor) == LULL_OK) {
        unwatch(stream, &stream->in);
        unwatch(stream, &stream->out);
        (void)lull_executor_unpost(executor, &stream->in.on_ready);
        (void)lull_executor_unpost(executor, &stream->out.on_ready);
        lull_executor_leave(executor);
    }
}

int tool_stream_call(struct lull_loop *loop, struct lull_channel *channel, const struct args *args)
{
    struct stream stream;
    memset(&stream, 0, sizeof(stream));
    stream.args = args;
    stream.loop = loop;
    stream.in.fd = STDIN_FILENO;
    stream.out.fd = STDOUT_FILENO;
    lull_task_init(&stream.in.on_ready, input_ready);
    lull_task_init(&stream.out.on_ready, output_ready);
    tool_delimited_init(&stream.messages,
                        lull_channel_effective_options(channel)->max_send_message_bytes);
    int status = start_call(&stream, channel);
    if (status == 0) {
        begin_input(&stream);
        int rc = lull_loop_run(loop);
        leave_files(&stream);
        status = stream.exit_status;
        if (!stream.is_closed) {
            struct text_fault fault;
            (void)tool_text_fault_set(&fault, "the event loop stopped: %s", lull_rc_name(rc));
            tool_text_complain(fault.text);
            lull_call_cancel(stream.call);
            (void)lull_executor_turn_now(lull_loop_executor(loop)); /* on_closed */
            status = CALL_EXIT_SOFTWARE;
        }
    }
    if (stream.has_waiting) {
        lull_slice_unref(stream.waiting);
    }
    lull_call_unref(stream.call);
    tool_delimited_fini(&stream.messages);
    free(stream.output);
    return status;
}
