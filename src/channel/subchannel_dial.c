/* SPDX-License-Identifier: MIT */
/*
 * One pass over the addresses: dials, their limits, and from an endpoint that connected to a transport that greets. See
 * subchannel.h.
 *
 * The first that connects (over TLS: has shaken hands) wins; the other dials are given up and count as failed in this pass, so that
 * no address is dialled twice in it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "channel/failure.h"
#include "channel/subchannel.h"
#include "exec/executor.h"

#define DURATION_BYTES 40

static struct lull_instant now_of(const struct subchannel *sub)
{
    return lull_executor_now(sub->options.executor);
}

/* ---- the end of a dial */

/* How an address failed. */
struct fault {
    enum subchannel_reach reach;
    bool is_tls;
    int sys_errno;
    const char *reason; /* [borrow] */
};

/* Adds "why", or "10.0.0.1:80: why" where there are several. */
static void add_so_far(struct subchannel *sub, size_t index, const struct fault *fault)
{
    struct subchannel_failure *so_far = subchannel_note(sub, &sub->so_far);
    if (so_far == NULL) {
        return;
    }
    const char *address = sub->addresses[index].addr.text;
    const size_t len = strlen(so_far->reason);
    struct strbuf sb;
    if (len == 0 || fault->reach > so_far->reach) {
        so_far->reach = fault->reach;
        so_far->is_tls = fault->is_tls;
        so_far->sys_errno = fault->sys_errno;
        strbuf_init(&sb, so_far->address, sizeof(so_far->address));
        strbuf_add(&sb, address);
    }
    strbuf_init(&sb, so_far->reason + len, sizeof(so_far->reason) - len);
    strbuf_add(&sb, len > 0 ? "; " : "");
    if (sub->address_count > 1) {
        strbuf_printf(&sb, "%s: ", address);
    }
    strbuf_add(&sb, fault->reason);
}

static void trace_failure(struct subchannel *sub, size_t index, const char *reason,
                          struct lull_instant now)
{
    char next[DURATION_BYTES + 16];
    struct strbuf sb;
    strbuf_init(&sb, next, sizeof(next));
    if (sub->options.is_once) {
        strbuf_add(&sb, "there is no other");
    } else if (eyeballs_next(&sub->eyeballs, now).action == EYEBALLS_OVER) {
        strbuf_add(&sb, "next in ");
        strbuf_duration(&sb, lull_instant_diff(backoff_next_at(&sub->backoff, now), now));
    } else {
        strbuf_add(&sb, "the next address now");
    }
    trace_tell(sub->options.trace, LULL_EVENT_DIAL_FAILED, 0, "%s attempt %" PRIu32 ": %s; %s",
               sub->addresses[index].addr.text, sub->attempts, reason, next);
}

/* An address has failed; subchannel_advance goes on. */
static void fail_address(struct subchannel *sub, size_t index, const struct fault *fault)
{
    struct lull_instant now = now_of(sub);
    struct connection *connection = sub->current;
    endpoint_close(sub->addresses[index].dialled);
    sub->addresses[index].dialled = NULL;
    if (sub->eyeballs.winner == index && connection != NULL) {
        sub->current = NULL;
        h2_transport_close(connection->transport, 0, "the attempt to connect failed");
    }
    add_so_far(sub, index, fault);
    eyeballs_on_failed(&sub->eyeballs, index, now);
    if (fault->is_tls && sub->phase == SUBCHANNEL_DIALLING) {
        /* That was the handshake's time; what the other addresses take is not. */
        sub->ops->on_phase(sub, sub->addresses[index].addr.text);
    }
    if (trace_wants(sub->options.trace, LULL_EVENT_DIAL_FAILED)) {
        trace_failure(sub, index, fault->reason, now);
    }
}

/* No socket came of it, or none that can be watched; `what` [""] comes before the errno's words. */
static void fail_undialled(struct subchannel *sub, size_t index, const char *what, int sys_errno)
{
    char text[SUBCHANNEL_REASON_BYTES];
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    strbuf_add(&sb, what);
    strbuf_errno(&sb, sys_errno);
    fail_address(sub, index, &(struct fault){REACHED_NO_PEER, false, sys_errno, text});
}

