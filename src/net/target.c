/* SPDX-License-Identifier: MIT */
/*
 * The schemes of targets. See target.h; net/host_port.c reads hosts and ports.
 */
#include "net/target.h"

#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "base/rc.h"
#include "net/host_port.h"

#define TARGET_MAX_BYTES 1024

/* What is being read, and into what. */
struct input {
    struct reading reading;
    struct target *out;
    uint16_t default_port;
};

static int invalid(const struct input *in, const char *part, struct span bytes, const char *why)
{
    return host_port_refuse(&in->reading, LULL_RC_INVALID, part, bytes, why);
}

static struct span whole(const struct input *in)
{
    return span_of(in->reading.text);
}

static bool span_is(struct span bytes, const char *word)
{
    return bytes.len == strlen(word) && strncasecmp(bytes.at, word, bytes.len) == 0;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ---- hosts */

/* A zone means something on this machine only (RFC 6874 section 4). */
static struct span without_zone(struct span host)
{
    struct span bare, zone;

    (void)span_cut(host, '%', &bare, &zone);
    return bare;
}

/* Puts the bytes at `at`; where the next go. A host has at most 253 bytes, a port 5: there is room. */
static char *put(char *at, const char *bytes, size_t len)
{
    memcpy(at, bytes, len);
    return at + len;
}

/* What the server is called: the host and, where one was written, the port. By hand: each channel made asks for it. */
static void set_names(const struct input *in, const struct host_port *from)
{
    const struct span host = without_zone(from->host);
    char *at = in->out->authority;

    *put(in->out->host, host.at, host.len) = '\0';
    at = put(at, "[", from->is_bracketed);
    at = put(at, host.at, host.len);
    at = put(at, "]", from->is_bracketed);
    at = put(at, ":", from->port_text.len > 0);
    at = put(at, from->port_text.at, from->port_text.len);
    *at = '\0';
    in->out->port = from->port;
}

static void add_addr(struct target *out, const struct addr *addr)
{
    out->addrs[out->addr_count++] = *addr;
}

/* Both loopbacks; IPv4 first, for there are more servers that have no other. */
static void add_loopback(struct target *out, uint16_t port)
{
    struct addr addr;

    if (addr_from_ip(&addr, "127.0.0.1", port)) {
        add_addr(out, &addr);
    }
    if (addr_from_ip(&addr, "::1", port)) {
        add_addr(out, &addr);
    }
}

/* An address, localhost, or a name. */
static int read_one(const struct input *in, struct span text)
{
    struct host_port one;

    if (text.len > 0 && memchr(text.at, ',', text.len) != NULL) {
        return invalid(in, "target", text,
                       "lists several addresses: write ipv4: or ipv6: before them");
    }
    int rc = host_port_read(&in->reading, text, in->default_port, &one);
    if (rc != LULL_OK) {
        return rc;
    }
    set_names(in, &one);
    if (one.is_localhost) {
        add_loopback(in->out, one.port);
    } else if (one.is_numeric) {
        add_addr(in->out, &one.addr);
    }
    return LULL_OK;
}

/* ipv4:a:1,b:2 and ipv6:[a]:1,[b]:2 */
static int read_list(const struct input *in, struct span text, int family)
{
    const bool is_ip6 = family == AF_INET6;
    struct span rest = text;
    bool has_more = true;

    while (has_more) {
        struct span item;
        struct host_port one;

        has_more = span_cut(rest, ',', &item, &rest);
        if (item.len == 0 && (has_more || in->out->addr_count > 0)) {
            return invalid(in, "target: list", text, "has an empty place");
        }
        int rc = host_port_read(&in->reading, item, in->default_port, &one);
        if (rc != LULL_OK) {
            return rc;
        }
        if (is_ip6 && !one.is_bracketed) {
            return invalid(in, "target: host", one.host, "is not an IPv6 address in brackets");
        }
        if (!one.is_numeric || one.addr.storage.ss_family != family) {
            return invalid(in, "target: host", one.host,
                           is_ip6 ? "is not an IPv6 address in brackets"
                                  : "is not an IPv4 address");
        }
        if (in->out->addr_count == TARGET_ADDRS_MAX) {
            return invalid(in, "target: list", text, "has more than 16 addresses");
        }
        if (in->out->addr_count == 0) {
            set_names(in, &one);
        }
        add_addr(in->out, &one.addr);
    }
    return LULL_OK;
}

/* ---- schemes */

/*
 * Steps over "//authority/" (RFC 3986 section 3). *authority is empty when there is none; the slash
 * stays where `keep_slash` says that what follows is a path of the file system.
 */
static int skip_authority(const struct input *in, const char *rest, bool keep_slash,
                          struct span *authority, const char **after)
{
    *authority = (struct span){rest, 0};
    *after = rest;
    if (rest[0] == '/' && rest[1] == '/') {
        const char *slash = strchr(rest + 2, '/');

        if (slash == NULL) {
            return invalid(in, "target: text", span_of(rest),
                           "is an authority and nothing after it: three slashes mean none");
        }
        *authority = (struct span){rest + 2, (size_t)(slash - rest) - 2};
        *after = slash;
    }
    if ((*after)[0] == '/' && !keep_slash) {
        (*after)++;
    }
    return LULL_OK;
}

/* For the schemes where there is nobody to be asked. */
static int skip_no_authority(const struct input *in, const char *rest, bool keep_slash,
                             const char **after)
{
    struct span authority;
    int rc = skip_authority(in, rest, keep_slash, &authority, after);

    if (rc == LULL_OK && authority.len > 0) {
        return invalid(in, "target: authority", authority, "does not belong in this scheme");
    }
    return rc;
}

/* The name server of dns://server/: a number, for who would resolve its name? */
static int read_server(const struct input *in, struct span authority)
{
    struct host_port server;
    int rc = host_port_read(&in->reading, authority, TARGET_PORT_DNS, &server);

    if (rc != LULL_OK) {
        return rc;
    }
    if (!server.is_numeric) {
        return invalid(in, "target: authority", authority,
                       "is not the address of a name server; three slashes mean none");
    }
    in->out->server = server.addr;
    return LULL_OK;
}

static int read_dns(const struct input *in, const char *rest)
{
    struct span authority;
    int rc = skip_authority(in, rest, false, &authority, &rest);

    if (rc == LULL_OK && authority.len > 0) {
        rc = read_server(in, authority);
    }
    return rc != LULL_OK ? rc : read_one(in, span_of(rest));
}

static int read_ipv4(const struct input *in, const char *rest)
{
    int rc = skip_no_authority(in, rest, false, &rest);

    return rc != LULL_OK ? rc : read_list(in, span_of(rest), AF_INET);
}

static int read_ipv6(const struct input *in, const char *rest)
{
    int rc = skip_no_authority(in, rest, false, &rest);

    return rc != LULL_OK ? rc : read_list(in, span_of(rest), AF_INET6);
}

static int finish_unix(const struct input *in, const struct addr *addr)
{
    add_addr(in->out, addr);
    strcpy(in->out->host, "localhost");
    strcpy(in->out->authority, "localhost");
    return LULL_OK;
}

static int read_unix(const struct input *in, const char *rest)
{
    struct addr addr;
    int rc = skip_no_authority(in, rest, true, &rest);
    size_t len = strlen(rest);

    if (rc != LULL_OK) {
        return rc;
    }
    if (len == 0) {
        return invalid(in, "target", whole(in), "has an empty path");
    }
    if (rest[len - 1] == '/') {
        return invalid(in, "target: path", span_of(rest),
                       "ends in a slash: a directory, no socket");
    }
    if (!addr_from_unix(&addr, rest)) {
        return invalid(in, "target: path", span_of(rest), "is too long for a unix socket");
    }
    return finish_unix(in, &addr);
}

static int read_unix_abstract(const struct input *in, const char *rest)
{
    struct addr addr;
    int rc = skip_no_authority(in, rest, true, &rest);

    if (rc != LULL_OK) {
        return rc;
    }
    if (rest[0] == '\0') {
        return invalid(in, "target", whole(in), "has an empty name");
    }
    if (strlen(rest) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
        return invalid(in, "target: name", span_of(rest), "is too long for a unix socket");
    }
    if (!addr_from_abstract(&addr, rest)) {
        return host_port_refuse(&in->reading, LULL_RC_UNSUPPORTED, "target: name", span_of(rest),
                                "is abstract, and this system has only paths");
    }
    return finish_unix(in, &addr);
}

static const struct scheme {
    const char *name;
    int (*read)(const struct input *in, const char *rest);
} schemes[] = {
    {"dns", read_dns},
    {"ipv4", read_ipv4},
    {"ipv6", read_ipv6},
    {"unix", read_unix},
    {"unix-abstract", read_unix_abstract},
};

/* RFC 3986 section 3.1. */
static bool is_scheme(struct span word)
{
    if (word.len == 0 || !is_letter(word.at[0])) {
        return false;
    }
    for (size_t i = 1; i < word.len; i++) {
        char c = word.at[i];

        if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '+' && c != '-' && c != '.') {
            return false;
        }
    }
    return true;
}

