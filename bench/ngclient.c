/* SPDX-License-Identifier: MIT */
/*
 * The floor's measurements: `ngclient MODE PORT SECONDS [n=] [size=] [tls=]`. Modes with -block read without polling, as a blocking client
 * does; the others poll with epoll first.
 */
#include "ngclient.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

struct pool {
    struct ngcall *calls;
    struct ngcall **over; /* those that ended in this turn */
    int over_count;
};
static struct pool pool;
static bool goes_on;

static void ignore(struct ng *ng, struct ngcall *call, const uint8_t *message, size_t len)
{
    (void)call;
    (void)message;
    (void)len;
    ng->messages++;
}

static void ended(struct ng *ng, struct ngcall *call)
{
    if (!bench_meter_sample(&ng->meter, call->from_ns, bench_now_ns())) {
        goes_on = false;
    }
    pool.over[pool.over_count++] = call;
}

/* `n` calls under way, always. */
static void outstanding(struct ng *ng, const char *path)
{
    int n = ng->args.count;
    uint8_t *body = ng_message(ng->args.size);
    int i;

    pool.calls = bench_memory((size_t)n * sizeof(*pool.calls));
    pool.over = bench_memory((size_t)n * sizeof(struct ngcall *));
    for (i = 0; i < n; i++) {
        pool.calls[i].body = body;
        pool.calls[i].body_len = ng->args.size + PREFIX;
        pool.over[pool.over_count++] = &pool.calls[i];
    }
    ng->on_message = ignore;
    ng->on_closed = ended;
    goes_on = true;
    ng_open(ng);
    bench_meter_begin(&ng->meter, &ng->args, (uint64_t)n * 2);
    while (goes_on) {
        while (pool.over_count > 0) {
            struct ngcall *call = pool.over[--pool.over_count];

            call->from_ns = bench_now_ns();
            ng_start(ng, call, path);
        }
        ng_turn(ng);
    }
}

static void echoed(struct ng *ng, struct ngcall *call, const uint8_t *message, size_t len)
{
    (void)message;
    (void)len;
    if (!bench_meter_sample(&ng->meter, call->from_ns, bench_now_ns())) {
        goes_on = false;
    }
    call->from_ns = bench_now_ns();
    ng_more(ng, call);
}

static void bidi(struct ng *ng)
{
    static struct ngcall call;

    call.body = ng_message(ng->args.size);
    call.body_len = ng->args.size + PREFIX;
    call.is_open = true;
    ng->on_message = echoed;
    goes_on = true;
    ng_open(ng);
    bench_meter_begin(&ng->meter, &ng->args, 3);
    ng_start(ng, &call, "/bench/Echo");
    call.from_ns = bench_now_ns();
    while (goes_on) {
        ng_turn(ng);
    }
}

static bool is_answered;

static void answered(struct ng *ng, struct ngcall *call)
{
    (void)ng;
    (void)call;
    is_answered = true;
}

/* A call on a connection of its own, once the server's SETTINGS came. */
static void connect_once(struct ng *ng, struct ngcall *call)
{
    is_answered = false;
    ng_open(ng);
    while (!ng->is_ready) {
        ng_turn(ng);
    }
    ng_start(ng, call, "/bench/Unary");
    while (!is_answered) {
        ng_turn(ng);
    }
}

static void connects(struct ng *ng)
{
    static struct ngcall call;
    const bool resumes = ng->tls_ctx != NULL && strstr(ng->args.mode, "-resume") != NULL;

    call.body = ng_message(ng->args.size);
    call.body_len = ng->args.size + PREFIX;
    ng->on_message = ignore;
    ng->on_closed = answered;
    goes_on = true;
    if (resumes) {
        bench_tls_resume(ng->tls_ctx);
        connect_once(ng, &call); /* brings the first ticket */
        ng_close(ng);
    }
    bench_meter_begin(&ng->meter, &ng->args, 3);
    while (goes_on) {
        uint64_t from;

        if (ng->tls_ctx != NULL && !resumes) {
            bench_tls_ctx_free(ng->tls_ctx); /* the library's row has credentials for each, too, so that it does not resume */
            ng->tls_ctx = bench_tls_client(ng->args.ca);
        }
        from = bench_now_ns();
        connect_once(ng, &call);
        goes_on = bench_meter_sample(&ng->meter, from, bench_now_ns());
        if (resumes && !bench_tls_is_resumed(ng->tls)) {
            bench_fail("TLS", "a session was not resumed");
        }
        ng_close(ng);
        bench_let_server_finish();
    }
}

