/* SPDX-License-Identifier: MIT */
/*
 * Whether all bytes of a text are ASCII of some kind, eight at a time.
 *
 * Decides: nothing. Called where names, values and methods are judged. Must not know what they are for.
 */
#ifndef BASE_ASCII_H
#define BASE_ASCII_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ASCII_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/*
 * In what these return, the highest bit of each byte says that it is none of the kind. A sum that carries into the next byte comes of a
 * byte over 0x7f, which is a fault already.
 */
static inline uint64_t ascii_not_printable(uint64_t w) /* 0x20 to 0x7e */
{
    return w | ~(w + ASCII_EACH(0x80 - 0x20)) | (w + ASCII_EACH(0x80 - 0x7f));
}

static inline uint64_t ascii_not_visible(uint64_t w) /* 0x21 to 0x7e */
{
    return w | ~(w + ASCII_EACH(0x80 - 0x21)) | (w + ASCII_EACH(0x80 - 0x7f));
}

/* RFC 9113 section 8.2.1: no upper case, no colon. */
static inline uint64_t ascii_not_in_name(uint64_t w)
{
    const uint64_t is_upper = (w + ASCII_EACH(0x80 - 'A')) & ~(w + ASCII_EACH(0x7f - 'Z'));
    const uint64_t is_colon = (w + ASCII_EACH(0x80 - ':')) & ~(w + ASCII_EACH(0x7f - ':'));
    return ascii_not_visible(w) | is_upper | is_colon;
}

static inline bool ascii_has_no(uint64_t (*faults_of)(uint64_t), const void *text, size_t len)
{
    const uint8_t *bytes = text;
    uint64_t found = 0;
    uint64_t word;
    if (len < sizeof(word)) {
        for (size_t i = 0; i < len; i++) {
            found |= faults_of(ASCII_EACH(bytes[i]));
        }
        return (found & ASCII_EACH(0x80)) == 0;
    }
    for (size_t i = 0; i < len - sizeof(word); i += sizeof(word)) {
        memcpy(&word, bytes + i, sizeof(word));
        found |= faults_of(word);
    }
    memcpy(&word, bytes + len - sizeof(word), sizeof(word)); /* the last eight, some of them for the second time */
    return ((found | faults_of(word)) & ASCII_EACH(0x80)) == 0;
}

static inline bool ascii_is_printable(const void *text, size_t len)
{
    return ascii_has_no(ascii_not_printable, text, len);
}

static inline bool ascii_is_visible(const void *text, size_t len)
{
    return ascii_has_no(ascii_not_visible, text, len);
}

/* The empty one is none. */
static inline bool ascii_is_name(const void *text, size_t len)
{
    return len > 0 && ascii_has_no(ascii_not_in_name, text, len);
}

#endif
