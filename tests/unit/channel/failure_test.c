/* SPDX-License-Identifier: MIT */
/*
 * src/channel/failure.c: the one readable line.
 */
#include "channel/failure.h"
#include "channel/channel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/check_main.h"

#define A "127.0.0.1:2379"

static const int64_t no_times[LULL_PHASE_COUNT];

struct row {
    struct failure_facts facts;
    const char *line;
};

static const struct row rows[] = {
    {{.code = LULL_CODE_DEADLINE_EXCEEDED,
      .reason = LULL_REASON_DEADLINE,
      .phase = LULL_PHASE_WAITING,
      .is_unheard = true,
      .address = A,
      .what = "nobody drove",
      .elapsed_ns = LULL_SECOND},
     "DEADLINE_EXCEEDED after 1 s: nobody drove; the call was waiting for the response of " A},
    {{.code = LULL_CODE_DEADLINE_EXCEEDED,
      .reason = LULL_REASON_DEADLINE,
      .phase = LULL_PHASE_START,
      .is_unheard = true,
      .address = A,
      .what = "nobody drove",
      .elapsed_ns = LULL_SECOND},
     "DEADLINE_EXCEEDED after 1 s: nobody drove; that was before anything was done"},
    {{.code = LULL_CODE_DEADLINE_EXCEEDED,
      .reason = LULL_REASON_DEADLINE,
      .phase = LULL_PHASE_BACKOFF,
      .is_unheard = true,
      .address = A,
      .what = "nobody drove",
      .elapsed_ns = LULL_SECOND,
      .next_attempt_after_ns = LULL_NEVER},
     "DEADLINE_EXCEEDED after 1 s: nobody drove; there was no connection to " A},
    {{.code = LULL_CODE_DEADLINE_EXCEEDED,
      .reason = LULL_REASON_DEADLINE,
      .phase = LULL_PHASE_BACKOFF,
      .address = A,
      .last_attempt = "connection refused",
      .attempts = 2,
      .elapsed_ns = LULL_SECOND,
      .http2_error = -1,
      .next_attempt_after_ns = 1600 * LULL_MS},
     "DEADLINE_EXCEEDED after 1 s: no connection to " A
     " (attempt 2 failed: connection refused; next in 1.6 s)"},
    {{.code = LULL_CODE_DEADLINE_EXCEEDED,
      .phase = LULL_PHASE_BACKOFF,
      .address = A,
      .last_attempt = "no",
      .attempts = 1,
      .elapsed_ns = LULL_MS},
     "DEADLINE_EXCEEDED after 1 ms: no connection to " A " (attempt 1 failed: no; next now)"},
    {{.code = LULL_CODE_DEADLINE_EXCEEDED,
      .phase = LULL_PHASE_BACKOFF,
      .address = A,
      .elapsed_ns = LULL_MS,
      .next_attempt_after_ns = 799 * LULL_MS},
     "DEADLINE_EXCEEDED after 1 ms: no connection to " A " (next attempt in 799 ms)"},
    {{.code = LULL_CODE_CANCELLED,
      .reason = LULL_REASON_CANCELLED,
      .phase = LULL_PHASE_BACKOFF,
      .address = A,
      .what = "cancelled by the application",
      .last_attempt = "no",
      .attempts = 1,
      .next_attempt_after_ns = LULL_SECOND},
     "CANCELLED after 0 ns: cancelled by the application while there was no connection to " A
     " (attempt 1 failed: no; next in 1 s)"},
    {{.code = LULL_CODE_DEADLINE_EXCEEDED,
      .phase = LULL_PHASE_CONNECTING,
      .address = A,
      .attempts = 1,
      .is_attempting = true,
      .elapsed_ns = LULL_MS,
      .next_attempt_after_ns = LULL_NEVER},
     "DEADLINE_EXCEEDED after 1 ms: connecting to " A " (attempt 1 under way)"},
    {{.code = LULL_CODE_DEADLINE_EXCEEDED,
      .phase = LULL_PHASE_SETTINGS,
      .address = A,
      .attempts = 3,
      .is_attempting = true,
      .last_attempt = "no",
      .elapsed_ns = LULL_MS,
      .next_attempt_after_ns = LULL_NEVER},
     "DEADLINE_EXCEEDED after 1 ms: connected to " A
     ", waiting for its SETTINGS (attempt 3 under way; attempt 2 failed: no)"},
    {{.code = LULL_CODE_DEADLINE_EXCEEDED,
      .phase = LULL_PHASE_QUEUED,
      .address = A,
      .attempts = 0,
      .is_at_limit = true,
      .queued_before = 7,
      .elapsed_ns = LULL_MS,
      .next_attempt_after_ns = LULL_NEVER},
     "DEADLINE_EXCEEDED after 1 ms: queued for a stream to " A
     ": its MAX_CONCURRENT_STREAMS is used up, 7 calls before this one"},
    {{.code = LULL_CODE_DEADLINE_EXCEEDED,
      .phase = LULL_PHASE_QUEUED,
      .address = A,
      .is_at_limit = true,
      .queued_before = CHANNEL_QUEUE_COUNTED,
      .elapsed_ns = LULL_MS,
      .next_attempt_after_ns = LULL_NEVER},
     "DEADLINE_EXCEEDED after 1 ms: queued for a stream to " A
     ": its MAX_CONCURRENT_STREAMS is used up, at least 1000 calls before this one"},
    {{.code = LULL_CODE_DEADLINE_EXCEEDED,
      .phase = LULL_PHASE_QUEUED,
      .address = A,
      .elapsed_ns = LULL_MS,
      .next_attempt_after_ns = LULL_NEVER},
     "DEADLINE_EXCEEDED after 1 ms: about to be sent to " A},
    {{.code = LULL_CODE_DEADLINE_EXCEEDED,
      .phase = LULL_PHASE_QUEUED,
      .address = A,
      .is_blocked = true,
      .elapsed_ns = LULL_MS,
      .next_attempt_after_ns = LULL_NEVER},
     "DEADLINE_EXCEEDED after 1 ms: queued for " A
     ", which does not take what was written already"},
    {{.code = LULL_CODE_DEADLINE_EXCEEDED,
      .phase = LULL_PHASE_WAITING,
      .address = A,
      .bytes_read = 42,
      .elapsed_ns = LULL_MS,
      .next_attempt_after_ns = LULL_NEVER},
     "DEADLINE_EXCEEDED after 1 ms: waiting for the response of " A
     " (42 bytes read on its connection since the request was sent)"},
    {{.code = LULL_CODE_CANCELLED,
      .reason = LULL_REASON_CANCELLED,
      .phase = LULL_PHASE_SENDING,
      .address = A,
      .what = "cancelled by the application",
      .elapsed_ns = 5,
      .next_attempt_after_ns = LULL_NEVER},
     "CANCELLED after 5 ns: cancelled by the application while sending the request to " A},
    {{.code = LULL_CODE_UNAVAILABLE,
      .reason = LULL_REASON_CHANNEL_CLOSED,
      .phase = LULL_PHASE_START,
      .what = "channel closed",
      .elapsed_ns = 0,
      .next_attempt_after_ns = LULL_NEVER},
     "UNAVAILABLE after 0 ns: channel closed before anything was done"},
    {{.code = LULL_CODE_INTERNAL,
      .reason = LULL_REASON_PROTOCOL,
      .phase = LULL_PHASE_READING,
      .address = A,
      .what = "the server sent headers twice",
      .elapsed_ns = LULL_MS,
      .next_attempt_after_ns = LULL_NEVER},
     "INTERNAL after 1 ms: " A ": the server sent headers twice"},
    {{.code = LULL_CODE_UNAVAILABLE,
      .reason = LULL_REASON_TRANSPORT,
      .phase = LULL_PHASE_WAITING,
      .address = A,
      .what = "the peer closed the connection",
      .elapsed_ns = LULL_MS,
      .next_attempt_after_ns = LULL_NEVER},
     "UNAVAILABLE after 1 ms: " A ": the peer closed the connection"},
    {{.code = LULL_CODE_UNAVAILABLE,
      .reason = LULL_REASON_HTTP,
      .phase = LULL_PHASE_READING,
      .address = A,
      .what = "HTTP status 502 without a content-type",
      .next_attempt_after_ns = LULL_NEVER},
     "UNAVAILABLE after 0 ns: " A ": HTTP status 502 without a content-type"},
    {{.code = LULL_CODE_UNAVAILABLE,
      .reason = LULL_REASON_GOAWAY,
      .phase = LULL_PHASE_WAITING,
      .address = A,
      .what = "GOAWAY(NO_ERROR) from " A,
      .next_attempt_after_ns = LULL_NEVER},
     "UNAVAILABLE after 0 ns: GOAWAY(NO_ERROR) from " A},
    {{.code = LULL_CODE_RESOURCE_EXHAUSTED,
      .reason = LULL_REASON_INTERNAL,
      .phase = LULL_PHASE_SENDING,
      .address = A,
      .what = "no memory to send a message",
      .next_attempt_after_ns = LULL_NEVER},
     "RESOURCE_EXHAUSTED after 0 ns: no memory to send a message"},
};

