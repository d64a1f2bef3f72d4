/* SPDX-License-Identifier: MIT */
/*
 * A whole client in a simulated world: one seed, one run. Random connect times, chunk sizes, reply times, deadlines and cancels; every
 * call ends exactly once, with a status that the times allow; and the same seed gives the same bytes at the same instants.
 */
#include "lull/call.h"
#include "lull/channel.h"
#include "testkit/peer.h"
#include "testkit/sim.h"
#include "tests/support/check_main.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CALLS 60
#define SEEDS 25

struct told {
    struct sim *sim;
    unsigned number;
    unsigned times;
    int64_t started_ns;
    int64_t ended_ns;
    int64_t timeout_ns;
    enum lull_code code;
    bool cancelled;
    struct lull_call *call;
};

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct told *told = (struct told *)ctx;

    (void)call;
    told->times++;
    told->code = result->status.code;
    told->ended_ns = sim_elapsed_ns(told->sim);
    tape_line(&told->sim->tape, told->sim->clock.mono_at, "app", "call %u ended %d, %zu bytes", told->number,
              (int)result->status.code, result->message.len);
    if (told->code == LULL_CODE_OK) {
        ck_assert_uint_eq(result->message.len, 2);
        ck_assert_mem_eq(result->message.data, "\x08\x01", 2);
        ck_assert_ptr_null(result->status.failure);
    } else {
        ck_assert_ptr_nonnull(result->status.failure);
        ck_assert_int_gt((int)strlen(result->status.failure->line), 10);
    }
}

static void start(struct told *told, struct lull_channel *channel)
{
    struct lull_call_options options;
    int rc;

    lull_call_options_init(&options, "/sim.Service/Method");
    options.timeout_ns = told->timeout_ns;
    told->started_ns = sim_elapsed_ns(told->sim);
    rc = lull_call_unary(channel, &options, lull_slice_static("\x01\x02\x03", 3), on_done, told, &told->call, NULL);
    ck_assert_int_eq(rc, LULL_OK);
}

/* What the times allow: the peer replies within [reply_after, reply_after + jitter) of a request that is whole. */
static void judge(const struct told *told, const struct peer *peer)
{
    int64_t took_ns = told->ended_ns - told->started_ns;

    ck_assert_uint_eq(told->times, 1);
    if (told->code == LULL_CODE_DEADLINE_EXCEEDED) {
        ck_assert_int_eq(took_ns, told->timeout_ns);
    } else if (told->code == LULL_CODE_CANCELLED) {
        ck_assert(told->cancelled);
    } else {
        ck_assert_int_eq(told->code, LULL_CODE_OK);
        ck_assert_int_ge(took_ns, peer->reply_after_ns);
        ck_assert(took_ns <= told->timeout_ns);
    }
}

struct totals {
    unsigned ok, late, cancelled;
};

/* Lives one seeded life and leaves its tape. */
static void live(uint64_t seed, struct tape *tape, struct totals *totals)
{
    struct sim sim;
    struct peer peer;
    struct sim_host *host;
    struct lull_channel_options options;
    struct lull_channel *channel;
    static struct told told[CALLS];

    memset(told, 0, sizeof(told));
    ck_assert_int_eq(sim_init(&sim, seed), LULL_OK);
    peer_init(&peer, &sim, "server");
    peer.reply_after_ns = (int64_t)sim_below(&sim, 20) * LULL_MS;
    peer.reply_jitter_ns = 40 * LULL_MS;
    host = sim_host_add(&sim, "10.0.0.1:80", peer_accept, &peer);
    host->connect_after_ns = (int64_t)sim_below(&sim, 50) * LULL_MS;
    host->pipe.read_chunk_bytes = sim_below(&sim, 40);
    host->pipe.write_chunk_bytes = sim_below(&sim, 40);
    sim_channel_options(&sim, &options);
    ck_assert_int_eq(lull_channel_new("10.0.0.1:80", &options, &channel, NULL), LULL_OK);

    for (unsigned i = 0; i < CALLS; i++) {
        told[i].sim = &sim;
        told[i].number = i;
        told[i].timeout_ns = (int64_t)(1 + sim_below(&sim, 80)) * LULL_MS;
        start(&told[i], channel);
        sim_advance(&sim, (int64_t)sim_below(&sim, 6) * LULL_MS);
        if (sim_below(&sim, 8) == 0 && told[i].times == 0) {
            told[i].cancelled = true;
            lull_call_cancel(told[i].call);
        }
    }
    sim_advance(&sim, LULL_SECOND);
    for (unsigned i = 0; i < CALLS; i++) {
        judge(&told[i], &peer);
        totals->ok += told[i].code == LULL_CODE_OK;
        totals->late += told[i].code == LULL_CODE_DEADLINE_EXCEEDED;
        totals->cancelled += told[i].code == LULL_CODE_CANCELLED;
        lull_call_unref(told[i].call);
    }
    lull_channel_unref(channel);
    sim_advance(&sim, LULL_SECOND);
    peer_fini(&peer);
    ck_assert_uint_eq(peer_open_connections(&peer), 0);
    *tape = sim.tape;
    tape_init(&sim.tape);
    sim_fini(&sim);
}

START_TEST(same_seed_gives_the_same_bytes_at_the_same_instants)
{
    struct totals totals = {0, 0, 0};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct tape first;
        struct tape second;

        live(seed, &first, &totals);
        live(seed, &second, &totals);
        ck_assert_msg(tape_same(&first, &second), "seed %" PRIu64 " does not repeat itself", seed);
        tape_fini(&first);
        tape_fini(&second);
    }
    /* The mix means something only if every kind of end occurs. */
    ck_assert_uint_gt(totals.ok, 100);
    ck_assert_uint_gt(totals.late, 100);
    ck_assert_uint_gt(totals.cancelled, 20);
    ck_assert_uint_eq(totals.ok + totals.late + totals.cancelled, 2 * SEEDS * CALLS);
}
END_TEST

START_TEST(another_seed_gives_another_life)
{
    struct totals totals = {0, 0, 0};
    struct tape first;
    struct tape second;

    live(1, &first, &totals);
    live(2, &second, &totals);
    ck_assert(!tape_same(&first, &second));
    tape_fini(&first);
    tape_fini(&second);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sim/seed");
    TCase *t = tcase_create("seed");

    tcase_set_timeout(t, 120);
    tcase_add_test(t, same_seed_gives_the_same_bytes_at_the_same_instants);
    tcase_add_test(t, another_seed_gives_another_life);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("sim/seed", suite)
