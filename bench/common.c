/* SPDX-License-Identifier: MIT */
/* See common.h. */
#include "common.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#define SAMPLES_MAX ((size_t)4 * 1024 * 1024)

_Noreturn void bench_fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why != NULL ? why : strerror(errno));
    exit(1);
}

_Noreturn void bench_missing(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(77);
}

void *bench_memory(size_t size)
{
    void *memory = calloc(1, size);

    if (memory == NULL) {
        bench_fail("memory", NULL);
    }
    return memory;
}

void bench_arguments(struct bench_args *args, int argc, char **argv)
{
    const char *once = getenv("BENCH_ONCE");
    int i;

    if (argc < 4) {
        bench_fail("usage", "PROGRAM MODE PORT SECONDS [n=COUNT] [size=BYTES] [tls=CA] [deadline=0|1] [field=0|1] [calls=COUNT]");
    }
    memset(args, 0, sizeof(*args));
    args->mode = argv[1];
    args->port = atoi(argv[2]);
    args->seconds = atof(argv[3]);
    args->count = 1;
    args->size = 64;
    args->deadline = true;
    args->is_once = once != NULL && strcmp(once, "1") == 0;
    for (i = 4; i < argc; i++) {
        if (strncmp(argv[i], "n=", 2) == 0) {
            args->count = atoi(argv[i] + 2);
        } else if (strncmp(argv[i], "size=", 5) == 0) {
            args->size = (size_t)atol(argv[i] + 5);
        } else if (strncmp(argv[i], "tls=", 4) == 0) {
            args->ca = argv[i] + 4;
        } else if (strncmp(argv[i], "deadline=", 9) == 0) {
            args->deadline = argv[i][9] != '0';
        } else if (strncmp(argv[i], "field=", 6) == 0) {
            args->field = argv[i][6] != '0';
        } else if (strncmp(argv[i], "calls=", 6) == 0) {
            args->calls = (uint64_t)atol(argv[i] + 6);
        } else {
            bench_fail("no such argument", argv[i]);
        }
    }
    if (args->is_once && args->count > 8) {
        args->count = 8;
    }
    if (args->count < 1 || args->seconds <= 0) {
        bench_fail("arguments", "a count and a time are wanted");
    }
}

uint64_t bench_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

void bench_all_files(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static uint64_t timeval_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_usec * 1000U;
}