START_TEST(the_line_says_where_and_why)
{
    struct failure failure;
    struct failure_facts facts = rows[_i].facts;
    facts.phase_ns = no_times;
    failure_write(&failure, &facts);
    ck_assert_str_eq(failure.line, rows[_i].line);
    ck_assert_ptr_eq(failure.record.line, failure.line);
    ck_assert_uint_eq(failure.record.size, sizeof(struct lull_failure));
    ck_assert_str_eq(failure.record.address, facts.address != NULL ? facts.address : "");
    ck_assert_int_eq(failure.record.phase, facts.phase);
    ck_assert_int_eq(failure.record.reason, facts.reason);
    ck_assert_uint_eq(failure.record.attempts, facts.attempts);
    ck_assert_uint_eq(failure.record.bytes_read, facts.bytes_read);
    ck_assert_int_eq(failure.record.next_attempt_after_ns, facts.next_attempt_after_ns);
    /* The message is the line from its cause on. */
    ck_assert_ptr_nonnull(strstr(failure.line, failure.message));
}
END_TEST

START_TEST(more_than_one_phase_is_broken_down)
{
    struct failure failure;
    int64_t phase_ns[LULL_PHASE_COUNT] = {
        [LULL_PHASE_CONNECTING] = 400 * LULL_MS, [LULL_PHASE_WAITING] = LULL_MS};
    struct failure_facts facts = {.code = LULL_CODE_INTERNAL,
                                  .what = "broken",
                                  .elapsed_ns = 401 * LULL_MS,
                                  .phase_ns = phase_ns};
    failure_write(&failure, &facts);
    ck_assert_str_eq(failure.line,
                     "INTERNAL after 401 ms: broken [connecting 400 ms, waiting 1 ms]");
    ck_assert_str_eq(failure.message, "broken");
    ck_assert_int_eq(failure.record.phase_ns[LULL_PHASE_WAITING], LULL_MS);
    /* A thousandth of the whole is not worth a word; the record has it. */
    phase_ns[LULL_PHASE_WAITING] = 400 * LULL_US;
    failure_write(&failure, &facts);
    ck_assert_str_eq(failure.line, "INTERNAL after 401 ms: broken");
    ck_assert_int_eq(failure.record.phase_ns[LULL_PHASE_WAITING], 400 * LULL_US);
}
END_TEST

