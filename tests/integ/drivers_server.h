/* SPDX-License-Identifier: MIT */
/*
 * What answers in drivers_test.c: a server with a method for each behaviour. Public functions only.
 */
#ifndef TESTS_INTEG_DRIVERS_SERVER_H
#define TESTS_INTEG_DRIVERS_SERVER_H

#include <lull/lull.h>

enum behaviour {
    ECHO,        /* each message comes back */
    COUNT,       /* their number, when all have come */
    BURST,       /* five, when all have come */
    MUTE,        /* nothing */
    HEADERS_ONLY /* nothing but initial metadata */
};

/* By behaviour. */
extern const char *const drivers_methods[5];

/* A server that listens at `address`; it polices nobody. */
struct lull_server *drivers_server_new(struct lull_loop *loop, const char *address);

#endif