static bool is_handshake(const struct endpoint *endpoint)
{
    return strcmp(endpoint->phase_text, "TLS handshake") == 0;
}

/* The endpoint said IO_FAIL. What is no connect says what was done as well. */
static void fail_address_endpoint(struct subchannel *sub, size_t index,
                                  const struct endpoint *endpoint)
{
    const bool is_connect = strcmp(endpoint->phase_text, "connect") == 0;
    const bool is_tls = is_handshake(endpoint);
    const char *reason = endpoint->reason_text;
    char text[SUBCHANNEL_REASON_BYTES];
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    if (!is_connect || reason != NULL) {
        strbuf_printf(&sb, "%s: ", endpoint->phase_text);
    }
    if (reason != NULL) {
        strbuf_add(&sb, reason);
    } else {
        strbuf_errno(&sb, endpoint->sys_errno);
    }
    fail_address(sub, index,
                 &(struct fault){is_tls       ? REACHED_HANDSHAKE
                                 : is_connect ? REACHED_CONNECT
                                              : REACHED_NO_PEER,
                                 is_tls, reason != NULL ? 0 : endpoint->sys_errno, text});
}

static bool is_shaking(const struct subchannel_address *address)
{
    return address->dialled != NULL && *address->dialled->phase_text != '\0';
}

static void on_limit_reached(struct subchannel *sub, size_t index)
{
    char text[SUBCHANNEL_REASON_BYTES];
    struct strbuf sb;
    const struct subchannel_address *address = &sub->addresses[index];
    strbuf_init(&sb, text, sizeof(text));
    struct fault fault = {.reach = REACHED_GREETING, .reason = text};
    if (sub->eyeballs.winner != index) {
        fault.is_tls = is_shaking(address);
        fault.reach = fault.is_tls ? REACHED_HANDSHAKE : REACHED_CONNECT;
        strbuf_add(&sb, fault.is_tls ? "the TLS handshake was not over within " : "no answer within ");
        strbuf_duration(&sb, lull_instant_diff(now_of(sub), address->dialled_at));
    } else {
        strbuf_printf(&sb, "no SETTINGS from %s within ", address->addr.text);
        strbuf_duration(&sb, lull_instant_diff(now_of(sub), address->dialled_at));
        strbuf_printf(&sb, ": the peer accepts but does not speak HTTP/2%s",
                      subchannel_tls_hint(sub));
    }
    fail_address(sub, index, &fault);
}

static void fail_pass(struct subchannel *sub)
{
    subchannel_keep_so_far(sub);
    const struct lull_instant next_at = backoff_on_failed(&sub->backoff, now_of(sub));
    sub->next_at = sub->options.is_once ? lull_at(LULL_NEVER) : next_at;
    lull_rescheduler_set(&sub->timer, sub->next_at);
    subchannel_set_phase(sub, SUBCHANNEL_BACKOFF, subchannel_last_failure(sub)->reason);
    sub->ops->on_attempt_failed(sub);
}

void subchannel_on_greeting_failed(struct subchannel *sub, int sys_errno, bool is_tls,
                                   const char *reason)
{
    /* Its transport ends by itself. */
    sub->current = NULL;
    fail_address(sub, sub->eyeballs.winner,
                 &(struct fault){REACHED_GREETING, is_tls, sys_errno, reason});
    subchannel_advance(sub);
}

void subchannel_drop_dials(struct subchannel *sub)
{
    for (size_t i = 0; i < sub->address_count; i++) {
        endpoint_close(sub->addresses[i].dialled);
        sub->addresses[i].dialled = NULL;
    }
}