START_TEST(a_servers_status_is_quoted_with_its_address)
{
    struct failure failure;
    struct failure_facts facts = {.code = LULL_CODE_NOT_FOUND,
                                  .reason = LULL_REASON_SERVER,
                                  .phase = LULL_PHASE_DONE,
                                  .address = A,
                                  .elapsed_ns = LULL_MS,
                                  .phase_ns = no_times};
    failure_write_server(&failure, &facts, "no such key");
    ck_assert_str_eq(failure.line, "NOT_FOUND after 1 ms: status from " A ": no such key");
    failure_write_server(&failure, &facts, "");
    ck_assert_str_eq(failure.line, "NOT_FOUND after 1 ms: status from " A);
}
END_TEST

START_TEST(texts_that_are_too_long_are_cut)
{
    struct failure failure;
    char what[4096];
    memset(what, 'x', sizeof(what) - 1);
    what[sizeof(what) - 1] = '\0';
    struct failure_facts facts = {.code = LULL_CODE_INTERNAL, .what = what, .phase_ns = no_times};
    failure_write(&failure, &facts);
    ck_assert_uint_eq(strlen(failure.message), sizeof(failure.message) - 1);
    ck_assert_str_eq(failure.message + sizeof(failure.message) - 4, "...");
    failure_write_server(&failure, &facts, what);
    ck_assert_uint_lt(strlen(failure.line), sizeof(failure.line));
}
END_TEST

