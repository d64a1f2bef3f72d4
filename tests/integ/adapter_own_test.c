/* SPDX-License-Identifier: MIT */
/* The scenarios of adapter_support.h on the built-in loop, run by lull_loop_run_once. */
#include "tests/integ/adapter_builtin.h"
#include "tests/support/check_main.h"

/* Several in turn, for none of them may sleep for the others. */
static void run_round(int64_t timeout_ns)
{
    (void)call_own();
    for (size_t i = 0; i < count; i++) {
        const int rc = lull_loop_run_once(loops[i], count == 1 || timeout_ns == 0 ? timeout_ns : LULL_MS);

        ck_assert(rc == LULL_OK || (rc == LULL_RC_IN_TURN && lull_executor_in_context(lull_loop_executor(loops[i]))));
    }
    drop_given_up();
}

static void nest(bool (*holds)(void))
{
    run_until(holds);
}

static const struct adapter own = {
    .name = "adapter_own",
    .open = open_host,
    .close = close_host,
    .make = make,
    .drop = drop,
    .round = run_round,
    .call_back = call_back,
    .nest = nest,
    .rounds_before_turn = 1, /* it looks before it runs a turn */
    .is_own = true,
};

static Suite *adapter_own_suite(void)
{
    return adapter_suite(&own);
}

LULL_TEST_MAIN("adapter_own", adapter_own_suite)
