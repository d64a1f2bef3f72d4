/* SPDX-License-Identifier: MIT */
/*
 * Hostile clients: whole conversations with bytes changed, dropped, doubled and cut, and plain noise. Nothing breaks, every call that began
 * ends, and the next client is served. A seed that fails is in the output.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/random.h"
#include "tests/support/check_main.h"
#include "tests/support/rounds.h"
#include "tests/unit/server/rig.h"

#define SEEDS_A_WORLD 500

static struct rig rig;
static struct raw raw;
static uint64_t state;

static uint64_t below(uint64_t bound)
{
    return random_splitmix(&state) % bound;
}

/* ---- an honest conversation, as one run of bytes */

static void put(struct buf *out, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
                size_t len)
{
    ck_assert_int_eq(frame_put(out, type, flags, stream, payload, len), 0);
}

#define REQUEST                                                                                    \
    "\x83\x86\x44\x13/pkg.Service/Method\x41\x08svc.test\0\2te\x08trailers\x5f\x10"                \
    "application/grpc\0\x0cgrpc-timeout\4"                                                         \
    "100m\0\3x-a\1b\0\5x-bin\4AAEC"

static void converse(struct buf *out)
{
    ck_assert_int_eq(buf_append(out, FRAME_PREFACE, FRAME_PREFACE_BYTES), 0);
    put(out, FRAME_SETTINGS, 0, 0, "\0\4\0\1\0\0", 6);
    put(out, FRAME_SETTINGS, FRAME_ACK, 0, NULL, 0);
    for (uint32_t stream = 1; stream < 12; stream += 2) {
        put(out, FRAME_HEADERS, FRAME_END_HEADERS, stream, REQUEST, sizeof(REQUEST) - 1);
        put(out, FRAME_DATA, 0, stream, "\0\0\0\0\5hello\0\0\0\0\0\0\0", 17);
        if (stream < 4) {
            put(out, FRAME_PING, 0, 0, "12345678", 8);
        }
        put(out, FRAME_DATA, FRAME_END_STREAM, stream, "\0\0\1a", 4);
        put(out, FRAME_WINDOW_UPDATE, 0, stream, "\0\0\1\0", 4);
    }
    put(out, FRAME_HEADERS, FRAME_END_HEADERS, 13, REQUEST, sizeof(REQUEST) - 1);
    put(out, FRAME_RST_STREAM, 0, 13, "\0\0\0\x08", 4);
    put(out, FRAME_GOAWAY, 0, 0, "\0\0\0\0\0\0\0\0", 8);
}

static void mutate(uint8_t *bytes, size_t *len)
{
    const uint64_t times = 1 + below(6);
    for (uint64_t i = 0; i<times && * len> 1; i++) {
        const size_t at = (size_t)below(*len);
        switch (below(6)) {
        case 0:
            bytes[at] = (uint8_t)below(256);
            break;
        case 1:
            bytes[at] ^= (uint8_t)(1u << below(8));
            break;
        case 2: /* drop */
            memmove(bytes + at, bytes + at + 1, *len - at - 1);
            (*len)--;
            break;
        case 3: /* double, over what follows */
            memmove(bytes + at + 1, bytes + at, *len - at - 1);
            break;
        case 4:
            *len = at + 1;
            break;
        default:
            bytes[at] = (uint8_t)(below(2) * 255);
            break;
        }
    }
}

static void say_in_pieces(const uint8_t *bytes, size_t len)
{
    while (len > 0) {
        size_t piece = 1 + (size_t)below(below(3) == 0 ? 20 : 2000);
        piece = piece < len ? piece : len;
        raw_say(&raw, bytes, piece);
        bytes += piece;
        len -= piece;
    }
}

static void open_raw(void)
{
    raw_open(&raw, &rig.sim, rig.server, NULL);
}

/* The server is as it was: a good client gets its answer. */
static void expect_service(void)
{
    struct unary unary;
    unary_run(&unary, &rig, RIG_METHOD, "still there", LULL_CODE_OK);
    ck_assert_str_eq(unary.reply, "still there");
}

