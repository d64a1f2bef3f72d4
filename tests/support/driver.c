/* SPDX-License-Identifier: MIT */
#include "tests/support/driver.h"

#include <check.h>
#include <poll.h>

#include "lull/sync.h"

static void open_nowhere(struct driver *driver)
{
    struct lull_channel_options options;
    lull_channel_options_init(&options);
    options.loop = driver->loop;
    ck_assert_int_eq(lull_channel_new("unix-abstract:lull-tests-nobody", &options, &driver->nowhere, NULL), LULL_OK);
}

void driver_open(struct driver *driver, enum driver_kind kind, unsigned ways, unsigned refuse_every, uint64_t seed)
{
    driver->kind = kind;
    driver->fd = -1;
    driver->nowhere = NULL;
    if (kind == DRIVER_HOST) {
        poll_host_init(&driver->host, ways, refuse_every, seed);
        driver->loop = &driver->host.loop;
        return;
    }
    ck_assert_int_eq(lull_loop_new(NULL, &driver->loop), LULL_OK);
    if (kind == DRIVER_NESTED) {
        driver->fd = lull_loop_fd(driver->loop);
        ck_assert_int_ge(driver->fd, 0);
    }
    if (kind == DRIVER_BLOCKED) {
        open_nowhere(driver);
    }
}

void driver_close(struct driver *driver)
{
    if (driver->kind == DRIVER_HOST) {
        poll_host_fini(&driver->host);
    } else {
        lull_channel_unref(driver->nowhere);
        lull_loop_free(driver->loop);
    }
}

static void nested_round(struct driver *driver, int64_t wait_ns)
{
    struct pollfd polled = {.fd = driver->fd, .events = POLLIN};
    const int ready = poll(&polled, 1, (int)((wait_ns + LULL_MS - 1) / LULL_MS));
    ck_assert_int_ge(ready, 0);
    if (ready > 0) {
        ck_assert_int_eq(lull_loop_dispatch(driver->loop), LULL_OK);
    }
}

/* The call waits for a server, and drives, until its deadline. */
static void blocked_round(struct driver *driver, int64_t wait_ns)
{
    struct lull_call_options options;
    struct lull_sync_result result;
    lull_call_options_init(&options, "/nobody/Home");
    options.timeout_ns = wait_ns;
    options.wait_for_ready = true;
    lull_sync_result_init(&result);
    ck_assert_int_eq(lull_sync_unary(driver->nowhere, &options, lull_slice_static(NULL, 0), &result, NULL), LULL_OK);
    ck_assert_int_eq(result.status.code, LULL_CODE_DEADLINE_EXCEEDED);
    lull_sync_result_fini(&result);
}

void driver_round(struct driver *driver, int64_t wait_ns)
{
    switch (driver->kind) {
    case DRIVER_NESTED:
        nested_round(driver, wait_ns);
        break;
    case DRIVER_HOST:
        poll_host_round(&driver->host, wait_ns);
        break;
    case DRIVER_BLOCKED:
        blocked_round(driver, wait_ns);
        break;
    default:
        ck_assert_int_eq(lull_loop_run_once(driver->loop, wait_ns), LULL_OK);
        break;
    }
}

bool driver_has_bitten(const struct driver *driver)
{
    return driver->kind == DRIVER_HOST && driver->host.alarm.bites > 0;
}