void bench_usage(struct bench_usage *out)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    out->cpu_ns = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
    out->switches = (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

void bench_meter_begin(struct bench_meter *meter, const struct bench_args *args, uint64_t once_ops)
{
    uint64_t now = bench_now_ns();
    uint64_t length = (uint64_t)(args->seconds * 1e9);

    if (meter->samples_ns == NULL) {
        meter->samples_ns = bench_memory(SAMPLES_MAX * sizeof(*meter->samples_ns));
    }
    meter->is_once = args->is_once || args->calls > 0;
    meter->once_ops = args->calls > 0 ? args->calls : once_ops;
    meter->round_ops = (uint64_t)args->count;
    meter->warm_ops = 0;
    meter->warm_until_ns = now + length / 5;
    meter->until_ns = now + length / 5 + length;
    meter->is_warm = meter->is_over = false;
    meter->ops = 0;
    meter->sample_count = 0;
}

static void finish(struct bench_meter *meter, uint64_t now_ns)
{
    meter->ended_ns = now_ns;
    bench_usage(&meter->ended);
    meter->syscalls_ended = meter->syscalls != NULL ? meter->syscalls(meter->syscalls_ctx) : 0;
    meter->is_over = true;
}

static void start(struct bench_meter *meter, uint64_t now_ns)
{
    bench_usage(&meter->began);
    meter->syscalls_began = meter->syscalls != NULL ? meter->syscalls(meter->syscalls_ctx) : 0;
    meter->began_ns = now_ns;
    meter->is_warm = true;
}

bool bench_meter_count(struct bench_meter *meter, uint64_t count, uint64_t now_ns)
{
    if (meter->is_over) {
        return false;
    }
    if (!meter->is_warm) {
        meter->warm_ops += count;
        if ((now_ns < meter->warm_until_ns || meter->warm_ops < meter->round_ops) && !meter->is_once) {
            return true;
        }
        start(meter, now_ns);
        if (!meter->is_once) {
            return true; /* this one began before */
        }
    }
    meter->ops += count;
    if (meter->is_once ? meter->ops >= meter->once_ops : now_ns >= meter->until_ns && meter->ops >= 4 * meter->round_ops) {
        finish(meter, now_ns);
        return false;
    }
    return true;
}

bool bench_meter_sample(struct bench_meter *meter, uint64_t from_ns, uint64_t now_ns)
{
    if (meter->is_warm && !meter->is_over && meter->sample_count < SAMPLES_MAX) {
        uint64_t took = now_ns - from_ns;

        meter->samples_ns[meter->sample_count++] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
    }
    return bench_meter_count(meter, 1, now_ns);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void print_samples(struct bench_meter *meter)
{
    static const struct {
        const char *metric;
        double share;
    } wanted[] = {{"p50_us", 0.50}, {"p90_us", 0.90}, {"p95_us", 0.95}, {"p99_us", 0.99}, {"p999_us", 0.999}};
    size_t n = meter->sample_count;
    size_t i;

    if (n == 0) {
        return;
    }
    qsort(meter->samples_ns, n, sizeof(*meter->samples_ns), by_value);
    for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        bench_print(wanted[i].metric, meter->samples_ns[(size_t)((double)(n - 1) * wanted[i].share + 0.5)] / 1e3);
    }
    bench_print("max_us", meter->samples_ns[n - 1] / 1e3);
}

void bench_meter_print(struct bench_meter *meter)
{
    double ops = (double)meter->ops;
    double seconds = (double)(meter->ended_ns - meter->began_ns) / 1e9;

    if (!meter->is_over || meter->ops == 0) {
        bench_fail("meter", "nothing was measured");
    }
    print_samples(meter);
    bench_print("rate", seconds > 0 ? ops / seconds : ops);
    bench_print("cpu_us", (double)(meter->ended.cpu_ns - meter->began.cpu_ns) / 1e3 / ops);
    bench_print("ctx", (double)(meter->ended.switches - meter->began.switches) / ops);
    if (meter->syscalls != NULL) {
        bench_print("sys", (double)(meter->syscalls_ended - meter->syscalls_began) / ops);
    }
}

static const char *named(const char *variable, const char *otherwise)
{
    const char *value = getenv(variable);

    return value != NULL && *value != '\0' ? value : otherwise;
}

void bench_print_row(const char *row, const char *metric, double value)
{
    printf("%s\t%s\t%s\t%s\t%.9g\n", row, named("BENCH_FAMILY", "none"), named("BENCH_VARIANT", "none"), metric, value);
}

void bench_print(const char *metric, double value)
{
    bench_print_row(named("BENCH_ROW", "none"), metric, value);
}

static long proc_status(const char *field)
{
    FILE *file = fopen("/proc/self/status", "r");
    size_t len = strlen(field);
    char line[256];
    long value = 0;

    if (file == NULL) {
        return 0;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, field, len) == 0 && line[len] == ':') {
            value = strtol(line + len + 1, NULL, 10);
            break;
        }
    }
    fclose(file);
    return value;
}

void bench_let_server_finish(void)
{
    int i;

    for (i = 0; i < 4; i++) {
        (void)sched_yield(); /* a sleep would leave cold caches behind */
    }
}

void bench_unpaced(int fd)
{
#ifdef TCP_CONGESTION
    (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4); /* every Linux has it; where it is refused the default stays */
#else
    (void)fd;
#endif
}

long bench_rss_kib(void)
{
    return proc_status("VmRSS");
}

int bench_threads(void)
{
    return (int)proc_status("Threads");
}
