/* SPDX-License-Identifier: MIT */
/*
 * `lull call`: one call, from the command line to an exit status.
 *
 * Decides: in which order things are refused (command line, target, request, call), what goes to stdout and what to
 * stderr. Called by main.c. Uses public headers only: it is also the largest example.
 */
#include "call.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lull/lull.h>

#include "args.h"
#include "ending.h"
#include "io.h"
#include "stream.h"
#include "text.h"
#include "timeline.h"

/* One run of the command. */
struct run {
    struct args args;
    struct timeline timeline;
    struct lull_loop *loop;
    struct lull_channel *channel;
    struct lull_slice request;
    struct lull_slice response; /* a reference of our own once the call is OK */
    int exit_status;
    bool is_over;
};

void tool_call_help(void)
{
    (void)fputs(
        "usage: lull call [options] TARGET /package.Service/Method\n"
        "\n"
        "Makes one gRPC call. The request message is read from standard input, the\n"
        "response message is written to standard output, both as they are, without framing:\n"
        "\n"
        "  protoc --encode=pkg.Req api.proto <req.txt |\n"
        "    lull call --plaintext 127.0.0.1:50051 /pkg.Service/Method |\n"
        "    protoc --decode=pkg.Resp api.proto\n"
        "\n"
        "TARGET is HOST:PORT, dns:///HOST:PORT, dns://NAMESERVER/HOST:PORT,\n"
        "ipv4:1.2.3.4:80,1.2.3.5:80, ipv6:[::1]:80, unix:PATH, unix:///ABSOLUTE/PATH or\n"
        "unix-abstract:NAME.\n"
        "\n"
        "  --tls               TLS, or\n"
        "  --plaintext         no TLS; one of the two is needed\n"
        "  --cacert FILE       believe the roots in this PEM file, and not the system's\n"
        "  --cert FILE, --key FILE\n"
        "                      the certificate (with its chain) to show, and its key\n"
        "  --insecure          believe any certificate: for tests, as nothing is secret then\n"
        "  --data-hex HEX      the request as hex digits, not from standard input;\n"
        "                      '' is the empty message\n"
        "  --hex               write the response as hex digits and a newline\n"
        "  --delimited         any kind of method, streams too: each message, in and out, comes\n"
        "                      behind its length as a varint (protobuf's writeDelimitedTo).\n"
        "                      Requests are sent as they come, the end of standard input ends\n"
        "                      them; responses are written as they come. With --data-hex there\n"
        "                      is one request, with --hex each response is a line\n"
        "  -H, --header NAME:VALUE\n"
        "                      send metadata; may be repeated, order is kept. The name is sent\n"
        "                      in lower case. The value of a name that ends in -bin is given\n"
        "                      in base64 and sent as the bytes it stands for\n"
        "  --deadline TIME     give up after TIME, connecting included: a whole number and\n"
        "                      ns, us, ms, s, m or h, such as 5s. Without it there is no\n"
        "                      deadline and a silent server is waited for without end\n"
        "  --read-timeout TIME give up when the server is silent for TIME after the request\n"
        "  --wait-for-ready    keep trying to connect, do not fail with the first attempt;\n"
        "                      best with --deadline\n"
        "  --authority NAME    the :authority to send, when it is not the target's; with --tls\n"
        "                      the name that the server must prove\n"
        "  --max-message BYTES refuse larger messages, either way. Without it 4 MiB may be\n"
        "                      received and 2 GiB - 1 sent\n"
        "  -v, --verbose       tell on standard error what happens when: milliseconds, events,\n"
        "                      metadata ('> name: value' sent, '< name: value' received)\n"
        "  -h, --help          this text\n"
        "\n"
        "The exit status is the call's gRPC code: 0 OK, 1 CANCELLED ... 16 UNAUTHENTICATED.\n"
        "64: the command line is wrong. 70: the library could not run. 74: the request could\n"
        "not be read or the response not be written. A failure is one line on standard error.\n",
        stdout);
}

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct run *run = ctx;
    (void)call;
    if (run->args.is_verbose) {
        tool_timeline_metadata('<', &result->headers);
        tool_timeline_metadata('<', &result->trailers);
        if (result->status.failure != NULL) {
            tool_timeline_failure(result->status.failure);
        }
    }
    if (result->status.code == LULL_CODE_OK) {
        run->response = lull_slice_ref(result->message);
    } else {
        tool_ending_print(&result->status);
    }
    run->exit_status = (int)result->status.code;
    run->is_over = true;
    lull_loop_stop(run->loop);
}

