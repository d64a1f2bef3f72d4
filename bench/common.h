/* SPDX-License-Identifier: MIT */
/* What the C programs of the benchmarks share: their arguments, a meter of operations, and the lines that they print (README.md). It knows
 * neither lull nor nghttp2. */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* PROGRAM MODE PORT SECONDS [key=value]..., see bench_arguments. */
struct bench_args {
    const char *mode;
    int port;
    double seconds;
    int count;        /* n=: outstanding calls, channels, threads */
    size_t size;      /* size=: bytes of a message */
    const char *ca;   /* tls=FILE: the roots of a TLS port; NULL: plaintext */
    bool deadline;    /* deadline=0: none on the calls */
    bool field;       /* field=1: ngclient sends the field of a deadline, and has none */
    uint64_t calls;   /* calls=: so many operations, no warm-up; 0: by time */
    bool is_once;     /* BENCH_ONCE: the smallest count, nothing measured */
};

void bench_arguments(struct bench_args *args, int argc, char **argv);

/* Errors: a line on standard error, exit 1; cannot run here: the same, exit 77. */
_Noreturn void bench_fail(const char *what, const char *why);
_Noreturn void bench_missing(const char *why);

/* Memory that is there, or the end. */
void *bench_memory(size_t size);

uint64_t bench_now_ns(void);

/* As many descriptors as the system lets us have. */
void bench_all_files(void);

/* Between one connection and the next, in all rows of them: a server on this CPU comes to an end with the last one, whose farewell (a GOAWAY, TLS's
 * close_notify, or nothing at all) is no part of the time that the next takes to its first answer. */
void bench_let_server_finish(void);

/*
 * For sockets over which bulk goes, client's and server's alike, the floor's and the library's. A system's default may be BBR, which paces what
 * is sent to a rate that it guesses anew for each connection: on the loopback every third connection or so ran at two thirds for all its life,
 * whoever's it was, and a row told of that guess.
 */
void bench_unpaced(int fd);

/* What this process has used: user and system time, and the switches of all its threads. */
struct bench_usage {
    uint64_t cpu_ns;
    uint64_t switches;
};
void bench_usage(struct bench_usage *out);

/* Counts operations from the end of a warm-up to the end of the time, keeping how long each took. */
struct bench_meter {
    uint64_t warm_until_ns, until_ns, began_ns, ended_ns;
    uint64_t ops, once_ops;
    uint64_t round_ops, warm_ops; /* what is under way or used in turn at once; operations before the measurement */
    bool is_warm, is_over, is_once;
    struct bench_usage began, ended;
    uint64_t (*syscalls)(void *ctx); /* nullable: a count that grows, asked at both ends */
    void *syscalls_ctx;
    uint64_t syscalls_began, syscalls_ended;
    uint32_t *samples_ns;
    size_t sample_count;
};

/*
 * Each of what the arguments count (calls under way, channels) is heard of once before the measurement begins, and four times in it, whatever
 * the time. `once_ops`: so many operations are enough when nothing is measured. Who counts system calls sets `syscalls` before.
 */
void bench_meter_begin(struct bench_meter *meter, const struct bench_args *args, uint64_t once_ops);

/* One operation that began at `from_ns` is over; `count` of them, without a time each. False: the time is over. */
bool bench_meter_sample(struct bench_meter *meter, uint64_t from_ns, uint64_t now_ns);
bool bench_meter_count(struct bench_meter *meter, uint64_t count, uint64_t now_ns);

/* p50_us to max_us if there are samples, rate, cpu_us, ctx, and sys if it is counted. */
void bench_meter_print(struct bench_meter *meter);

/* A line, under the row, family and variant that the harness named. */
void bench_print(const char *metric, double value);
void bench_print_row(const char *row, const char *metric, double value);

/* Of the whole process: resident memory in KiB, threads. 0 where /proc is not there. */
long bench_rss_kib(void);
int bench_threads(void);

#endif
