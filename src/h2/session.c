/* SPDX-License-Identifier: MIT */
/*
 * Making and freeing the nghttp2 session. See session.h.
 */
#include <config.h>

#include "h2/session.h"

#include <string.h>

#include "base/size_classes.h"
#include "h2/inner.h"
#include "h2/session_cb.h"

/* RFC 9113 section 6.9.2: the connection's window before any WINDOW_UPDATE. */
#define FIRST_WINDOW_BYTES 65535
#define WINDOW_BYTES_MAX   0x7fffffff

/* More entries in one SETTINGS frame than any server has reason to send. */
#define SETTINGS_MAX 32

/* Of one size: more than a session with one stream has. */
#define MANY_BLOCKS 16

static void *count(struct session *session, void *memory)
{
    session->blocks += memory != NULL;
    return memory;
}

/* The first block of this size is the frame buffer, asked for when the session is made (stock.h); later ones are CONTINUATIONs'. */
static bool is_frame(const struct session *session, size_t size)
{
    return size == H2_STOCK_FRAME_BYTES && session->frame == NULL;
}

static void *session_malloc(size_t size, void *ctx)
{
    struct session *session = ctx;
    if (is_frame(session, size)) {
        return count(session, session->frame = session->stock->frame);
    }
    return count(session, size_classes_alloc(session->classes, size));
}

static void *session_calloc(size_t each, size_t number, void *ctx)
{
    struct session *session = ctx;
    if (each != 0 && number > SIZE_MAX / each) {
        return NULL;
    }
    return count(session, size_classes_zeroed(session->classes, each * number));
}

static void *session_realloc(void *memory, size_t size, void *ctx)
{
    struct session *session = ctx;
    void *resized;
    if (memory == NULL) {
        return session_malloc(size, ctx);
    }
    if (memory == session->frame) {
        return size <= H2_STOCK_FRAME_BYTES ? memory : NULL; /* nghttp2 makes another and frees this one */
    }
    resized = size_classes_resize(session->classes, memory, size);
    return resized == memory ? memory : count(session, resized);
}

static void session_release(void *memory, void *ctx)
{
    struct session *session = ctx;
    if (memory != session->frame) {
        size_classes_release(session->classes, memory);
    }
}

static int32_t window(uint32_t bytes)
{
    return bytes > WINDOW_BYTES_MAX ? WINDOW_BYTES_MAX : (int32_t)bytes;
}

/* Our SETTINGS, and the WINDOW_UPDATE that goes right behind them. */
static int submit_settings(struct h2_transport *t)
{
    nghttp2_settings_entry entries[3];
    size_t number = 0;
    int rv;

    if (!transport_is_server(t)) {
        entries[number].settings_id = NGHTTP2_SETTINGS_ENABLE_PUSH;
        entries[number++].value = 0;
    } else if (t->options.max_streams != 0) {
        entries[number].settings_id = NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS;
        entries[number++].value = t->options.max_streams;
    }
    entries[number].settings_id = NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE;
    entries[number++].value = (uint32_t)window(t->options.stream_window_bytes);
    if (t->options.max_metadata_bytes != 0) {
        entries[number].settings_id = NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE;
        entries[number++].value = t->options.max_metadata_bytes;
    }
    rv = nghttp2_submit_settings(t->session.nghttp2, NGHTTP2_FLAG_NONE, entries, number);
    if (rv == 0 && t->options.connection_window_bytes > FIRST_WINDOW_BYTES) {
        rv = nghttp2_session_set_local_window_size(t->session.nghttp2, NGHTTP2_FLAG_NONE, 0,
                                                   window(t->options.connection_window_bytes));
    }
    return rv;
}

/*
 * RULINGS 25: nghttp2 (1.57 and newer) ends a connection by real time when resets come too fast. Ours is a matter of the server's
 * police and of its clock.
 */
static void lift_reset_limit(nghttp2_option *option)
{
#ifdef HAVE_NGHTTP2_OPTION_SET_STREAM_RESET_RATE_LIMIT
    nghttp2_option_set_stream_reset_rate_limit(option, UINT64_MAX, UINT64_MAX);
#else
    (void)option;
#endif
}

/* The preface waits in the frame buffer, where it cannot stay: send.c sends it. */
static int take_preface(struct session *session)
{
    const uint8_t *preface;
    const ssize_t len = nghttp2_session_mem_send(session->nghttp2, &preface);
    return len == NGHTTP2_CLIENT_MAGIC_LEN ? 0 : NGHTTP2_ERR_NOMEM;
}

static int make(struct h2_transport *t, const nghttp2_session_callbacks *callbacks,
                const nghttp2_option *option)
{
    struct session *session = &t->session;
    int rv;
    if (transport_is_server(t)) {
        return nghttp2_session_server_new3(&session->nghttp2, callbacks, t, option, &session->mem);
    }
    rv = nghttp2_session_client_new3(&session->nghttp2, callbacks, t, option, &session->mem);
    return rv == 0 ? take_preface(session) : rv;
}

int session_init(struct h2_transport *t)
{
    struct session *session = &t->session;
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    int rc = LULL_RC_NOMEM;

    session->classes = executor_classes(t->executor);
    session->stock = t->stock;
    session->mem.mem_user_data = session;
    session->mem.malloc = session_malloc;
    session->mem.calloc = session_calloc;
    session->mem.realloc = session_realloc;
    session->mem.free = session_release;
    if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&option) != 0) {
        goto out;
    }
    session_cb_install(callbacks);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_http_messaging(option, 1);
    nghttp2_option_set_max_settings(option, SETTINGS_MAX);
    nghttp2_option_set_no_closed_streams(option, transport_is_server(t) ? 1 : 0);
    lift_reset_limit(option);
    if (make(t, callbacks, option) == 0 && submit_settings(t) == 0) {
        rc = LULL_OK;
    }
out:
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    return rc;
}

void session_fini(struct session *session)
{
    nghttp2_session_del(session->nghttp2);
    session->nghttp2 = NULL;
    /* The last session of the executor takes the blocks of many streams along; those of a few are there for the next one, or until a
     * channel sleeps, which is small. */
    if (session->classes != NULL) {
        size_classes_drop_unused(session->classes, MANY_BLOCKS);
    }
}

bool session_is_condemned(const struct h2_transport *t)
{
    return !transport_is_server(t) && !t->goaway.is_seen && !t->is_out_of_ids &&
           nghttp2_session_check_request_allowed(t->session.nghttp2) == 0;
}
