/* SPDX-License-Identifier: MIT */
/*
 * The `lull` program.
 *
 * Decides: which subcommands there are. Each lives in a file of its own. Must not know: how they work.
 *
 * Every name with linkage in tool/ starts with tool_, as a static liblull brings internal names of its own.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <lull/lull.h>

#include "call.h"
#include "serve.h"
#include "text.h"
#include "watch.h"

static void print_help(FILE *out)
{
    (void)fputs(
        "usage: lull COMMAND ...\n"
        "\n"
        "  lull call [options] TARGET /package.Service/Method   make one gRPC call\n"
        "  lull serve [options]                                 serve calls, to try clients on\n"
        "  lull watch [options] TARGET                          show a channel's life as it "
        "happens\n"
        "  lull help [COMMAND]                                  explain a command\n"
        "  lull --version                                       tell which lull this is\n"
        "\n"
        "A call: lull call --plaintext --data-hex '' 127.0.0.1:50051 /pkg.Service/Method\n",
        out);
}

static void print_version(void)
{
    (void)fputs("lull " LULL_VERSION, stdout);
    if (strcmp(lull_version(), LULL_VERSION) != 0) {
        (void)fprintf(stdout, " (library %s)", lull_version());
    }
    (void)fputc('\n', stdout);
}

/* Help and version go through stdio; a full disk or a closed pipe must not look like success. */
static int finish_stdout(void)
{
    if (fflush(stdout) != 0) {
        tool_text_complain("cannot write to standard output");
        return CALL_EXIT_IO;
    }
    return 0;
}

static int unknown_command(const char *word)
{
    struct text_fault fault;
    (void)tool_text_fault_set(&fault, "unknown command '%.200s' (see 'lull help')", word);
    tool_text_complain(fault.text);
    return CALL_EXIT_USAGE;
}

static int help_main(int argc, char **argv)
{
    if (argc == 0) {
        print_help(stdout);
    } else if (strcmp(argv[0], "call") == 0) {
        tool_call_help();
    } else if (strcmp(argv[0], "serve") == 0) {
        tool_serve_help();
    } else if (strcmp(argv[0], "watch") == 0) {
        tool_watch_help();
    } else {
        return unknown_command(argv[0]);
    }
    return finish_stdout();
}

/*
 * A standard file that is closed would be the next one that anybody opens, and the response would go to a socket. Its place
 * is taken by one that fails as a closed one does: EBADF.
 */
static void hold_standard_files(void)
{
    static const int wrong_way[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            (void)open("/dev/null", wrong_way[fd]);
        }
    }
}

int main(int argc, char **argv)
{
    hold_standard_files();
    /* A reader that left is told by write(), as an exit status and a line. */
    (void)signal(SIGPIPE, SIG_IGN);

    if (argc < 2) {
        tool_text_complain("a command is missing");
        print_help(stderr);
        return CALL_EXIT_USAGE;
    }
    const char *command = argv[1];
    int (*run)(int, char **) = strcmp(command, "call") == 0    ? tool_call_main
                               : strcmp(command, "serve") == 0 ? tool_serve_main
                               : strcmp(command, "watch") == 0 ? tool_watch_main
                                                               : NULL;
    if (run != NULL) {
        int status = run(argc - 2, argv + 2);
        int flushed = finish_stdout();
        return status != 0 ? status : flushed;
    }
    if (strcmp(command, "help") == 0 || strcmp(command, "--help") == 0 ||
        strcmp(command, "-h") == 0) {
        return help_main(argc - 2, argv + 2);
    }
    if (strcmp(command, "--version") == 0 || strcmp(command, "version") == 0) {
        print_version();
        return finish_stdout();
    }
    return unknown_command(command);
}