void subchannel_drop_attempt(struct subchannel *sub, const char *why)
{
    struct connection *connection = sub->current;
    sub->current = NULL;
    if (connection != NULL && why != NULL) {
        h2_transport_close(connection->transport, 0, why);
    }
    subchannel_drop_dials(sub);
    subchannel_forget_so_far(sub);
    eyeballs_init(&sub->eyeballs, sub->eyeballs.tries, sub->address_count);
}

/* ---- a connect that succeeded */

/* The others are not needed while this one holds. */
static void give_up_others(struct subchannel *sub, size_t winner)
{
    for (size_t i = 0; i < sub->address_count; i++) {
        if (i != winner && sub->addresses[i].dialled != NULL) {
            char text[ADDR_TEXT_BYTES + 40];
            struct strbuf sb;
            strbuf_init(&sb, text, sizeof(text));
            strbuf_printf(&sb, "given up for %s, which connected first",
                          sub->addresses[winner].addr.text);
            fail_address(sub, i, &(struct fault){REACHED_NOTHING, false, 0, text});
        }
    }
}

static const char not_watched[] = "the loop does not watch the socket: ";

/* LULL_RC_NOMEM, or LULL_RC_SYSTEM: it cannot be watched, for a reason that the endpoint knows. */
static void fail_connected(struct subchannel *sub, size_t index, int rc)
{
    if (rc == LULL_RC_NOMEM) {
        fail_address(sub, index, &(struct fault){REACHED_GREETING, false, ENOMEM, "no memory for a connection"});
    } else {
        fail_undialled(sub, index, not_watched, sub->addresses[index].dialled->sys_errno);
    }
}

/* From an endpoint that is connected to a transport that waits for SETTINGS. */
static void greet(struct subchannel *sub, size_t index)
{
    struct subchannel_address *address = &sub->addresses[index];
    struct connection *connection = mem_zeroed(sub->options.allocator, sizeof(*connection));
    if (connection == NULL) {
        fail_connected(sub, index, LULL_RC_NOMEM);
        return;
    }
    executor_counters(sub->options.executor)->allocations++;
    struct h2_transport_options options = sub->options.transport;
    connection->subchannel = sub;
    connection->keepalive_time_ns =
        lull_keepalive_interval_ns(sub->options.keepalive_interval, now_of(sub));
    options.keepalive.time_ns = connection->keepalive_time_ns;
    options.keepalive.is_system_off = !sub->options.tcp_keepalive;
    const int rc = h2_transport_new(sub->options.executor, address->dialled, &options,
                                    subchannel_transport_ops(), connection, &connection->transport);
    if (rc != LULL_OK) {
        mem_release(sub->options.allocator, connection);
        fail_connected(sub, index, rc);
        return;
    }
    if (trace_wants(sub->options.trace, LULL_EVENT_CONNECTED)) {
        char text[ADDR_TEXT_BYTES + 96];
        struct strbuf sb;
        strbuf_init(&sb, text, sizeof(text));
        strbuf_add(&sb, address->addr.text);
        endpoint_describe(address->dialled, &sb);
        trace_tell(sub->options.trace, LULL_EVENT_CONNECTED, 0, "%s", text);
    }
    address->dialled = NULL;
    sub->current = connection;
    sub->last_index = index;
    list_push_back(&sub->connections, &connection->link);
    eyeballs_on_connected(&sub->eyeballs, index);
    give_up_others(sub, index);
    subchannel_watch_pings(connection);
    subchannel_set_phase(sub, SUBCHANNEL_GREETING, address->addr.text);
}

static void on_dialled_ready(struct endpoint *endpoint, unsigned ready)
{
    struct subchannel *sub = endpoint->owner;
    size_t index = 0;
    (void)ready;
    while (index < sub->address_count && sub->addresses[index].dialled != endpoint) {
        index++;
    }
    if (index == sub->address_count) {
        return;
    }
    const enum io io = endpoint_finish_connect(endpoint);
    if (io != IO_OK && is_handshake(endpoint)) {
        /*
         * Connected, and there is a handshake, which may be over at once: those who wait are told that they wait for something
         * else now. Its arithmetic takes milliseconds, which are its own and not those of the address that comes next.
         */
        sub->ops->on_phase(sub, sub->addresses[index].addr.text);
        executor_on_user_returned(sub->options.executor);
    }
    switch (io) {
    case IO_AGAIN:
        return;
    case IO_OK:
        greet(sub, index);
        break;
    default:
        fail_address_endpoint(sub, index, endpoint);
        break;
    }
    subchannel_advance(sub);
}

