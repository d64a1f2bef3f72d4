/* SPDX-License-Identifier: MIT */
/*
 * The wording of failures. See failure.h.
 *
 * A line reads: CODE after TIME in METHOD: where the call was (what is known about it) [where the time went]. For instance
 *   DEADLINE_EXCEEDED after 1 s in /a.B/C: no connection to 127.0.0.1:2379 (attempt 2 failed: connection refused; next in 1.6 s)
 * What the peer, or what became of it, ended a call names the peer first: 127.0.0.1:2379: HTTP status 502 ...
 */
#include "channel/failure.h"

#include <inttypes.h>
#include <string.h>

#include "base/strbuf.h"
#include "channel/channel.h"

/* More of a method's name would leave no room for what happened. */
#define METHOD_SHOWN_BYTES 200

static bool is_dialling(enum lull_phase phase)
{
    return phase == LULL_PHASE_RESOLVING || phase == LULL_PHASE_CONNECTING ||
           phase == LULL_PHASE_HANDSHAKE || phase == LULL_PHASE_SETTINGS ||
           phase == LULL_PHASE_BACKOFF;
}

static bool has_address(const struct failure_facts *facts)
{
    return facts->address != NULL && *facts->address != '\0';
}

static void add_queue(struct strbuf *sb, const struct failure_facts *facts, const char *address)
{
    if (facts->is_blocked) {
        strbuf_printf(sb, "queued for %s, which does not take what was written already", address);
    } else if (facts->is_at_limit) {
        strbuf_printf(sb,
                      "queued for a stream to %s: its MAX_CONCURRENT_STREAMS is used up, %s%zu call%s "
                      "before this one",
                      address, facts->queued_before >= CHANNEL_QUEUE_COUNTED ? "at least " : "",
                      facts->queued_before, plural_s(facts->queued_before));
    } else {
        strbuf_printf(sb, "about to be sent to %s", address);
    }
}

static void add_where(struct strbuf *sb, const struct failure_facts *facts)
{
    const char *address = has_address(facts) ? facts->address : "the peer";
    switch (facts->phase) {
    case LULL_PHASE_RESOLVING:
        strbuf_printf(sb, "resolving %s", address);
        break;
    case LULL_PHASE_CONNECTING:
        strbuf_printf(sb, "connecting to %s", address);
        break;
    case LULL_PHASE_BACKOFF:
        strbuf_printf(sb, "no connection to %s", address);
        break;
    case LULL_PHASE_HANDSHAKE:
        strbuf_printf(sb, "in the TLS handshake with %s", address);
        break;
    case LULL_PHASE_SETTINGS:
        strbuf_printf(sb, "connected to %s, waiting for its SETTINGS", address);
        break;
    case LULL_PHASE_QUEUED:
        add_queue(sb, facts, address);
        break;
    case LULL_PHASE_SENDING:
        strbuf_printf(sb, "sending the request to %s", address);
        break;
    case LULL_PHASE_WAITING:
        strbuf_printf(sb, "waiting for the response of %s", address);
        break;
    case LULL_PHASE_READING:
        strbuf_printf(sb, "reading the response of %s", address);
        break;
    default:
        strbuf_add(sb, "before anything was done");
        break;
    }
}

/* When the next attempt is: nothing while one is under way, or when there will be none. */
static void add_next(struct strbuf *sb, const struct failure_facts *facts, const char *before)
{
    if (facts->is_attempting || facts->next_attempt_after_ns == LULL_NEVER) {
        return;
    }
    strbuf_add(sb, before);
    if (facts->next_attempt_after_ns == 0) {
        strbuf_add(sb, "now");
    } else {
        strbuf_add(sb, "in ");
        strbuf_duration(sb, facts->next_attempt_after_ns);
    }
}

