/* SPDX-License-Identifier: MIT */
/* Channels and a server with TLS, over the loopback. */
#include <stdio.h>
#include <string.h>

#include "tests/integ/tls_support.h"
#include "tests/support/check_main.h"

static struct tls_world world;
static char target[64], line[TLS_TEXT];

static void target_at(unsigned port)
{
    (void)snprintf(target, sizeof(target), "127.0.0.1:%u", port);
}

START_TEST(a_call_passes_and_the_connection_says_what_it_speaks)
{
    tls_world_init(&world);
    target_at(tls_serve(&world, tls_showing(world.leaf)));
    struct lull_channel *channel = tls_channel(&world, target, "svc.test", tls_believing(world.ca));
    ck_assert_msg(tls_call(&world, channel, 5, line) == LULL_CODE_OK, "%s", line);
    ck_assert_msg(strstr(world.connected, ", TLSv1.3, TLS_AES_256_GCM_SHA384, full handshake"),
                  "%s", world.connected);
    lull_channel_unref(channel);
    tls_world_fini(&world);
}
END_TEST

START_TEST(big_messages_pass)
{
    static const size_t lens[] = {0, 1, 16383, 16384, 65536, 1048576, 1048577, 4194304 - 5};
    tls_world_init(&world);
    target_at(tls_serve(&world, tls_showing(world.leaf)));
    struct lull_channel *channel = tls_channel(&world, target, NULL, tls_believing(world.ca));
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        ck_assert_msg(tls_call(&world, channel, lens[i], line) == LULL_CODE_OK, "%s", line);
    }
    lull_channel_unref(channel);
    tls_world_fini(&world);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("integ/tls");
    TCase *t = tcase_create("tls");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_call_passes_and_the_connection_says_what_it_speaks);
    tcase_add_test(t, big_messages_pass);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("integ/tls", suite)