/* ---- the pass */

static void start_address(struct subchannel *sub, size_t index, struct lull_instant now,
                          struct lull_instant limit_at)
{
    struct subchannel_address *address = &sub->addresses[index];
    address->dialled_at = now;
    sub->last_index = index;
    sub->history.dials++;
    eyeballs_on_started(&sub->eyeballs, index, now, limit_at);
    subchannel_set_phase(sub, SUBCHANNEL_DIALLING, address->addr.text);
    TRACE(sub->options.trace, LULL_EVENT_DIAL, 0, "%s attempt %" PRIu32, address->addr.text,
          sub->attempts);

    int err =
        sub->options.dialer->ops->dial(sub->options.dialer, sub->options.loop,
                                       sub->options.executor, &address->addr, &address->dialled);
    if (err != 0) {
        address->dialled = NULL;
        fail_undialled(sub, index, "", err);
        return;
    }
    address->dialled->owner = sub;
    address->dialled->on_ready = on_dialled_ready;
    if (!sub->options.tcp_keepalive) {
        /* Best effort, as switching it on is. */
        (void)endpoint_system_keepalive(address->dialled, false);
    }
    err = endpoint_want(address->dialled, LULL_WANT_WRITE);
    if (err != 0) {
        fail_undialled(sub, index, not_watched, err);
    }
}

void subchannel_advance(struct subchannel *sub)
{
    while (subchannel_is_attempting(sub)) {
        struct lull_instant now = now_of(sub);
        struct eyeballs_step step = eyeballs_next(&sub->eyeballs, now);
        switch (step.action) {
        case EYEBALLS_START:
            start_address(sub, step.index, now, backoff_on_next_address(&sub->backoff, now));
            break;
        case EYEBALLS_EXPIRE:
            on_limit_reached(sub, step.index);
            break;
        case EYEBALLS_OVER:
            fail_pass(sub);
            break;
        default:
            lull_rescheduler_set(&sub->timer, step.next_at);
            return;
        }
    }
}

void subchannel_start_pass(struct subchannel *sub, struct lull_instant now)
{
    double unit = lull_random_between(sub->options.random, 0.0, 1.0);
    struct lull_instant limit_at = backoff_on_attempt_started(&sub->backoff, now, unit);
    sub->attempts++;
    subchannel_forget_so_far(sub);
    eyeballs_init(&sub->eyeballs, sub->eyeballs.tries, sub->address_count);
    start_address(sub, 0, now, limit_at);
    subchannel_advance(sub);
}

/* ---- other addresses */

static bool is_same_address(const struct addr *a, const struct addr *b)
{
    return a->len == b->len && memcmp(&a->storage, &b->storage, a->len) == 0;
}

static size_t find_address(const struct subchannel *sub, const struct addr *addr)
{
    for (size_t i = 0; i < sub->address_count; i++) {
        if (is_same_address(&sub->addresses[i].addr, addr)) {
            return i;
        }
    }
    return EYEBALLS_NONE;
}

/* The same ones, in whatever order: a name server that deals them out in turn has no news. */
static bool is_same_list(const struct subchannel *sub, const struct subchannel_address *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (find_address(sub, &addresses[i].addr) == EYEBALLS_NONE) {
            return false;
        }
    }
    return count == sub->address_count;
}

/* Each address once, in its first place: two of the same would be dialled side by side. Returns how many there are. */
static size_t copy_distinct(struct subchannel_address *to, const struct addr *addrs, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count && kept < EYEBALLS_MAX; i++) {
        size_t same = 0;
        while (same < kept && !is_same_address(&to[same].addr, &addrs[i])) {
            same++;
        }
        if (same == kept) {
            to[kept++] = (struct subchannel_address){addrs[i], lull_at(INT64_MIN), NULL};
        }
    }
    return kept;
}