START_TEST(what_failed_with_the_attempt_is_in_the_record_and_where_the_call_was_in_the_line)
{
    static const struct {
        enum lull_reason reason;
        enum lull_phase phase;
        const char *address;
    } cases[] = {
        {LULL_REASON_CONNECT, LULL_PHASE_SETTINGS, "[::1]:80"},
        {LULL_REASON_TLS, LULL_PHASE_SETTINGS, "[::1]:80"},
        {LULL_REASON_DEADLINE, LULL_PHASE_BACKOFF, A},
        {LULL_REASON_CANCELLED, LULL_PHASE_BACKOFF, A},
        {LULL_REASON_RESOLVE, LULL_PHASE_BACKOFF, A},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct failure failure;
        struct failure_facts facts = {.code = LULL_CODE_UNAVAILABLE,
                                      .reason = cases[i].reason,
                                      .phase = LULL_PHASE_BACKOFF,
                                      .broke_in = LULL_PHASE_SETTINGS,
                                      .address = A,
                                      .broke_at = "[::1]:80",
                                      .attempts = 1,
                                      .phase_ns = no_times,
                                      .next_attempt_after_ns = LULL_NEVER};
        failure_write(&failure, &facts);
        ck_assert_int_eq(failure.record.phase, cases[i].phase);
        ck_assert_str_eq(failure.record.address, cases[i].address);
        ck_assert_str_eq(failure.line, "UNAVAILABLE after 0 ns: no connection to " A " (attempt 1 failed)");
    }
}
END_TEST

START_TEST(a_servers_text_does_not_leave_its_line)
{
    struct failure failure;
    struct failure_facts facts = {
        .code = LULL_CODE_ABORTED, .address = A, .phase_ns = no_times, .next_attempt_after_ns = LULL_NEVER};
    failure_write_server(&failure, &facts, "no\nDec 1 sshd[1]: Accepted\x1b[2J");
    ck_assert_str_eq(failure.line,
                     "ABORTED after 0 ns: status from " A ": no\\x0aDec 1 sshd[1]: Accepted\\x1b[2J");
}
END_TEST

START_TEST(the_method_is_named_and_cut_when_it_is_long)
{
    struct failure failure;
    char method[300];
    char expected[400];
    struct failure_facts facts = {.code = LULL_CODE_UNAVAILABLE,
                                  .method = "/etcdserverpb.KV/Range",
                                  .reason = LULL_REASON_CONNECT,
                                  .phase = LULL_PHASE_BACKOFF,
                                  .address = A,
                                  .last_attempt = "connection refused",
                                  .attempts = 1,
                                  .elapsed_ns = LULL_MS,
                                  .phase_ns = no_times,
                                  .next_attempt_after_ns = LULL_SECOND};
    failure_write(&failure, &facts);
    ck_assert_str_eq(failure.line,
                     "UNAVAILABLE after 1 ms in /etcdserverpb.KV/Range: no connection to " A
                     " (attempt 1 failed: connection refused; next in 1 s)");
    ck_assert_str_eq(failure.message,
                     "no connection to " A " (attempt 1 failed: connection refused; next in 1 s)");
    failure_write_server(&failure, &facts, "no such key");
    ck_assert_str_eq(failure.line,
                     "UNAVAILABLE after 1 ms in /etcdserverpb.KV/Range: status from " A
                     ": no such key");
    memset(method, 'm', sizeof(method) - 1);
    method[sizeof(method) - 1] = '\0';
    facts.method = method;
    failure_write_server(&failure, &facts, "");
    snprintf(expected, sizeof(expected), "UNAVAILABLE after 1 ms in %.200s...: status from " A,
             method);
    ck_assert_str_eq(failure.line, expected);
}
END_TEST

static Suite *failure_suite(void)
{
    Suite *suite = suite_create("failure");
    TCase *tcase = tcase_create("failure");
    tcase_add_loop_test(tcase, the_line_says_where_and_why, 0,
                        (int)(sizeof(rows) / sizeof(rows[0])));
    tcase_add_test(tcase, more_than_one_phase_is_broken_down);
    tcase_add_test(tcase, a_servers_status_is_quoted_with_its_address);
    tcase_add_test(tcase, texts_that_are_too_long_are_cut);
    tcase_add_test(tcase, what_failed_with_the_attempt_is_in_the_record_and_where_the_call_was_in_the_line);
    tcase_add_test(tcase, the_method_is_named_and_cut_when_it_is_long);
    tcase_add_test(tcase, a_servers_text_does_not_leave_its_line);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("failure", failure_suite)