START_TEST(the_conversation_itself_is_in_order)
{
    struct buf out;
    rig_start(&rig, APP_ECHOES);
    open_raw();
    buf_init(&out, NULL, 0);
    converse(&out);
    raw_say(&raw, buf_data(&out), buf_len(&out));
    ck_assert_uint_eq(rig.begun, 6);
    ck_assert_uint_eq(rig.closed, 6);
    ck_assert_uint_eq(rig.calls[0].messages, 3);
    ck_assert_uint_eq(rig.calls[0].metadata, 2);
    ck_assert(raw_has_field(&raw, 1, 1, "grpc-status: 0"));
    buf_fini(&out);
    raw_fini(&raw);
    expect_service();
    rig_fini(&rig);
}
END_TEST

/* One world for many clients: what one of them broke would show at the next. */
static void be_hostile(uint64_t first_seed, void (*say)(uint8_t *bytes, size_t len))
{
    const unsigned lot = test_rounds(SEEDS_A_WORLD, 50);
    struct buf out;
    uint8_t *bytes;
    buf_init(&out, NULL, 0);
    converse(&out);
    bytes = malloc(buf_len(&out));
    ck_assert_ptr_nonnull(bytes);
    for (uint64_t seed = first_seed; seed < first_seed + 3 * lot; seed++) {
        state = seed;
        if ((seed - first_seed) % lot == 0) {
            rig_init(&rig);
            rig.options.max_recv_message_bytes = 100000;
            rig.way = APP_ECHOES;
            rig_open(&rig);
        }
        memcpy(bytes, buf_data(&out), buf_len(&out));
        open_raw();
        say(bytes, buf_len(&out));
        raw_fini(&raw);
        if ((seed - first_seed) % lot == lot - 1) {
            expect_service();
            rig_advance(&rig, LULL_SECOND);
            ck_assert_uint_eq(rig.begun, rig.closed);
            rig_fini(&rig);
        }
    }
    free(bytes);
    buf_fini(&out);
}

static void say_mutated(uint8_t *bytes, size_t len)
{
    mutate(bytes, &len);
    say_in_pieces(bytes, len);
}

static void say_noise_after_the_preface(uint8_t *bytes, size_t len)
{
    const size_t from = below(2) == 0 ? FRAME_PREFACE_BYTES : 0;
    for (size_t i = from; i < len; i++) {
        bytes[i] = (uint8_t)below(256);
    }
    say_in_pieces(bytes, len);
}

static void say_and_vanish(uint8_t *bytes, size_t len)
{
    say_in_pieces(bytes, 1 + (size_t)below(len));
}

START_TEST(mutated_conversations_break_nothing)
{
    be_hostile(1, say_mutated);
}
END_TEST

START_TEST(noise_breaks_nothing)
{
    be_hostile(100000, say_noise_after_the_preface);
}
END_TEST

START_TEST(clients_that_vanish_break_nothing)
{
    be_hostile(200000, say_and_vanish);
}
END_TEST

/* A request that announces 4 GiB gets no memory for it. */
START_TEST(a_length_is_judged_before_memory_is_asked_for)
{
    rig_start(&rig, APP_ECHOES);
    open_raw();
    raw_hello(&raw);
    raw_request(&raw, 1, RIG_METHOD, false, NULL);
    raw_frame(&raw, FRAME_DATA, 0, 1, "\0\xff\xff\xff\xff", 5);
    ck_assert_uint_eq(rig.closed, 1);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_LIMIT);
    ck_assert(!raw.is_eof);
    raw_fini(&raw);
    rig_fini(&rig);
}
END_TEST

/* HTTP/1.1 and TLS at a plaintext port */
START_TEST(other_protocols_are_sent_away)
{
    static const char *const greetings[] = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                            "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello",
                                            "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"};
    static const size_t lens[] = {27, 17, 24};
    rig_start(&rig, APP_ECHOES);
    for (size_t i = 0; i < 3; i++) {
        open_raw();
        raw_say(&raw, greetings[i], lens[i]);
        ck_assert(raw.is_eof);
        raw_fini(&raw);
    }
    ck_assert_uint_eq(rig_stats(&rig).connections, 0);
    rig_fini(&rig);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("server/mutation");
    TCase *t = tcase_create("mutation");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, the_conversation_itself_is_in_order);
    tcase_add_test(t, mutated_conversations_break_nothing);
    tcase_add_test(t, noise_breaks_nothing);
    tcase_add_test(t, clients_that_vanish_break_nothing);
    tcase_add_test(t, a_length_is_judged_before_memory_is_asked_for);
    tcase_add_test(t, other_protocols_are_sent_away);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("server/mutation", suite)
