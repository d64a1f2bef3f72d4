/* SPDX-License-Identifier: MIT */
/*
 * src/channel/call.c: arguments, references, exactly one done.
 */
#include "channel/call.h"

#include <string.h>

#include "base/slice.h"
#include "rig.h"
#include "tests/support/check_main.h"

static struct rig rig;
static struct rig_call call;

static void begin(peer_request_fn on_request)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    rig.on_request = on_request;
    rig_open(&rig);
    memset(&call, 0, sizeof(call));
}

static unsigned dones;
static enum lull_code last_code;

static void count_done(struct lull_call *handle, const struct lull_unary_result *result, void *ctx)
{
    (void)handle;
    (void)ctx;
    dones++;
    last_code = result->status.code;
}

static int try_call(const struct lull_call_options *options, size_t request_len,
                    struct lull_error *error)
{
    struct lull_call *handle = (struct lull_call *)(void *)&rig;
    int rc = lull_call_unary(rig.channel, options, lull_slice_static("abc", request_len),
                             count_done, NULL, NULL, error);
    ck_assert_ptr_eq(handle, &rig);
    ck_assert_int_eq(error->rc, rc);
    return rc;
}

START_TEST(a_method_has_a_service_and_a_name_and_nothing_strange)
{
    static const struct {
        const char *method;
        int rc;
    } rows[] = {
        {"/p.S/M", LULL_OK},
        {"/a/b/c", LULL_OK},
        {NULL, LULL_RC_INVALID},
        {"", LULL_RC_INVALID},
        {"p.S/M", LULL_RC_INVALID},
        {"/p.S", LULL_RC_INVALID},
        {"/p S/M", LULL_RC_INVALID},
        {"/p.S/M\n", LULL_RC_INVALID},
        {"/p.S/\x7f", LULL_RC_INVALID},
        {"/p.S/\xc3\xa4", LULL_RC_INVALID},
        {"//", LULL_RC_INVALID},
        {"//M", LULL_RC_INVALID},
        {"/my.Test/", LULL_RC_INVALID},
    };
    struct lull_error error;
    unsigned accepted = 0;
    begin(rig_answer_hello);
    dones = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lull_call_options options;
        lull_call_options_init(&options, rows[i].method);
        int rc = try_call(&options, 3, &error);
        ck_assert_msg(rc == rows[i].rc, "%s: %s", rows[i].method, error.text);
        accepted += rc == LULL_OK;
        if (rc != LULL_OK) {
            ck_assert_ptr_nonnull(strstr(error.text, "method"));
        }
    }
    /* The last one: the text names the part. */
    ck_assert_str_eq(error.text, "option method \"/my.Test/\" has no method after the last '/': it is written "
                                 "\"/package.Service/Method\"");
    rig_settle(&rig);
    ck_assert_uint_eq(dones, accepted);
    rig_fini(&rig);
}
END_TEST

START_TEST(arguments_that_cannot_be_are_refused_and_nothing_happens)
{
    struct lull_error error;
    struct lull_call_options options;
    struct lull_metadatum bad = lull_metadatum_text("Upper", "x");
    begin(rig_answer_hello);
    dones = 0;
    lull_call_options_init(&options, "/a/b");
    options.size--;
    ck_assert_int_eq(try_call(&options, 3, &error), LULL_RC_INVALID);
    lull_call_options_init(&options, "/a/b");
    options.metadata.items = &bad;
    options.metadata.count = 1;
    ck_assert_int_eq(try_call(&options, 3, &error), LULL_RC_INVALID);
    ck_assert_int_eq(try_call(NULL, 3, &error), LULL_RC_INVALID);
    lull_call_options_init(&options, "/a/b");
    ck_assert_int_eq(
        lull_call_unary(rig.channel, &options, lull_slice_static("", 0), NULL, NULL, NULL, &error),
        LULL_RC_INVALID);
    ck_assert_int_eq(
        lull_call_unary(NULL, &options, lull_slice_static("", 0), count_done, NULL, NULL, NULL),
        LULL_RC_INVALID);
    rig.channel->options.max_send_message_bytes = 2;
    ck_assert_int_eq(try_call(&options, 3, &error), LULL_RC_LIMIT);
    ck_assert_ptr_nonnull(strstr(error.text, "max_send_message_bytes"));
    rig_settle(&rig);
    ck_assert_uint_eq(dones, 0);
    ck_assert_uint_eq(rig.attempt_count, 0);
    ck_assert_uint_eq(rig_counters(&rig).calls_started, 0);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_call_without_a_handle_is_done_all_the_same)
{
    struct lull_call_options options;
    struct lull_error error;
    begin(rig_answer_hello);
    dones = 0;
    lull_call_options_init(&options, "/a/b");
    ck_assert_int_eq(try_call(&options, 0, &error), LULL_OK);
    ck_assert_uint_eq(dones, 0);
    rig_settle(&rig);
    ck_assert_uint_eq(dones, 1);
    ck_assert_int_eq(last_code, LULL_CODE_OK);
    rig_fini(&rig);
}
END_TEST

static void release(struct lull_slab *slab)
{
    dones += 100;
    (void)slab;
}

