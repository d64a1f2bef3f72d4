/* SPDX-License-Identifier: MIT */
/*
 * etcd's long streams: a Watch that lives through half a minute of silence, and Lease KeepAlive.
 *
 * Decides: what is asked of etcd and what has to come back. etcd_streams_test.sh starts the etcd and runs it. A program of somebody else:
 * public headers and the shared library, no internal name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/peers/client.h"
#include "tests/support/check_main.h"
#include "tests/support/etcd_wire.h"

static struct client watcher; /* nothing but the stream is on its connection */
static struct client writer;

static void set_up(void)
{
    client_begin(&watcher, NULL);
    client_begin(&writer, &watcher);
    watcher.options.keepalive_time_ns = 10 * LULL_SECOND; /* etcd bears 5 s */
    watcher.options.keepalive_timeout_ns = 5 * LULL_SECOND;
    client_open(&watcher, "PEER_TARGET");
    client_open(&writer, "PEER_TARGET");
}

static void tear_down(void)
{
    client_close(&writer);
    client_close(&watcher);
}

/* ---- what is asked */

static void ask(const struct client *client, const char *method, const struct etcd_message *request,
                struct answer *answer)
{
    ck_assert(!request->is_cut);
    client_ask(client, method, request->bytes, request->len, answer);
    ck_assert_msg(answer->code == LULL_CODE_OK, "%s", (char *)answer->bytes);
}

/* The revision that the put made. */
static int64_t put(const char *key, const char *value)
{
    struct etcd_message request;
    struct answer answer;
    int64_t revision;
    etcd_write_put(&request, key, value);
    ask(&writer, "/etcdserverpb.KV/Put", &request, &answer);
    ck_assert(etcd_read_revision(answer.bytes, answer.len, &revision));
    return revision;
}

/* The connection of this client works. */
static void expect_range(const struct client *client, const char *key)
{
    struct etcd_message request;
    struct answer answer;
    int64_t revision;
    etcd_write_range(&request, key);
    ask(client, "/etcdserverpb.KV/Range", &request, &answer);
    ck_assert(etcd_read_revision(answer.bytes, answer.len, &revision));
}

static void say(struct stream *stream, const struct etcd_message *message)
{
    struct lull_slice slice;
    ck_assert(!message->is_cut);
    ck_assert_int_eq(lull_slice_copy(NULL, message->bytes, message->len, &slice), LULL_OK);
    ck_assert_int_eq(lull_call_send(stream->call, slice), LULL_OK);
    lull_slice_unref(slice);
}

/* ---- Watch */

struct watch {
    struct stream stream;
    struct etcd_watch_response last;
    unsigned unreadable;
};

static void on_watch_response(struct stream *stream, struct lull_slice message)
{
    struct watch *watch = stream->ctx;
    watch->unreadable += !etcd_read_watch_response(message.data, message.len, &watch->last);
}

static void watch_start(struct watch *watch, const char *key)
{
    struct etcd_message request;
    memset(watch, 0, sizeof(*watch));
    watch->stream.ctx = watch;
    watch->stream.on_message = on_watch_response;
    stream_start(&watch->stream, &watcher, "/etcdserverpb.Watch/Watch", LULL_NEVER);
    etcd_write_watch_create(&request, key);
    say(&watch->stream, &request);
    client_drive_until(&watcher, &watch->stream.messages, 1);
    ck_assert_uint_eq(watch->unreadable, 0);
    ck_assert(watch->last.is_created && !watch->last.is_canceled);
    ck_assert_uint_eq(watch->last.events, 0);
}

/* One put, and the one event about it. */
static void put_is_seen(struct watch *watch, const char *key, const char *value, int64_t version)
{
    unsigned before = watch->stream.messages;
    int64_t revision = put(key, value);
    client_drive_until(&watcher, &watch->stream.messages, before + 1);
    const struct etcd_watch_response *seen = &watch->last;
    ck_assert_uint_eq(watch->unreadable, 0);
    ck_assert(!seen->is_created && !seen->is_canceled);
    ck_assert_uint_eq(seen->events, 1);
    ck_assert_uint_eq(seen->puts, 1);
    ck_assert_str_eq(seen->kv[0].key, key);
    ck_assert_str_eq(seen->kv[0].value, value);
    ck_assert_int_eq(seen->kv[0].mod_revision, revision);
    ck_assert_int_eq(seen->kv[0].version, version);
    ck_assert_int_eq(seen->revision, revision);
    ck_assert_uint_eq(watch->stream.messages, before + 1);
}

static void watch_cancel(struct watch *watch)
{
    struct etcd_message request;
    unsigned before = watch->stream.messages;
    etcd_write_watch_cancel(&request, watch->last.watch_id);
    say(&watch->stream, &request);
    client_drive_until(&watcher, &watch->stream.messages, before + 1);
    ck_assert_uint_eq(watch->unreadable, 0);
    ck_assert(watch->last.is_canceled);
    ck_assert_uint_eq(watch->last.events, 0);
}

