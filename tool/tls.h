/* SPDX-License-Identifier: MIT */
/*
 * The options about TLS that the commands share.
 *
 * Decides: that a client says --tls or --plaintext, so that nothing goes out in clear by accident,
 * and which options go together. Called by call.c, serve.c and watch.c. Must not know: what is done
 * over the connection.
 */
#ifndef LULL_TOOL_TLS_H
#define LULL_TOOL_TLS_H

#include <stdbool.h>

#include <lull/lull.h>

#include "text.h"

struct tool_tls {
    bool is_plaintext;
    bool is_tls;
    bool is_insecure;
    const char *cacert; /* NULL: the system's roots; a server: asks clients for nothing */
    const char *cert;   /* NULL: none */
    const char *key;
};

/* What a client was told. `what` ends the sentence: "make this call". 0, or -1 and the fault. */
int tool_tls_check_client(const struct tool_tls *tls, const char *what, struct text_fault *fault);

/* The same for a server, where --cert means TLS. */
int tool_tls_check_server(const struct tool_tls *tls, struct text_fault *fault);

/* Credentials [own], NULL for plaintext. LULL_OK, or a code with a text. */
int tool_tls_open(const struct tool_tls *tls, bool is_server, struct lull_credentials **out,
                  struct lull_error *error);

#endif
