/* SPDX-License-Identifier: MIT */
/*
 * The family "idle": a channel's idle timer pushed lazily, as lull does it, against one that is cancelled at the start of every
 * call and armed at its end. End to end: one unary call at a time against bench/ngserver.
 *
 * The channel's own idle timeout is off; the managers are here, on the public parts (lull/idle.h, lull/rescheduler.h), and drive the same
 * calls in turns of SLICE calls, so that whatever the machine does meets all of them. "lazy" is what src/channel/channel_idle.c
 * does. "eager" moves a timer in lull's own queue, where that costs some nanoseconds; "eager-timerfd" and "eager-libuv" do it where it
 * costs more.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef IDLE_TIMERFD
#include <sys/timerfd.h>
#include <unistd.h>
#endif
#ifdef IDLE_LIBUV
#include <uv.h>
#endif

#include "lull/lull.h"
#include "micro.h"

#define SLICE       100u
#define SAMPLES_MAX ((size_t)1 << 19)
#define IDLE_NS     (1800 * LULL_SECOND)

struct manager {
    const char *variant;
    void (*on_started)(void);
    void (*on_ended)(struct lull_instant now);
    uint32_t *samples_ns;
    size_t count;
    int64_t wall_ns;
    int64_t cpu_ns;
};

static struct lull_loop *loop;
static struct lull_executor *executor;
static struct lull_channel *channel;

/* ---- the managers */

static struct lull_idle idle;
static struct lull_rescheduler idle_wake;

static void on_idle(struct lull_rescheduler *r, struct lull_instant now)
{
    (void)r;
    (void)now;
}

static void lazy_started(void)
{
    (void)lull_idle_on_call_started(&idle);
}

static void lazy_ended(struct lull_instant now)
{
    lull_rescheduler_set(&idle_wake, lull_idle_on_call_ended(&idle, now).next_at);
}

static struct lull_timer idle_timer;

static void on_idle_timer(struct lull_timer *timer, struct lull_instant now)
{
    (void)timer;
    (void)now;
}

static void eager_started(void)
{
    lull_timer_disarm(&idle_timer);
}

static void eager_ended(struct lull_instant now)
{
    lull_timer_arm(&idle_timer, lull_instant_add(now, IDLE_NS));
}

#ifdef IDLE_TIMERFD

static int timer_fd;

static void set_fd(time_t after_s)
{
    const struct itimerspec spec = {.it_value = {.tv_sec = after_s}};
    MICRO_MUST(timerfd_settime(timer_fd, 0, &spec, NULL) == 0);
}

static void timerfd_started(void)
{
    set_fd(0);
}

static void timerfd_ended(struct lull_instant now)
{
    (void)now;
    set_fd(IDLE_NS / LULL_SECOND);
}

#endif

#ifdef IDLE_LIBUV

static uv_loop_t uv_loop;
static uv_timer_t uv_timer;

static void on_uv_timer(uv_timer_t *timer)
{
    (void)timer;
}

static void libuv_started(void)
{
    uv_timer_stop(&uv_timer);
}

static void libuv_ended(struct lull_instant now)
{
    (void)now;
    uv_timer_start(&uv_timer, on_uv_timer, IDLE_NS / 1000000, 0);
}

#endif

static struct manager managers[] = {
    {.variant = "lull", .on_started = lazy_started, .on_ended = lazy_ended},
    {.variant = "eager", .on_started = eager_started, .on_ended = eager_ended},
#ifdef IDLE_TIMERFD
    {.variant = "eager-timerfd", .on_started = timerfd_started, .on_ended = timerfd_ended},
#endif
#ifdef IDLE_LIBUV
    {.variant = "eager-libuv", .on_started = libuv_started, .on_ended = libuv_ended},
#endif
};

#define MANAGERS (sizeof(managers) / sizeof(managers[0]))

/* ---- calls */

static struct {
    struct manager *manager;
    unsigned left; /* of the slice */
    int64_t from_ns;
    bool is_warm;
} slice;

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx);

static void start_call(void)
{
    static const char request[64];
    struct lull_call_options options;
    lull_call_options_init(&options, "/bench/Unary");
    options.timeout_ns = 10 * LULL_SECOND;
    slice.from_ns = micro_now_ns();
    slice.manager->on_started();
    MICRO_MUST(lull_call_unary(channel, &options, lull_slice_static(request, sizeof(request)),
                               on_done, NULL, NULL, NULL) == LULL_OK);
}

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct manager *manager = slice.manager;
    (void)call;
    (void)ctx;
    MICRO_MUST(result->status.code == LULL_CODE_OK);
    manager->on_ended(lull_executor_now(executor));
    if (slice.is_warm && manager->count < SAMPLES_MAX) {
        manager->samples_ns[manager->count++] = (uint32_t)(micro_now_ns() - slice.from_ns);
    }
    if (--slice.left > 0) {
        start_call();
    } else {
        lull_loop_stop(loop);
    }
}

