/* SPDX-License-Identifier: MIT */
/*
 * The command line of `lull call`.
 *
 * Decides: which options there are, what their values may be and which line names a fault. Called by call.c. Must not
 * know: how a call is made. Everything that can be judged without a connection is judged here or by the library's own
 * checks before anything is read or dialled.
 */
#ifndef LULL_TOOL_ARGS_H
#define LULL_TOOL_ARGS_H

#include <lull/lull.h>

#include "text.h"
#include "tls.h"

struct args {
    const char *target;
    const char *method;
    const char *authority;          /* NULL: from the target */
    struct lull_metadatum *headers; /* keys and values are owned */
    size_t header_count;
    unsigned char *data;        /* the request of --data-hex, owned; NULL: standard input has it */
    size_t data_len;            /* bytes */
    int64_t timeout_ns;         /* LULL_NEVER: none */
    int64_t read_timeout_ns;    /* 0: none */
    uint32_t max_message_bytes; /* either way; 0: the library's defaults */
    struct tool_tls tls;
    bool is_delimited;
    bool is_hex;
    bool is_verbose;
    bool want_help;
    bool wait_for_ready;
};

/*
 * Reads argv[0..argc), which starts after the word "call". args is set in either case and wants tool_args_fini. Returns 0,
 * or -1 and the fault.
 */
int tool_args_parse(struct args *args, int argc, char **argv, struct text_fault *fault);

void tool_args_fini(struct args *args);

#endif