/* Takes over what is known of those that stay; returns when one of the new ones was last dialled. */
static struct lull_instant take_over(struct subchannel *sub, struct subchannel_address *to,
                                     size_t count, struct eyeballs *eyeballs)
{
    struct lull_instant last_at = lull_at(INT64_MIN);
    /* The block ends with them. */
    eyeballs_init(eyeballs, (struct eyeballs_try *)(void *)(to + count), count);
    eyeballs->next_start_at = sub->eyeballs.next_start_at;
    for (size_t i = 0; i < count; i++) {
        size_t old = find_address(sub, &to[i].addr);
        if (old == EYEBALLS_NONE) {
            continue;
        }
        to[i].dialled_at = sub->addresses[old].dialled_at;
        to[i].dialled = sub->addresses[old].dialled;
        sub->addresses[old].dialled = NULL;
        eyeballs->tries[i] = sub->eyeballs.tries[old];
        if (sub->eyeballs.winner == old) {
            eyeballs->winner = i;
        }
        if (lull_instant_before(last_at, to[i].dialled_at)) {
            last_at = to[i].dialled_at;
        }
    }
    return last_at;
}

/* The pass, the wait or the spacing goes on with the new list. */
static void go_on(struct subchannel *sub, bool has_lost_winner)
{
    struct lull_instant now = now_of(sub);
    switch (sub->phase) {
    case SUBCHANNEL_GREETING:
        if (has_lost_winner) {
            struct connection *connection = sub->current;
            sub->current = NULL;
            h2_transport_close(connection->transport, 0, "its name has other addresses now");
        }
        subchannel_advance(sub);
        break;
    case SUBCHANNEL_DIALLING:
        subchannel_advance(sub);
        break;
    case SUBCHANNEL_SPACING:
    case SUBCHANNEL_BACKOFF:
        sub->next_at = backoff_next_at(&sub->backoff, now);
        lull_rescheduler_set(&sub->timer, sub->next_at);
        break;
    default:
        break;
    }
}

int subchannel_set_addresses(struct subchannel *sub, const struct addr *addrs, size_t count)
{
    struct eyeballs eyeballs;
    struct subchannel_address distinct[EYEBALLS_MAX];
    count = copy_distinct(distinct, addrs, count);
    if (sub->phase == SUBCHANNEL_CLOSED || is_same_list(sub, distinct, count)) {
        return LULL_OK;
    }
    struct subchannel_address *addresses =
        mem_resize_array(sub->options.allocator, NULL, count,
                         sizeof(*addresses) + sizeof(struct eyeballs_try));
    if (addresses == NULL) {
        return LULL_RC_NOMEM;
    }
    executor_counters(sub->options.executor)->allocations++;
    memcpy(addresses, distinct, count * sizeof(*addresses));
    struct lull_instant last_at = take_over(sub, addresses, count, &eyeballs);
    const bool has_lost_winner =
        sub->eyeballs.winner != EYEBALLS_NONE && eyeballs.winner == EYEBALLS_NONE;
    subchannel_drop_dials(sub);
    mem_release(sub->options.allocator, sub->addresses);
    sub->addresses = addresses;
    sub->address_count = count;
    sub->last_index = eyeballs.winner != EYEBALLS_NONE ? eyeballs.winner : 0;
    sub->eyeballs = eyeballs;
    backoff_on_addresses_changed(&sub->backoff, last_at);
    go_on(sub, has_lost_winner);
    return LULL_OK;
}

const char *subchannel_address_text(const struct subchannel *sub)
{
    if (sub->current != NULL) {
        return connection_peer_text(sub->current);
    }
    if (sub->address_count > 0 &&
        (sub->address_count == 1 || sub->phase == SUBCHANNEL_DIALLING)) {
        return sub->addresses[sub->last_index].addr.text;
    }
    return sub->options.name;
}