/* ": NXDOMAIN (c-ares: Domain name not found; asked 127.0.0.1:53); next in 1.2 s", or "again: NXDOMAIN" while it is asked for again. */
static void add_answer(struct strbuf *sb, const struct failure_facts *facts)
{
    if (facts->last_attempt != NULL) {
        strbuf_printf(sb, "%s: %s", facts->is_attempting ? " again" : "", facts->last_attempt);
        add_next(sb, facts, "; next ");
    }
}

/* "(attempt 2 failed: connection refused; next in 1.6 s)", or "(attempt 3 under way; attempt 2 failed: connection refused)". */
static void add_attempts(struct strbuf *sb, const struct failure_facts *facts)
{
    uint32_t failed = facts->attempts - (facts->is_attempting ? 1 : 0);
    if (!is_dialling(facts->phase)) {
        return;
    }
    if (facts->phase == LULL_PHASE_RESOLVING) {
        add_answer(sb, facts);
        return;
    }
    if (facts->attempts == 0) {
        /* It waits for the first one that it counts. */
        if (!facts->is_attempting && facts->next_attempt_after_ns != LULL_NEVER) {
            add_next(sb, facts, " (next attempt ");
            strbuf_add(sb, ")");
        }
        return;
    }
    strbuf_add(sb, " (");
    if (facts->is_attempting) {
        strbuf_printf(sb, "attempt %" PRIu32 " under way", facts->attempts);
        if (facts->so_far != NULL && *facts->so_far != '\0') {
            strbuf_printf(sb, ", %s", facts->so_far);
        }
    }
    if (failed > 0) {
        strbuf_printf(sb, "%sattempt %" PRIu32 " failed", facts->is_attempting ? "; " : "", failed);
    }
    if (failed > 0 && facts->last_attempt != NULL) {
        strbuf_printf(sb, ": %s", facts->last_attempt);
    }
    add_next(sb, facts, "; next ");
    strbuf_add(sb, ")");
}

/* ": nothing came for 5 s, read timeout 5 s" */
static void add_silence(struct strbuf *sb, const struct failure_facts *facts)
{
    strbuf_add(sb, ": nothing came for ");
    strbuf_duration(sb, facts->quiet_ns);
    strbuf_add(sb, ", read timeout ");
    strbuf_duration(sb, facts->window_ns);
}

/* "127.0.0.1:2379: ", before what the peer did or what became of it, unless that names it already. */
static void add_peer(struct strbuf *sb, const struct failure_facts *facts)
{
    bool is_ours = facts->is_unheard || facts->reason == LULL_REASON_CANCELLED ||
                   facts->reason == LULL_REASON_CHANNEL_CLOSED ||
                   facts->reason == LULL_REASON_INTERNAL;
    if (!is_ours && has_address(facts) && strstr(facts->what, facts->address) == NULL) {
        strbuf_printf(sb, "%s: ", facts->address);
    }
}

/* What leads from the cause to the place. */
static const char *while_text(enum lull_phase phase)
{
    switch (phase) {
    case LULL_PHASE_START:
        return " ";
    case LULL_PHASE_BACKOFF:
        return " while there was ";
    default:
        return " while ";
    }
}

/* The same, where the call may be further than was seen. */
static const char *seen_text(enum lull_phase phase)
{
    switch (phase) {
    case LULL_PHASE_START:
        return "; that was ";
    case LULL_PHASE_BACKOFF:
        return "; there was ";
    default:
        return "; the call was ";
    }
}

static void add_message(struct strbuf *sb, const struct failure_facts *facts)
{
    if (facts->what != NULL) {
        add_peer(sb, facts);
        strbuf_add(sb, facts->what);
    }
    /* A failure of the connection is told by where the call was; of the others some say where as well. */
    bool wants_where = facts->what == NULL || facts->is_unheard || facts->reason == LULL_REASON_CANCELLED ||
                       facts->reason == LULL_REASON_CHANNEL_CLOSED;
    if (wants_where) {
        if (facts->what != NULL) {
            strbuf_add(sb, facts->is_unheard ? seen_text(facts->phase) : while_text(facts->phase));
        }
        add_where(sb, facts);
        add_attempts(sb, facts);
    }
    if (facts->reason == LULL_REASON_READ_TIMEOUT) {
        add_silence(sb, facts);
    }
    if (facts->what == NULL &&
        (facts->phase == LULL_PHASE_WAITING || facts->phase == LULL_PHASE_READING)) {
        strbuf_printf(sb, " (%" PRIu64 " byte%s read on its connection since the request was sent)",
                      facts->bytes_read, plural_s(facts->bytes_read));
    }
}