/* Makes the loop and the channel; nothing is dialled yet. Returns 0, or an exit status after a line. */
static int open_channel(struct run *run)
{
    int rc = lull_loop_new(NULL, &run->loop);
    if (rc != LULL_OK) {
        struct text_fault fault;
        (void)tool_text_fault_set(&fault, "cannot make an event loop: %s", lull_rc_name(rc));
        tool_text_complain(fault.text);
        return CALL_EXIT_SOFTWARE;
    }
    struct lull_channel_options options;
    lull_channel_options_init(&options);
    options.loop = run->loop;
    options.authority = run->args.authority;
    options.user_agent = "lull-tool/" LULL_VERSION;
    if (run->args.max_message_bytes != 0) {
        options.max_recv_message_bytes = run->args.max_message_bytes;
        options.max_send_message_bytes = run->args.max_message_bytes;
    }
    if (run->args.is_verbose) {
        options.trace.event = tool_timeline_event;
        options.trace.ctx = &run->timeline;
    }
    struct lull_error error;
    memset(&error, 0, sizeof(error));
    rc = tool_tls_open(&run->args.tls, false, &options.credentials, &error);
    if (rc != LULL_OK) {
        tool_text_complain(error.text);
        return CALL_EXIT_USAGE;
    }
    struct lull_credentials *credentials = options.credentials;
    rc = lull_channel_new(run->args.target, &options, &run->channel, &error);
    lull_credentials_unref(credentials);
    if (rc != LULL_OK) {
        tool_text_complain(error.text[0] != '\0' ? error.text : lull_rc_name(rc));
        return rc == LULL_RC_INVALID || rc == LULL_RC_UNSUPPORTED ? CALL_EXIT_USAGE
                                                                  : CALL_EXIT_SOFTWARE;
    }
    return 0;
}

/* The request is larger than the limit. Returns the exit status. */
static int refuse_request(size_t max)
{
    struct text_fault fault;
    (void)tool_text_fault_set(&fault,
                              "RESOURCE_EXHAUSTED: the request is larger than the %zu bytes that a "
                              "message may have; nothing was sent",
                              max);
    tool_text_complain(fault.text);
    return LULL_CODE_RESOURCE_EXHAUSTED;
}

/* Puts the request message together. Returns 0, or an exit status after a line. */
static int take_request(struct run *run)
{
    struct text_fault fault;
    size_t max = lull_channel_effective_options(run->channel)->max_send_message_bytes;
    if (run->args.data == NULL) {
        if (isatty(STDIN_FILENO)) {
            (void)fputs("lull: reading the request from the terminal; end it with Ctrl-D\n",
                        stderr);
        }
        enum io_result result = tool_io_read_all(max, &run->args.data, &run->args.data_len, &fault);
        if (result == IO_FAILED) {
            tool_text_complain(fault.text);
            return CALL_EXIT_IO;
        }
        if (result == IO_TOO_LARGE) {
            run->args.data_len = max + 1;
        }
    }
    if (run->args.data_len > max) {
        return refuse_request(max);
    }
    /* Ours until the call is over: no copy is needed. */
    run->request = lull_slice_static(run->args.data, run->args.data_len);
    return 0;
}

/* Starts the call and runs the loop until it is over. Returns the exit status. */
static int make_call(struct run *run)
{
    struct lull_call_options options;
    lull_call_options_init(&options, run->args.method);
    options.metadata.items = run->args.headers;
    options.metadata.count = run->args.header_count;
    options.timeout_ns = run->args.timeout_ns;
    options.read_timeout_ns = run->args.read_timeout_ns;
    options.wait_for_ready = run->args.wait_for_ready;
    if (run->args.is_verbose) {
        tool_timeline_request(run->args.method, (int64_t)run->args.data_len, &options.metadata);
    }
    struct lull_error error;
    memset(&error, 0, sizeof(error));
    int rc = lull_call_unary(run->channel, &options, run->request, on_done, run, NULL, &error);
    if (rc != LULL_OK) {
        tool_text_complain(error.text[0] != '\0' ? error.text : lull_rc_name(rc));
        return rc == LULL_RC_INVALID ? CALL_EXIT_USAGE : (int)lull_code_from_rc(rc);
    }
    rc = lull_loop_run(run->loop);
    if (!run->is_over) {
        struct text_fault fault;
        (void)tool_text_fault_set(&fault, "the event loop stopped: %s", lull_rc_name(rc));
        tool_text_complain(fault.text);
        return CALL_EXIT_SOFTWARE;
    }
    return run->exit_status;
}

/* --delimited: messages one by one. Returns the exit status. */
static int run_stream(struct run *run)
{
    size_t max = lull_channel_effective_options(run->channel)->max_send_message_bytes;
    if (run->args.data_len > max) {
        return refuse_request(max);
    }
    tool_timeline_start(&run->timeline, lull_clock_now(lull_clock_system()));
    return tool_stream_call(run->loop, run->channel, &run->args);
}

/* The steps of the command, each of which may end it. */
static int run_steps(struct run *run)
{
    int status = open_channel(run);
    if (status != 0) {
        return status;
    }
    if (run->args.is_delimited) {
        return run_stream(run);
    }
    status = take_request(run);
    if (status != 0) {
        return status;
    }
    tool_timeline_start(&run->timeline, lull_clock_now(lull_clock_system()));
    status = make_call(run);
    if (status != LULL_CODE_OK) {
        return status;
    }
    struct text_fault fault;
    if (tool_io_write_all(run->response.data, run->response.len, run->args.is_hex, &fault) !=
        IO_DONE) {
        tool_text_complain(fault.text);
        return CALL_EXIT_IO;
    }
    return 0;
}

int tool_call_main(int argc, char **argv)
{
    struct run run;
    memset(&run, 0, sizeof(run));
    struct text_fault fault;
    int status;
    if (tool_args_parse(&run.args, argc, argv, &fault) != 0) {
        tool_text_complain(fault.text);
        status = CALL_EXIT_USAGE;
    } else if (run.args.want_help) {
        tool_call_help();
        status = 0;
    } else {
        status = run_steps(&run);
    }
    lull_slice_unref(run.response);
    lull_channel_unref(run.channel);
    lull_loop_free(run.loop);
    tool_args_fini(&run.args);
    return status;
}
