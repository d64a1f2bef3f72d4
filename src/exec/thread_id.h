/* SPDX-License-Identifier: MIT */
/*
 * Which thread this is, as a number that is never 0.
 *
 * Decides: how the question "am I in context" is asked cheaply: on the hot path of a Rescheduler it
 * must cost one instruction, so the thread pointer is read directly where the compiler can.
 */
#ifndef EXEC_THREAD_ID_H
#define EXEC_THREAD_ID_H

#include <stdint.h>

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__)) && defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer)
#define EXEC_HAS_THREAD_POINTER 1
#endif
#endif

#ifdef EXEC_HAS_THREAD_POINTER

static inline uintptr_t thread_id(void)
{
    return (uintptr_t)__builtin_thread_pointer();
}

#else

#include <pthread.h>

static inline uintptr_t thread_id(void)
{
    return (uintptr_t)pthread_self();
}

#endif

#endif
