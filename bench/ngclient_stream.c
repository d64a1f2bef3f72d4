/* SPDX-License-Identifier: MIT */
/* See ngclient.h: messages one way without end. */
#include "ngclient.h"

#include <string.h>

#define AT_A_TIME 1000000 /* messages of one response */

static bool is_over;
static bool is_wanted;

static void came(struct ng *ng, struct ngcall *call, const uint8_t *message, size_t len)
{
    (void)call;
    (void)message;
    (void)len;
    ng->messages++;
}

static void ended(struct ng *ng, struct ngcall *call)
{
    (void)ng;
    (void)call;
    is_wanted = true;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

void ng_receive(struct ng *ng, const char *path)
{
    static struct ngcall call;
    bool is_big = strcmp(path, "/bench/Big") == 0;
    uint8_t *body = ng_message(8);
    uint64_t from = 0;

    put_u32(body + PREFIX, is_big ? (uint32_t)ng->args.size : ng->args.is_once ? 10 : AT_A_TIME);
    put_u32(body + PREFIX + 4, (uint32_t)ng->args.size);
    call.body = body;
    call.body_len = 8 + PREFIX;
    ng->on_message = came;
    ng->on_closed = ended;
    is_wanted = true;
    ng_open(ng);
    bench_meter_begin(&ng->meter, &ng->args, 3);
    while (!is_over) {
        if (is_wanted) {
            is_wanted = false;
            from = bench_now_ns();
            ng_start(ng, &call, path);
        }
        ng->messages = 0;
        ng_turn(ng);
        if (ng->messages == 0) {
            continue;
        }
        is_over = is_big ? !bench_meter_sample(&ng->meter, from, bench_now_ns())
                         : !bench_meter_count(&ng->meter, ng->messages, bench_now_ns());
    }
}

/* A body of many messages that starts again whenever it is sent. */
void ng_send(struct ng *ng, bool is_packed)
{
    static struct ngcall call;
    size_t framed = ng->args.size + PREFIX;
    size_t count = 16 * 1024;
    uint8_t *body = bench_memory(count * framed);
    uint64_t sent = 0;
    size_t i;

    for (i = 0; i < count; i++) {
        put_u32(body + i * framed + 1, (uint32_t)ng->args.size);
    }
    call.body = body;
    call.body_len = count * framed;
    call.is_open = call.repeats = true;
    ng->frame_max = is_packed ? 0 : framed;
    ng->on_message = came;
    ng_open(ng);
    bench_meter_begin(&ng->meter, &ng->args, 3);
    ng_start(ng, &call, "/bench/Sink");
    while (!is_over) {
        uint64_t messages;

        ng_turn(ng);
        messages = ng->sent / framed - sent;
        sent += messages;
        is_over = messages > 0 && !bench_meter_count(&ng->meter, messages, bench_now_ns());
    }
}
