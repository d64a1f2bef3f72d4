/* SPDX-License-Identifier: MIT */
/*
 * One unary call over TLS. Usage: tls_unary TARGET [CA_FILE], as against `lull serve --cert --key`: tls_unary localhost:50051 ca.pem.
 * Without CA_FILE the system's roots are believed.
 * Build: cc tls_unary.c $(pkg-config --cflags --libs lull)
 */
#include <lull/lull.h>

#include <stdio.h>

static int exit_code = 1;

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    exit_code = (int)result->status.code;
    if (result->status.code == LULL_CODE_OK) {
        printf("OK: %.*s\n", (int)result->message.len, (const char *)result->message.data);
    } else {
        printf("%s\n", result->status.failure->line);
    }
    lull_loop_stop((struct lull_loop *)ctx);
}

static int call_by(struct lull_loop *loop, const char *target, struct lull_credentials *credentials, struct lull_error *error)
{
    struct lull_channel_options channel_options;
    struct lull_call_options call_options;
    struct lull_channel *channel;

    lull_channel_options_init(&channel_options);
    channel_options.loop = loop;
    channel_options.credentials = credentials;
    lull_call_options_init(&call_options, "/lull.Demo/Echo");
    call_options.timeout_ns = 5 * LULL_SECOND;
    int rc = lull_channel_new(target, &channel_options, &channel, error);
    if (rc != LULL_OK) {
        return rc;
    }
    rc = lull_call_unary(channel, &call_options, lull_slice_static("hello", 5), on_done, loop, NULL, error);
    if (rc == LULL_OK) {
        rc = lull_loop_run(loop);
    }
    lull_channel_unref(channel);
    return rc;
}

int main(int argc, char **argv)
{
    struct lull_credentials_stats stats = {.size = sizeof(stats)};
    struct lull_credentials_options options;
    struct lull_credentials *credentials;
    struct lull_error error;
    struct lull_loop *loop;

    if (argc < 2 || lull_loop_new(NULL, &loop) != LULL_OK) {
        fprintf(stderr, "usage: tls_unary TARGET [CA_FILE]\n");
        return 1;
    }
    lull_credentials_options_init(&options);
    options.ca_file = argc > 2 ? argv[2] : NULL;
    if (lull_credentials_new(&options, &credentials, &error) != LULL_OK) {
        fprintf(stderr, "%s\n", error.text); /* the file, the line, and what is wrong there */
        lull_loop_free(loop);
        return 1;
    }
    /* Twice: the second connection resumes the session of the first, for the credentials keep it. */
    for (int i = 0; i < 2; i++) {
        if (call_by(loop, argv[1], credentials, &error) != LULL_OK) {
            fprintf(stderr, "%s\n", error.text);
        }
    }
    lull_credentials_stats(credentials, &stats);
    printf("%u handshakes, %u of them resumed\n", (unsigned)stats.handshakes, (unsigned)stats.handshakes_resumed);
    lull_credentials_unref(credentials);
    lull_loop_free(loop);
    return exit_code;
}
