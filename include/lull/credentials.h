/* SPDX-License-Identifier: MIT */
/**
 * @file credentials.h
 * TLS: whom a channel believes, and who it is; the same for a server. One object, shared by any
 * number of channels and servers, also of several loops and threads. TLS 1.2 and 1.3, HTTP/2 by
 * ALPN, names verified, sessions resumed. A library built `--without-openssl` makes none.
 */
#ifndef LULL_CREDENTIALS_H
#define LULL_CREDENTIALS_H

#include <lull/rc.h>
#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lull_credentials;

/** The oldest TLS that is spoken. Values are fixed; more may come. Since 0.3. */
enum lull_tls_version { LULL_TLS_1_2 = 0, LULL_TLS_1_3 = 1 };

/** What a server does about the certificates of its clients. Values are fixed. Since 0.3. */
enum lull_client_certificate {
    LULL_CLIENT_CERTIFICATE_IGNORED = 0,  /**< not asked for */
    LULL_CLIENT_CERTIFICATE_VERIFIED = 1, /**< asked for; a wrong one is refused, none is not */
    LULL_CLIENT_CERTIFICATE_REQUIRED = 2  /**< a client without one is refused too */
};

/**
 * A certificate with its chain and its key, each as a file or as PEM text, not as both; all NULL:
 * none. The leaf comes first in the chain. Keys that ask for a passphrase are refused. Since 0.3.
 */
struct lull_identity {
    const char *chain_file; /**< [borrow, nullable] path of a PEM file */
    const char *chain_pem;  /**< [borrow, nullable] the same as text */
    const char *key_file;   /**< [borrow, nullable] path of a PEM file */
    const char *key_pem;    /**< [borrow, nullable] the same as text */
};

/**
 * Asked before each handshake for the identity of now: the way to change certificates while
 * everything runs. What it fills in is read before anything else is called, files included. Called
 * on the thread that drives the loop of that connection; must not call into lull.
 * @param ctx as in the options
 * @param out [borrow] all NULL; left so: no certificate in this handshake
 * @return LULL_OK; anything else fails the handshake, and the failure says so. Since 0.3.
 */
typedef int (*lull_identity_fn)(void *ctx, struct lull_identity *out);

/** Options of credentials. Fill with lull_credentials_options_init. In a struct of another release,
 * from 0.3, what is missing has its default, and what this one does not know has to be zero. Since
 * 0.3. */
struct lull_credentials_options {
    size_t size;
    const char *ca_file; /**< [borrow, nullable] PEM file of the roots to believe, and no others */
    const char *ca_pem;  /**< [borrow, nullable] the same as text. Both NULL: the system's roots,
                            or what SSL_CERT_FILE and SSL_CERT_DIR say */
    struct lull_identity identity; /**< a client's certificate, or the server's */
    lull_identity_fn identity_fn;  /**< [nullable] instead of `identity`, asked each time */
    void *identity_ctx;            /**< [borrow] handed to identity_fn */
    const char *server_name;       /**< [borrow, nullable] clients: the name, or numeric address,
                                         that the server is asked for and must prove; NULL: the host
                                         of the channel's authority */
    enum lull_tls_version min_version;               /**< default LULL_TLS_1_2 */
    enum lull_client_certificate client_certificate; /**< servers; default IGNORED. The others need
                                                        ca_file or ca_pem */
    const char *key_log_file; /**< [borrow, nullable] secrets are added to this file, for wireshark;
                                 NULL: to SSLKEYLOGFILE of the environment, if that is set and the
                                 program is not set-uid */
    bool insecure_skip_verify; /**< clients: believe anybody. The connection can be read and changed
                                  by whoever sits in between; each channel with it says so in a
                                  LULL_EVENT_WARNING. For tests */
};

/** Fills in the defaults. Since 0.3. */
static inline void lull_credentials_options_init(struct lull_credentials_options *options)
{
    options->size = sizeof(*options);
    options->ca_file = NULL;
    options->ca_pem = NULL;
    options->identity.chain_file = NULL;
    options->identity.chain_pem = NULL;
    options->identity.key_file = NULL;
    options->identity.key_pem = NULL;
    options->identity_fn = NULL;
    options->identity_ctx = NULL;
    options->server_name = NULL;
    options->min_version = LULL_TLS_1_2;
    options->client_certificate = LULL_CLIENT_CERTIFICATE_IGNORED;
    options->key_log_file = NULL;
    options->insecure_skip_verify = false;
}

/**
 * Reads files and texts, once, and makes credentials of them.
 * @param options [borrow, nullable] NULL: all defaults, which is what most clients want
 * @param out receives the object with one reference, owned by the caller; left alone on failure
 * @param error [nullable] receives the code and a text that names the option, the file, the line
 * and what is wrong there
 * @return LULL_OK; LULL_RC_INVALID (an option, what a file says, a key of another certificate);
 * LULL_RC_SYSTEM (a file cannot be read); LULL_RC_UNSUPPORTED (no TLS in this build);
 * LULL_RC_NOMEM. Any thread. Since 0.3.
 */
LULL_API int lull_credentials_new(const struct lull_credentials_options *options,
                                  struct lull_credentials **out, struct lull_error *error);

/** Takes a reference. NULL is harmless. Any thread. Since 0.3. */
LULL_API void lull_credentials_ref(struct lull_credentials *credentials);

/** Gives a reference back; channels and servers have their own. NULL is harmless. Any thread. Since
 * 0.3. */
LULL_API void lull_credentials_unref(struct lull_credentials *credentials);

/** What credentials have been used for, by all who share them. Fields are appended only. Since 0.3.
 */
struct lull_credentials_stats {
    size_t size;         /**< set by the caller to sizeof; then: how much of it was filled */
    uint64_t handshakes; /**< completed */
    uint64_t handshakes_resumed; /**< of these, with the session of an earlier one */
    uint64_t handshakes_failed;  /**< broken off, by either side */
    uint64_t sessions;           /**< kept now for later handshakes of clients */
};

/** Fills `out` as far as its `size` says. Any thread. Since 0.3. */
LULL_API void lull_credentials_stats(struct lull_credentials *credentials,
                                     struct lull_credentials_stats *out);

#ifdef __cplusplus
}
#endif

#endif
