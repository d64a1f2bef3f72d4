/* SPDX-License-Identifier: MIT */
/*
 * Does the other side speak HTTP/2 at all? (RFC 9113 section 3.4: a server's first frame is SETTINGS, a client's follows its magic.)
 *
 * Decides: on the first bytes alone, before nghttp2 sees them, so that the text can say what came instead. Called by recv.c. Pure.
 */
#ifndef H2_PREFACE_H
#define H2_PREFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As many of the first bytes are looked at and quoted. */
#define PREFACE_BYTES 64

enum preface {
    PREFACE_MORE, /* too few bytes yet */
    PREFACE_GOOD, /* a SETTINGS frame begins */
    PREFACE_WRONG /* text says what it is */
};

/* `is_all`: no more will come. */
enum preface preface_judge(const uint8_t *bytes, size_t len, bool is_all, char *text, size_t size);

/* A client's first bytes: the magic (RFC 9113 section 3.4), and its SETTINGS. Looks at PREFACE_BYTES, too. */
#define PREFACE_MAGIC_BYTES ((size_t)24)
enum preface preface_judge_client(const uint8_t *bytes, size_t len, bool is_all, char *text,
                                  size_t size);

#endif