/* " [connecting 400 ms, waiting 600 ms]", where there is more than one place to name; not what is lost in the whole. */
static void add_times(struct strbuf *sb, const struct failure_facts *facts)
{
    int64_t least_ns = facts->elapsed_ns / 1000 + 1;
    unsigned count = 0;
    for (int i = 0; i < LULL_PHASE_COUNT; i++) {
        count += facts->phase_ns[i] >= least_ns;
    }
    if (count < 2) {
        return;
    }
    const char *before = " [";
    for (int i = 0; i < LULL_PHASE_COUNT; i++) {
        if (facts->phase_ns[i] >= least_ns) {
            strbuf_printf(sb, "%s%s ", before, lull_phase_name(i));
            strbuf_duration(sb, facts->phase_ns[i]);
            before = ", ";
        }
    }
    strbuf_add(sb, "]");
}

static void fill_record(struct failure *failure, const struct failure_facts *facts)
{
    /* Every call that waited for the attempt stands in the backoff behind it, which says nothing. */
    const bool is_attempts =
        facts->reason == LULL_REASON_CONNECT || facts->reason == LULL_REASON_TLS;
    const char *address =
        is_attempts && facts->broke_at != NULL ? facts->broke_at : facts->address;
    struct strbuf sb;
    strbuf_init(&sb, failure->address, sizeof(failure->address));
    if (address != NULL) {
        strbuf_add(&sb, address);
    }
    failure->record = (struct lull_failure){
        .size = sizeof(failure->record),
        .reason = facts->reason,
        .phase = is_attempts ? facts->broke_in : facts->phase,
        .address = failure->address,
        .sys_errno = facts->sys_errno,
        .http_status = facts->http_status,
        .http2_error = facts->http2_error,
        .attempts = facts->attempts,
        .elapsed_ns = facts->elapsed_ns,
        .bytes_read = facts->bytes_read,
        .next_attempt_after_ns = facts->next_attempt_after_ns,
        .line = failure->line,
    };
    memcpy(failure->record.phase_ns, facts->phase_ns, sizeof(failure->record.phase_ns));
}

static void write_line(struct failure *failure, const struct failure_facts *facts,
                       const char *message, bool is_servers)
{
    struct strbuf sb;
    strbuf_init(&sb, failure->line, sizeof(failure->line));
    strbuf_printf(&sb, "%s after ", lull_code_name((int)facts->code));
    strbuf_duration(&sb, facts->elapsed_ns);
    if (facts->method != NULL) {
        strbuf_printf(&sb, " in %.*s%s", METHOD_SHOWN_BYTES, facts->method,
                      strlen(facts->method) > METHOD_SHOWN_BYTES ? "..." : "");
    }
    if (is_servers) {
        strbuf_printf(&sb, ": status from %s", has_address(facts) ? facts->address : "the server");
    }
    if (*message != '\0') {
        /* A server writes it, and a log reads it. */
        strbuf_add(&sb, ": ");
        strbuf_one_line(&sb, message, strlen(message));
    }
    add_times(&sb, facts);
}

void failure_write(struct failure *failure, const struct failure_facts *facts)
{
    struct strbuf sb;
    fill_record(failure, facts);
    strbuf_init(&sb, failure->message, sizeof(failure->message));
    add_message(&sb, facts);
    write_line(failure, facts, failure->message, false);
}

void failure_write_server(struct failure *failure, const struct failure_facts *facts,
                          const char *server_message)
{
    fill_record(failure, facts);
    failure->message[0] = '\0';
    write_line(failure, facts, server_message, true);
}