/* Connections that have made one call each, and now rest. */
static void memory(struct ng *ng)
{
    static struct ngcall call;
    int n = ng->args.count;
    struct mallinfo2 before, after;
    long rss;
    int i;

    bench_all_files();
    call.body = ng_message(ng->args.size);
    call.body_len = ng->args.size + PREFIX;
    ng->on_message = ignore;
    ng->on_closed = answered;
    connect_once(ng, &call); /* what is there once is no connection's */
    before = mallinfo2();
    rss = bench_rss_kib();
    for (i = 0; i < n; i++) {
        connect_once(ng, &call); /* the one before stays open */
    }
    after = mallinfo2();
    bench_print("heap_kib", (double)(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd) / 1024.0 / n);
    bench_print("rss_kib", (double)(bench_rss_kib() - rss) / n);
    bench_print("threads", bench_threads());
}

/* One call at a time, on one connection after another. */
static void channels(const struct bench_args *args, struct ng *first)
{
    int n = args->count;
    struct ng *all = bench_memory((size_t)n * sizeof(*all));
    struct ngcall *calls = bench_memory((size_t)n * sizeof(*calls));
    uint8_t *body = ng_message(args->size);
    int i;

    bench_all_files();
    for (i = 0; i < n; i++) {
        ng_init(&all[i], args, false);
        calls[i].body = body;
        calls[i].body_len = args->size + PREFIX;
        all[i].on_message = ignore;
        all[i].on_closed = answered;
        connect_once(&all[i], &calls[i]);
    }
    goes_on = true;
    bench_meter_begin(&first->meter, args, 3);
    for (i = 0; goes_on; i = (i + 1) % n) {
        uint64_t from = bench_now_ns();

        is_answered = false;
        ng_start(&all[i], &calls[i], "/bench/Unary");
        while (!is_answered) {
            ng_turn(&all[i]);
        }
        goes_on = bench_meter_sample(&first->meter, from, bench_now_ns());
    }
}

int main(int argc, char **argv)
{
    static struct ng ng;
    struct bench_args args;
    const char *mode;
    bool blocks;

    bench_arguments(&args, argc, argv);
    mode = args.mode;
    blocks = strstr(mode, "-block") != NULL;
    ng_init(&ng, &args, !blocks);
    if (strncmp(mode, "unary", 5) == 0) {
        outstanding(&ng, "/bench/Unary");
    } else if (strncmp(mode, "bidi", 4) == 0) {
        bidi(&ng);
    } else if (strcmp(mode, "big-send") == 0) {
        outstanding(&ng, "/bench/Sink");
    } else if (strcmp(mode, "big-recv") == 0) {
        ng_receive(&ng, "/bench/Big");
    } else if (strcmp(mode, "recv-frames") == 0) {
        ng_receive(&ng, "/bench/Frames");
    } else if (strcmp(mode, "recv-packed") == 0) {
        ng_receive(&ng, "/bench/Source");
    } else if (strcmp(mode, "send-frames") == 0 || strcmp(mode, "send-packed") == 0) {
        ng_send(&ng, strcmp(mode, "send-packed") == 0);
    } else if (strncmp(mode, "connect", 7) == 0) {
        connects(&ng);
    } else if (strcmp(mode, "channels") == 0) {
        channels(&args, &ng);
    } else if (strcmp(mode, "memory") == 0) {
        memory(&ng);
        return 0;
    } else {
        bench_fail("no such mode", mode);
    }
    bench_meter_print(&ng.meter);
    if (strncmp(mode, "big", 3) == 0) {
        bench_print("mb_per_s", (double)ng.meter.ops * (double)args.size / 1e6 /
                                    ((double)(ng.meter.ended_ns - ng.meter.began_ns) / 1e9));
    }
    return 0;
}
