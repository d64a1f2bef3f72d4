/* SPDX-License-Identifier: MIT */
/*
 * The name of a method: "/package.Service/Method" (gRPC over HTTP/2, Path).
 *
 * Decides: what is one. Called by the client and by the server before they take a name. Pure.
 */
#ifndef BASE_METHOD_H
#define BASE_METHOD_H

/* NULL when it is one; else what is wrong with it, as the end of a sentence. `method` may be NULL. */
const char *method_fault(const char *method);

#endif
