/* SPDX-License-Identifier: MIT */
/*
 * See tls.h.
 */
#include "tls.h"

static int check_pair(const struct tool_tls *tls, struct text_fault *fault)
{
    if ((tls->cert == NULL) != (tls->key == NULL)) {
        return tool_text_fault_set(fault, "--cert and --key go together");
    }
    return 0;
}

int tool_tls_check_client(const struct tool_tls *tls, const char *what, struct text_fault *fault)
{
    if (tls->is_tls && tls->is_plaintext) {
        return tool_text_fault_set(fault, "--tls and --plaintext are both given");
    }
    if (!tls->is_tls && !tls->is_plaintext) {
        return tool_text_fault_set(
            fault, "pass --tls, or --plaintext to %s over a connection without TLS", what);
    }
    if (tls->is_plaintext &&
        (tls->cacert != NULL || tls->cert != NULL || tls->key != NULL || tls->is_insecure)) {
        return tool_text_fault_set(fault, "--cacert, --cert, --key and --insecure need --tls");
    }
    return check_pair(tls, fault);
}

int tool_tls_check_server(const struct tool_tls *tls, struct text_fault *fault)
{
    if (tls->cacert != NULL && tls->cert == NULL) {
        return tool_text_fault_set(fault, "--cacert needs --cert and --key");
    }
    return check_pair(tls, fault);
}

int tool_tls_open(const struct tool_tls *tls, bool is_server, struct lull_credentials **out,
                  struct lull_error *error)
{
    struct lull_credentials_options options;
    *out = NULL;
    if (!tls->is_tls && !(is_server && tls->cert != NULL)) {
        return LULL_OK;
    }
    lull_credentials_options_init(&options);
    options.ca_file = tls->cacert;
    options.identity.chain_file = tls->cert;
    options.identity.key_file = tls->key;
    options.insecure_skip_verify = tls->is_insecure;
    if (is_server && tls->cacert != NULL) {
        options.client_certificate = LULL_CLIENT_CERTIFICATE_REQUIRED;
    }
    return lull_credentials_new(&options, out, error);
}