static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void run_slice(struct manager *manager)
{
    const int64_t wall = micro_now_ns();
    const int64_t cpu = cpu_ns();
    slice.manager = manager;
    slice.left = (unsigned)micro_count(SLICE, 4);
    MICRO_MUST(lull_executor_enter(executor) == LULL_OK);
    start_call();
    lull_executor_leave(executor);
    MICRO_MUST(lull_loop_run(loop) == LULL_OK);
    if (slice.is_warm) {
        manager->wall_ns += micro_now_ns() - wall;
        manager->cpu_ns += cpu_ns() - cpu;
    }
}

/* ---- figures */

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void print(struct manager *manager)
{
    static const struct {
        const char *metric;
        double part;
    } parts[] = {{"p50_us", 0.5},  {"p90_us", 0.9},    {"p95_us", 0.95},
                 {"p99_us", 0.99}, {"p999_us", 0.999}, {"max_us", 1}};
    const size_t count = manager->count;
    qsort(manager->samples_ns, count, sizeof(manager->samples_ns[0]), compare);
    micro_set_names("idle", manager->variant);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const size_t at = (size_t)(parts[i].part * (double)(count - 1));
        micro_line("ping", parts[i].metric, manager->samples_ns[at] / 1e3);
    }
    micro_line("ping", "rate", (double)count / ((double)manager->wall_ns / 1e9));
    micro_line("ping", "cpu_us", (double)manager->cpu_ns / 1e3 / (double)count);
}

static void begin(const char *port)
{
    struct lull_channel_options options;
    char target[40] = "127.0.0.1:";
    strncat(target, port, 8);
    MICRO_MUST(lull_loop_new(NULL, &loop) == LULL_OK);
    executor = lull_loop_executor(loop);
    lull_channel_options_init(&options);
    options.loop = loop;
    options.idle_timeout_ns = LULL_NEVER;
    options.keepalive_time_ns = 30 * LULL_SECOND;
    MICRO_MUST(lull_channel_new(target, &options, &channel, NULL) == LULL_OK);
    MICRO_MUST(lull_executor_enter(executor) == LULL_OK);
    lull_idle_init(&idle, IDLE_NS, false);
    MICRO_MUST(lull_rescheduler_init(&idle_wake, executor, on_idle) == LULL_OK);
    MICRO_MUST(lull_timer_init(&idle_timer, executor, on_idle_timer) == LULL_OK);
    lull_executor_leave(executor);
#ifdef IDLE_TIMERFD
    timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    MICRO_MUST(timer_fd >= 0);
#endif
#ifdef IDLE_LIBUV
    MICRO_MUST(uv_loop_init(&uv_loop) == 0 && uv_timer_init(&uv_loop, &uv_timer) == 0);
#endif
    for (size_t i = 0; i < MANAGERS; i++) {
        managers[i].samples_ns = malloc(SAMPLES_MAX * sizeof(managers[i].samples_ns[0]));
        MICRO_MUST(managers[i].samples_ns != NULL);
        memset(managers[i].samples_ns, 0, SAMPLES_MAX * sizeof(managers[i].samples_ns[0]));
    }
}

static void end(void)
{
    MICRO_MUST(lull_executor_enter(executor) == LULL_OK);
    lull_rescheduler_fini(&idle_wake);
    lull_timer_fini(&idle_timer);
    lull_executor_leave(executor);
    lull_channel_close(channel);
    lull_channel_unref(channel);
    lull_loop_free(loop);
    for (size_t i = 0; i < MANAGERS; i++) {
        free(managers[i].samples_ns);
    }
#ifdef IDLE_TIMERFD
    close(timer_fd);
#endif
#ifdef IDLE_LIBUV
    uv_close((uv_handle_t *)&uv_timer, NULL);
    uv_run(&uv_loop, UV_RUN_DEFAULT);
    MICRO_MUST(uv_loop_close(&uv_loop) == 0);
#endif
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        micro_fail("usage: PORT SECONDS");
    }
    begin(argv[1]);
    for (unsigned i = 0; i < 4; i++) {
        run_slice(&managers[i % MANAGERS]);
    }
    slice.is_warm = true;
    const int64_t until_ns =
        micro_now_ns() + (int64_t)(strtod(argv[2], NULL) * 1e9) * (int64_t)MANAGERS;
    /* A B C, C B A. */
    for (unsigned turn = 0; turn < 2 || (!micro_is_once() && micro_now_ns() < until_ns); turn++) {
        for (size_t i = 0; i < MANAGERS; i++) {
            run_slice(&managers[turn % 2 == 0 ? i : MANAGERS - 1 - i]);
        }
    }
    for (size_t i = 0; i < MANAGERS; i++) {
        print(&managers[i]);
    }
    end();
    return 0;
}
