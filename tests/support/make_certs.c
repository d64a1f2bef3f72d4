/* SPDX-License-Identifier: MIT */
/*
 * make_certs DIRECTORY: writes ca.pem, leaf.pem and leaf.key (localhost, svc.test, 127.0.0.1), client.pem and client.key, and
 * other_ca.pem, which vouches for none of them; for tests that are scripts.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lull/clock.h"

#include "tests/support/certs.h"

static void put(const char *directory, const char *name, const char *text)
{
    char path[4096];
    if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path)) {
        exit(1);
    }
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_certs DIRECTORY\n");
        return 2;
    }
    const int64_t now_s = lull_clock_wall_ns(lull_clock_system()) / LULL_SECOND;
    struct cert *ca = cert_ca("lull test CA", now_s);
    struct cert *other = cert_ca("somebody else", now_s);
    struct cert *leaf = cert_usual("leaf", "DNS:localhost,DNS:svc.test,IP:127.0.0.1", ca, now_s);
    struct cert *client = cert_usual("client", "DNS:client.test", ca, now_s);
    put(argv[1], "ca.pem", cert_pem(ca));
    put(argv[1], "other_ca.pem", cert_pem(other));
    put(argv[1], "leaf.pem", cert_pem(leaf));
    put(argv[1], "leaf.key", cert_key_pem(leaf));
    put(argv[1], "client.pem", cert_pem(client));
    put(argv[1], "client.key", cert_key_pem(client));
    cert_free(client);
    cert_free(leaf);
    cert_free(other);
    cert_free(ca);
    return 0;
}