START_TEST(a_watch_sees_three_puts_and_lives_through_half_a_minute_of_silence)
{
    struct watch watch;
    watch_start(&watch, "lull/watched");
    put_is_seen(&watch, "lull/watched", "one", 1);
    put("lull/other", "not this");
    put_is_seen(&watch, "lull/watched", "two", 2);

    unsigned messages = watch.stream.messages;
    client_drive_for(&watcher, 31 * LULL_SECOND);
    ck_assert_uint_eq(watch.stream.messages, messages);
    ck_assert_uint_eq(watch.stream.closed, 0);
    struct lull_channel_stats stats = client_stats(&watcher);
    ck_assert_uint_eq(stats.pings_sent, 3); /* after 10, 20 and 30 s */
    ck_assert_uint_eq(stats.pings_acked, 3);
    put_is_seen(&watch, "lull/watched", "three", 3);

    watch_cancel(&watch);
    ck_assert_int_eq(lull_call_half_close(watch.stream.call), LULL_OK);
    lull_call_cancel(
        watch.stream
            .call); /* etcd 3.4 keeps a half-closed Watch open; its own client ends it so, too */
    stream_end(&watch.stream, &watcher, LULL_CODE_CANCELLED);
    /* Not struck for its pings: one connection, the time as it was. */
    stats = client_stats(&watcher);
    ck_assert_int_eq(stats.keepalive_time_ns, 10 * LULL_SECOND);
    ck_assert_uint_eq(stats.connections_lost, 0);
    ck_assert_uint_eq(watcher.warnings, 0);
    expect_range(&watcher, "lull/watched");
    ck_assert_uint_eq(watcher.dials, 1);
}
END_TEST

START_TEST(a_call_cancelled_with_a_watch_on_it_leaves_the_connection_alone)
{
    struct watch watch;
    watch_start(&watch, "lull/cancelled");
    put_is_seen(&watch, "lull/cancelled", "once", 1);
    lull_call_cancel(watch.stream.call);
    stream_end(&watch.stream, &watcher, LULL_CODE_CANCELLED);
    expect_range(&watcher, "lull/cancelled");
    ck_assert_uint_eq(watcher.dials, 1);
}
END_TEST

/* ---- leases */

struct lease {
    struct stream stream;
    struct etcd_lease last;
    unsigned unreadable;
};

static void on_lease_response(struct stream *stream, struct lull_slice message)
{
    struct lease *lease = stream->ctx;
    lease->unreadable += !etcd_read_lease(message.data, message.len, &lease->last);
}

static struct etcd_lease grant(int64_t ttl)
{
    struct etcd_message request;
    struct etcd_lease granted;
    struct answer answer;
    etcd_write_lease_grant(&request, ttl);
    ask(&writer, "/etcdserverpb.Lease/LeaseGrant", &request, &answer);
    ck_assert(etcd_read_lease(answer.bytes, answer.len, &granted));
    ck_assert_int_ne(granted.id, 0);
    return granted;
}

static void keep(struct lease *lease, int64_t id, int64_t ttl)
{
    struct etcd_message request;
    unsigned before = lease->stream.messages;
    etcd_write_lease_keepalive(&request, id);
    say(&lease->stream, &request);
    client_drive_until(&watcher, &lease->stream.messages, before + 1);
    ck_assert_uint_eq(lease->unreadable, 0);
    ck_assert_int_eq(lease->last.id, id);
    ck_assert_int_eq(lease->last.ttl, ttl);
}

START_TEST(a_lease_lives_as_long_as_its_keepalives_are_answered)
{
    struct lease lease;
    struct etcd_lease granted = grant(2);
    memset(&lease, 0, sizeof(lease));
    lease.stream.ctx = &lease;
    lease.stream.on_message = on_lease_response;
    stream_start(&lease.stream, &watcher, "/etcdserverpb.Lease/LeaseKeepAlive", LULL_NEVER);
    for (unsigned i = 0; i < 6; i++) { /* for longer than it would live alone */
        keep(&lease, granted.id, granted.ttl);
        client_drive_for(&watcher, 700 * LULL_MS);
    }
    keep(&lease, granted.id, granted.ttl);
    keep(&lease, granted.id + 1, 0); /* one that there is not */
    ck_assert_int_eq(lull_call_half_close(lease.stream.call), LULL_OK);
    stream_end(&lease.stream, &watcher, LULL_CODE_OK);
    ck_assert_uint_eq(lease.stream.messages, 8);
    expect_range(&watcher, "lull/leased");
    ck_assert_uint_eq(watcher.dials, 1);
}
END_TEST

static Suite *etcd_streams_suite(void)
{
    Suite *suite = suite_create("etcd streams");
    TCase *t = tcase_create("Watch and Lease");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_watch_sees_three_puts_and_lives_through_half_a_minute_of_silence);
    tcase_add_test(t, a_call_cancelled_with_a_watch_on_it_leaves_the_connection_alone);
    tcase_add_test(t, a_lease_lives_as_long_as_its_keepalives_are_answered);
    suite_add_tcase(suite, t);
    return suite;
}

LULL_TEST_MAIN("etcd_streams", etcd_streams_suite)