/* What no form of target may be. */
static int check_text(const struct input *in)
{
    if (in->reading.text == NULL) {
        return rc_fail(in->reading.error, LULL_RC_INVALID, "target is NULL");
    }
    const struct span all = whole(in);
    if (all.len == 0) {
        return rc_fail(in->reading.error, LULL_RC_INVALID, "target is empty");
    }
    if (all.len > TARGET_MAX_BYTES) {
        return invalid(in, "target", all, "is too long");
    }
    for (size_t i = 0; i < all.len; i++) {
        unsigned char c = (unsigned char)all.at[i];

        if (c < 0x20 || c == 0x7f) {
            return invalid(in, "target", all, "holds a control character");
        }
    }
    return LULL_OK;
}

static int read_target(const struct input *in)
{
    const char *text = in->reading.text;
    const char *colon = strchr(text, ':');
    struct span word = {text, colon == NULL ? 0 : (size_t)(colon - text)};

    for (size_t i = 0; colon != NULL && i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (span_is(word, schemes[i].name)) {
            return schemes[i].read(in, colon + 1);
        }
    }
    if (is_scheme(word) && colon[1] == '/' && colon[2] == '/') {
        return invalid(in, "target: scheme", word,
                       "is unknown; write host:port alone, or dns:, ipv4:, ipv6:, unix: or unix-abstract: "
                       "before it");
    }
    return read_one(in, whole(in));
}

/* The addresses that nobody counts, most of it, are left as they are. */
static void clear(struct target *out)
{
    out->addr_count = 0;
    out->host[0] = '\0';
    out->authority[0] = '\0';
    out->port = 0;
    out->server.len = 0;
    out->server.text[0] = '\0';
}

int target_parse(const char *text, uint16_t default_port, struct target *out,
                 struct lull_error *error)
{
    const struct input in = {{text, error}, out, default_port};

    clear(out);
    int rc = check_text(&in);
    if (rc == LULL_OK) {
        rc = read_target(&in);
    }
    if (rc != LULL_OK) {
        clear(out);
        return rc;
    }
    return rc_ok(error);
}
