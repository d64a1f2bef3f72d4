/* SPDX-License-Identifier: MIT */
/*
 * A program's log: what a channel and a server do, as lines with a level, here on stderr as syslog would have them. The channel is there
 * before its server, so that the first attempt fails and says so; the server is closed under it at the end.
 * Build: cc log_lines.c $(pkg-config --cflags --libs lull)
 */
#include <lull/lull.h>

#include <stdio.h>
#include <string.h>

static char client_name[] = "client", server_name[] = "server";
static unsigned warnings, lines;

/* Inside a turn: it must not call into lull, and what it is shown is gone when it returns. */
static void write_line(void *ctx, const struct lull_log_line *line)
{
    fprintf(stderr, "<%d>%s[%s]: %s\n", (int)line->level, (const char *)ctx, line->name, line->text);
    warnings += line->level == LULL_LOG_WARNING;
    lines++;
}

static void run_until(struct lull_loop *loop, struct lull_channel *channel, enum lull_state state)
{
    for (int i = 0; i < 1000 && lull_channel_state(channel, true) != state; i++) {
        (void)lull_loop_run_once(loop, 10 * LULL_MS);
    }
}

static int complain(const struct lull_error *error)
{
    fprintf(stderr, "%s\n", error->text);
    return 1;
}

int main(void)
{
    struct lull_server_options server_options;
    struct lull_channel_options options;
    struct lull_server *server;
    struct lull_channel *channel;
    struct lull_error error;
    struct lull_loop *loop;
    char where[64];

    if (lull_loop_new(NULL, &loop) != LULL_OK) {
        return 1;
    }
    /* A port that nobody has, for now. */
    lull_server_options_init(&server_options);
    server_options.loop = loop;
    if (lull_server_new(&server_options, &server, &error) != LULL_OK ||
        lull_server_listen(server, "127.0.0.1:0", &error) != LULL_OK) {
        return complain(&error);
    }
    (void)snprintf(where, sizeof(where), "%s", lull_server_address(server, 0));
    lull_server_free(server);

    lull_channel_options_init(&options);
    options.loop = loop;
    options.backoff_initial_ns = 100 * LULL_MS;
    options.log.line = write_line; /* level 0: the life of connections, not each call */
    options.log.ctx = client_name;
    if (lull_channel_new(where, &options, &channel, &error) != LULL_OK) {
        return complain(&error);
    }
    run_until(loop, channel, LULL_STATE_TRANSIENT_FAILURE);

    server_options.log.line = write_line;
    server_options.log.ctx = server_name;
    server_options.log.level = LULL_LOG_DEBUG;
    if (lull_server_new(&server_options, &server, &error) != LULL_OK ||
        lull_server_listen(server, where, &error) != LULL_OK) {
        return complain(&error);
    }
    run_until(loop, channel, LULL_STATE_READY);
    lull_server_free(server);
    run_until(loop, channel, LULL_STATE_TRANSIENT_FAILURE);
    lull_channel_close(channel);
    lull_channel_unref(channel);
    (void)lull_loop_run_once(loop, 0);
    lull_loop_free(loop);

    const int is_good = warnings >= 2 && lines > 10;
    printf("100%%: Checks: 1, Failures: %d, Errors: 0\n", !is_good);
    return is_good ? 0 : 1;
}