START_TEST(the_request_is_kept_by_reference_and_given_back)
{
    struct lull_slab slab;
    uint8_t bytes[] = "abc";
    struct lull_call_options options;
    begin(rig_answer_hello);
    dones = 0;
    slab_init(&slab, bytes, 3, release);
    struct lull_slice slice = slab_slice(&slab, 0, 3);
    lull_call_options_init(&options, "/a/b");
    ck_assert_int_eq(lull_call_unary(rig.channel, &options, slice, count_done, NULL, NULL, NULL),
                     LULL_OK);
    lull_slice_unref(slice);
    slab_unref(&slab);
    ck_assert_uint_eq(dones, 0);
    rig_settle(&rig);
    ck_assert_uint_eq(dones, 101);
    ck_assert_mem_eq(peer_find(rig_peer(&rig, 0), FRAME_DATA, 0)->head, "\0\0\0\0\3abc", 8);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_handle_outlives_the_call_and_its_channel)
{
    begin(rig_answer_hello);
    rig_call_with(&rig, &call, LULL_NEVER, false);
    struct lull_call *handle = call.handle;
    lull_call_ref(handle);
    ck_assert_str_eq(lull_call_peer(handle), "");
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, 0);
    lull_channel_unref(rig.channel);
    rig.channel = NULL;
    rig_settle(&rig);
    ck_assert_str_eq(lull_call_peer(handle), RIG_TARGET);
    ck_assert_uint_eq(lull_call_id(handle), 1);
    lull_call_cancel(handle);
    lull_call_unref(handle);
    rig_fini(&rig);
}
END_TEST

START_TEST(ids_count_from_one)
{
    struct rig_call more[3] = {{0}};
    begin(rig_answer_hello);
    for (uint64_t i = 0; i < 3; i++) {
        rig_call_with(&rig, &more[i], LULL_NEVER, false);
        ck_assert_uint_eq(lull_call_id(more[i].handle), i + 1);
    }
    rig_settle(&rig);
    ck_assert_uint_eq(rig_counters(&rig).calls_closed, 3);
    rig_fini(&rig);
}
END_TEST

/* Calls count from their creation to the return of done: what idle mode will go by (RULINGS 4). */
static void expect_live(struct rig_call *done)
{
    ck_assert_uint_eq(lull_idle_calls(&done->rig->channel->idle), 1);
}

START_TEST(a_call_counts_from_creation_to_the_end_of_done)
{
    begin(rig_answer_hello);
    call.then = expect_live;
    rig_call_with(&rig, &call, LULL_NEVER, false);
    ck_assert_uint_eq(lull_idle_calls(&rig.channel->idle), 1);
    rig_settle(&rig);
    ck_assert_uint_eq(call.done, 1);
    ck_assert_uint_eq(lull_idle_calls(&rig.channel->idle), 0);
    rig_fini(&rig);
}
END_TEST

/* A response's message may be kept. */
static struct lull_slice kept;

static void keep_message(struct lull_call *handle, const struct lull_unary_result *result,
                         void *ctx)
{
    (void)handle;
    (void)ctx;
    kept = lull_slice_ref(result->message);
}

START_TEST(a_kept_message_outlives_everything)
{
    struct lull_call_options options;
    begin(rig_answer_hello);
    lull_call_options_init(&options, "/a/b");
    ck_assert_int_eq(lull_call_unary(rig.channel, &options, lull_slice_static("", 0), keep_message,
                                     NULL, NULL, NULL),
                     LULL_OK);
    rig_settle(&rig);
    lull_channel_unref(rig.channel);
    rig.channel = NULL;
    rig_settle(&rig);
    ck_assert_uint_eq(kept.len, 5);
    ck_assert_mem_eq(kept.data, "hello", 5);
    lull_slice_unref(kept);
    rig_fini(&rig);
}
END_TEST

/* Each allocation of a whole call fails in turn: a code or a status, one done, nothing left. */
START_TEST(no_memory_ends_in_a_code_or_a_status)
{
    bool was_ok = false;
    for (uint64_t i = 1; !was_ok; i++) {
        struct lull_call_options options;
        begin(rig_answer_hello);
        dones = 0;
        last_code = LULL_CODE_OK;
        lull_call_options_init(&options, "/a/b");
        options.timeout_ns = LULL_SECOND;
        rig.memory.fail_at = rig.memory.asked + i;
        int rc = lull_call_unary(rig.channel, &options, lull_slice_static("", 0), count_done, NULL,
                                 NULL, NULL);
        rig_settle(&rig);
        was_ok = rig.memory.asked < rig.memory.fail_at;
        rig.memory.fail_at = 0;
        rig_advance(&rig, 2 * LULL_SECOND);
        if (rc == LULL_OK) {
            ck_assert_msg(dones == 1, "allocation %llu: done %u times", (unsigned long long)i,
                          dones);
        } else {
            ck_assert_int_eq(rc, LULL_RC_NOMEM);
            ck_assert_uint_eq(dones, 0);
        }
        ck_assert(!was_ok || last_code == LULL_CODE_OK);
        ck_assert_uint_lt(i, 500);
        rig_fini(&rig);
    }
}
END_TEST

static Suite *call_suite(void)
{
    Suite *suite = suite_create("call");
    TCase *tcase = tcase_create("call");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_method_has_a_service_and_a_name_and_nothing_strange);
    tcase_add_test(tcase, arguments_that_cannot_be_are_refused_and_nothing_happens);
    tcase_add_test(tcase, a_call_without_a_handle_is_done_all_the_same);
    tcase_add_test(tcase, the_request_is_kept_by_reference_and_given_back);
    tcase_add_test(tcase, a_handle_outlives_the_call_and_its_channel);
    tcase_add_test(tcase, ids_count_from_one);
    tcase_add_test(tcase, a_call_counts_from_creation_to_the_end_of_done);
    tcase_add_test(tcase, a_kept_message_outlives_everything);
    tcase_add_test(tcase, no_memory_ends_in_a_code_or_a_status);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call", call_suite)
