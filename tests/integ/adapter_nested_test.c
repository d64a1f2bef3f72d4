/* SPDX-License-Identifier: MIT */
/* The scenarios of adapter_support.h on the built-in loop, nested: lull_loop_fd in a poll, and lull_loop_dispatch. */
#include <poll.h>

#include "tests/integ/adapter_builtin.h"
#include "tests/support/check_main.h"

static void run_round(int64_t timeout_ns)
{
    struct pollfd polled[LOOPS_MOST];
    const size_t listed = count;

    (void)call_own();
    for (size_t i = 0; i < count; i++) {
        polled[i] = (struct pollfd){.fd = lull_loop_fd(loops[i]), .events = POLLIN};
    }
    if (listed != count || poll(polled, (nfds_t)count, (int)((timeout_ns + LULL_MS - 1) / LULL_MS)) < 0) {
        return;
    }
    for (size_t i = 0; i < listed; i++) {
        if (polled[i].revents != 0) {
            const int rc = lull_loop_dispatch(loops[i]);

            ck_assert(rc == LULL_OK || (rc == LULL_RC_IN_TURN && lull_executor_in_context(lull_loop_executor(loops[i]))));
        }
    }
    drop_given_up();
}

static void nest(bool (*holds)(void))
{
    run_until(holds);
}

static const struct adapter own = {
    .name = "adapter_nested",
    .open = open_host,
    .close = close_host,
    .make = make,
    .drop = drop,
    .round = run_round,
    .call_back = call_back,
    .nest = nest,
    .rounds_before_turn = 2,
    .sleeps_before_turn = 1, /* a host's poll hears of it by the descriptor: an eventfd was written */
    .is_own = true,
};

static Suite *adapter_nested_suite(void)
{
    return adapter_suite(&own);
}

LULL_TEST_MAIN("adapter_nested", adapter_nested_suite)
