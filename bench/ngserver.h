/* SPDX-License-Identifier: MIT */
/* Between the two halves of bench/ngserver: ngserver.c has sockets and the loop, ngserver_call.c has HTTP/2 and what is answered. */
#ifndef BENCH_NGSERVER_H
#define BENCH_NGSERVER_H

#include <stddef.h>
#include <stdint.h>

#include <nghttp2/nghttp2.h>

/* What one turn of a connection writes is gathered here, first in `bytes`, then on the socket. */
#define GATHER_MAX  ((size_t)256 * 1024)
#define GATHER_ROOM (GATHER_MAX + 64 * 1024)
struct gather {
    uint8_t *bytes;
    size_t len;
};
extern struct gather gather;

/* A session of a new connection, its SETTINGS submitted. */
nghttp2_session *calls_session_new(void);

#endif
