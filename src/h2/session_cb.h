/* SPDX-License-Identifier: MIT */
/*
 * What nghttp2 tells, passed on to the file whose business it is.
 *
 * Decides: what a sequence of frames on one stream means (a second HEADERS, DATA first, an end). Called by nghttp2 only. Must not run an
 * owner's task: a callback records.
 */
#ifndef H2_SESSION_CB_H
#define H2_SESSION_CB_H

#include <nghttp2/nghttp2.h>

void session_cb_install(nghttp2_session_callbacks *callbacks);

#endif
