/* SPDX-License-Identifier: MIT */
#include "net/target.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "base/rc.h"
#include "base/strbuf.h"

/* Longer than any name (RFC 1035 section 2.3.4: 253 characters) or path of a socket. */
#define TARGET_MAX_BYTES 1024
#define NAME_MAX_BYTES   253
#define LABEL_MAX_BYTES  63

/* How much of a caller's text an error repeats. */
#define QUOTED_BYTES 48

/* Which hosts a scheme takes. */
enum family { FAMILY_ANY, FAMILY_IP4, FAMILY_IP6 };

/* What is being read, for the error's text. */
struct reading {
    const char *text;
    struct target *out;
    struct lull_error *error;
};

/* A run of bytes of the target. */
struct span {
    const char *at;
    size_t len;
};

static struct span span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

/* Says which part was wrong: `part`, its bytes in quotes, and what is wrong with it. */
static int refuse(const struct reading *r, enum lull_rc rc, const char *part, struct span bytes,
                  const char *why)
{
    char text[LULL_ERROR_TEXT_BYTES];
    struct strbuf sb;

    strbuf_init(&sb, text, sizeof(text));
    strbuf_printf(&sb, "%s ", part);
    strbuf_quoted(&sb, bytes.at, bytes.len, QUOTED_BYTES);
    strbuf_printf(&sb, " %s", why);
    return rc_fail(r->error, rc, "%s", text);
}

static int invalid(const struct reading *r, const char *part, struct span bytes, const char *why)
{
    return refuse(r, LULL_RC_INVALID, part, bytes, why);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool span_is(struct span bytes, const char *word)
{
    return bytes.len == strlen(word) && strncasecmp(bytes.at, word, bytes.len) == 0;
}

/* ---- ports */

static int read_port(const struct reading *r, struct span digits, uint16_t *port)
{
    uint32_t value = 0;
    bool is_number = digits.len > 0 && digits.len <= 5 && digits.at[0] != '0';

    for (size_t i = 0; is_number && i < digits.len; i++) {
        is_number = is_digit(digits.at[i]);
        value = value * 10 + (uint32_t)(digits.at[i] - '0');
    }
    if (digits.len == 0) {
        return invalid(r, "target", span_of(r->text), "has no port after its last colon");
    }
    if (!is_number || value > UINT16_MAX) {
        return invalid(r, "target: port", digits, "is not a number from 1 to 65535");
    }
    *port = (uint16_t)value;
    return LULL_OK;
}

/* ---- hosts */

/* RFC 6761 section 6.3: the name and every name under it are this machine. */
static bool is_localhost(struct span host)
{
    static const char name[] = "localhost";
    const size_t len = sizeof(name) - 1;

    if (host.len > 0 && host.at[host.len - 1] == '.') {
        host.len--;
    }
    return host.len >= len && strncasecmp(host.at + host.len - len, name, len) == 0 &&
           (host.len == len || host.at[host.len - len - 1] == '.');
}

/* A resolver would take a name that ends in a number for an IPv4 address in some old notation. */
static bool ends_in_number(struct span host)
{
    size_t i = host.len;

    while (i > 0 && is_digit(host.at[i - 1])) {
        i--;
    }
    return i < host.len && (i == 0 || host.at[i - 1] == '.');
}

/* Could a resolver read it? */
static int check_name(const struct reading *r, struct span host)
{
    size_t label = 0;
    struct span name = host;

    if (name.len > 1 && name.at[name.len - 1] == '.') {
        name.len--;
    }
    if (name.len > NAME_MAX_BYTES) {
        return invalid(r, "target: host", host, "is longer than the 253 bytes of a name");
    }
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        struct span stray = {name.at + i, 1};

        if (c == '.') {
            if (label == 0) {
                return invalid(r, "target: host", host, "has an empty label");
            }
            label = 0;
            continue;
        }
        if ((unsigned char)c >= 0x80) {
            return invalid(r, "target: host", host,
                           "is not ASCII; write the name in its xn-- form");
        }
        if (!is_letter(c) && !is_digit(c) && c != '-' && c != '_') {
            return invalid(r, "target: character", stray, "does not belong in a host");
        }
        if (++label > LABEL_MAX_BYTES) {
            return invalid(r, "target: host", host, "has a label of more than 63 bytes");
        }
    }
    if (label == 0) {
        return invalid(r, "target: host", host, "has an empty label");
    }
    if (ends_in_number(name)) {
        return invalid(r, "target: host", host, "is not an IPv4 address");
    }
    return LULL_OK;
}

/* Fills the address of a host that needs no resolver. *is_numeric false: a name. */
static int read_host(const struct reading *r, struct span host, bool is_bracketed, uint16_t port,
                     bool *is_numeric)
{
    char text[NAME_MAX_BYTES + 2];

    *is_numeric = false;
    if (host.len == 0) {
        return invalid(r, "target", span_of(r->text), "names no host");
    }
    if (host.len < sizeof(text)) {
        memcpy(text, host.at, host.len);
        text[host.len] = '\0';
        *is_numeric = addr_from_ip(&r->out->addr, is_localhost(host) ? "127.0.0.1" : text, port);
    }
    if (is_bracketed && (!*is_numeric || r->out->addr.storage.ss_family != AF_INET6)) {
        return invalid(r, "target: host", host,
                       memchr(host.at, '%', host.len) != NULL
                           ? "is not an IPv6 address with a zone of this machine"
                           : "in brackets is not an IPv6 address");
    }
    return *is_numeric ? LULL_OK : check_name(r, host);
}

/* The peer's part of the authority. A zone means something on this machine only (RFC 6874 section
 * 4). */
static void set_authority(const struct reading *r, struct span host, bool is_bracketed,
                          struct span port)
{
    const char *zone = memchr(host.at, '%', host.len);
    size_t len = zone == NULL ? host.len : (size_t)(zone - host.at);

    snprintf(r->out->authority, sizeof(r->out->authority), "%s%.*s%s:%.*s", is_bracketed ? "[" : "",
             (int)len, host.at, is_bracketed ? "]" : "", (int)port.len, port.at);
}

static int missing_port(const struct reading *r, struct span rest)
{
    return invalid(r, "target", rest,
                   rest.len > 0 && rest.at[0] == '/'
                       ? "has no port; a unix socket is written unix:/path"
                       : "has no port, and there is no default: write host:port");
}

/* Splits "host:port" or "[address]:port". */
static int split(const struct reading *r, const char *rest, struct span *host, struct span *port,
                 bool *is_bracketed)
{
    const char *colon = strchr(rest, ':');

    *is_bracketed = rest[0] == '[';
    if (*is_bracketed) {
        const char *end = strchr(rest, ']');

        if (end == NULL) {
            return invalid(r, "target: host", span_of(rest), "has no closing bracket");
        }
        *host = (struct span){rest + 1, (size_t)(end - rest) - 1};
        if (end[1] == '\0') {
            return missing_port(r, span_of(rest));
        }
        if (end[1] != ':') {
            return invalid(r, "target: text", span_of(end + 1), "after the bracket is not a port");
        }
        *port = span_of(end + 2);
        return LULL_OK;
    }
    if (colon == NULL) {
        return missing_port(r, span_of(rest));
    }
    if (strchr(rest, ',') != NULL) {
        return invalid(r, "target", span_of(rest), "lists several addresses; this version dials one");
    }
    if (strchr(colon + 1, ':') != NULL) {
        return invalid(r, "target: host", span_of(rest),
                       "has more than one colon; an IPv6 address is written [address]:port");
    }
    *host = (struct span){rest, (size_t)(colon - rest)};
    *port = span_of(colon + 1);
    return LULL_OK;
}

static int read_host_port(const struct reading *r, const char *rest, enum family family)
{
    struct span host = {0}, port_text = {0};
    bool is_bracketed = false, is_numeric = false;
    uint16_t port = 0;
    int rc;

    if (family != FAMILY_ANY && strchr(rest, ',') != NULL) {
        return refuse(r, LULL_RC_UNSUPPORTED, "target", span_of(rest),
                      "lists several addresses; this version dials one");
    }
    if (rest[0] == '\0') {
        return invalid(r, "target", span_of(r->text), "names no host");
    }
    rc = split(r, rest, &host, &port_text, &is_bracketed);
    if (rc == LULL_OK) {
        rc = read_port(r, port_text, &port);
    }
    if (rc == LULL_OK) {
        rc = read_host(r, host, is_bracketed, port, &is_numeric);
    }
    if (rc != LULL_OK) {
        return rc;
    }
    if (family == FAMILY_IP4 &&
        (!is_numeric || r->out->addr.storage.ss_family != AF_INET || !is_digit(host.at[0]))) {
        return invalid(r, "target: host", host, "is not an IPv4 address");
    }
    if (family == FAMILY_IP6 && !is_bracketed) {
        return invalid(r, "target: host", host, "is not an IPv6 address in brackets");
    }
    if (!is_numeric) {
        return refuse(r, LULL_RC_UNSUPPORTED, "target: host", host,
                      "is a name; this version dials addresses, unix sockets and localhost: resolve it "
                      "yourself, and give the name as authority");
    }
    set_authority(r, host, is_bracketed, port_text);
    return LULL_OK;
}

/* ---- schemes */

/*
 * Steps over "//authority/" (RFC 3986 section 3). *authority is empty when there is none; the slash
 * stays where `keep_slash` says that what follows is a path of the file system.
 */
static int skip_authority(const struct reading *r, const char *rest, bool keep_slash,
                          struct span *authority, const char **after)
{
    *authority = (struct span){rest, 0};
    *after = rest;
    if (rest[0] == '/' && rest[1] == '/') {
        const char *slash = strchr(rest + 2, '/');

        if (slash == NULL) {
            return invalid(r, "target: text", span_of(rest),
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
static int skip_no_authority(const struct reading *r, const char *rest, bool keep_slash,
                             const char **after)
{
    struct span authority;
    int rc = skip_authority(r, rest, keep_slash, &authority, after);

    if (rc == LULL_OK && authority.len > 0) {
        return invalid(r, "target: authority", authority, "does not belong in this scheme");
    }
    return rc;
}

/* The authority is the name server to ask; an address or localhost asks nobody. */
static int read_dns(const struct reading *r, const char *rest)
{
    struct span authority;
    int rc = skip_authority(r, rest, false, &authority, &rest);

    return rc != LULL_OK ? rc : read_host_port(r, rest, FAMILY_ANY);
}

static int read_ipv4(const struct reading *r, const char *rest)
{
    int rc = skip_no_authority(r, rest, false, &rest);

    return rc != LULL_OK ? rc : read_host_port(r, rest, FAMILY_IP4);
}

static int read_ipv6(const struct reading *r, const char *rest)
{
    int rc = skip_no_authority(r, rest, false, &rest);

    return rc != LULL_OK ? rc : read_host_port(r, rest, FAMILY_IP6);
}

static int read_unix(const struct reading *r, const char *rest)
{
    int rc = skip_no_authority(r, rest, true, &rest);
    size_t len = strlen(rest);

    if (rc != LULL_OK) {
        return rc;
    }
    if (len == 0) {
        return invalid(r, "target", span_of(r->text), "has an empty path");
    }
    if (rest[len - 1] == '/') {
        return invalid(r, "target: path", span_of(rest), "ends in a slash: a directory, no socket");
    }
    if (!addr_from_unix(&r->out->addr, rest)) {
        return invalid(r, "target: path", span_of(rest), "is too long for a unix socket");
    }
    strcpy(r->out->authority, "localhost");
    return LULL_OK;
}

static int read_unix_abstract(const struct reading *r, const char *rest)
{
    int rc = skip_no_authority(r, rest, true, &rest);

    if (rc != LULL_OK) {
        return rc;
    }
    if (rest[0] == '\0') {
        return invalid(r, "target", span_of(r->text), "has an empty name");
    }
    if (strlen(rest) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
        return invalid(r, "target: name", span_of(rest), "is too long for a unix socket");
    }
    if (!addr_from_abstract(&r->out->addr, rest)) {
        return refuse(r, LULL_RC_UNSUPPORTED, "target: name", span_of(rest),
                      "is abstract, and this system has only paths");
    }
    strcpy(r->out->authority, "localhost");
    return LULL_OK;
}

static const struct scheme {
    const char *name;
    int (*read)(const struct reading *r, const char *rest);
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

        if (!is_letter(c) && !is_digit(c) && c != '+' && c != '-' && c != '.') {
            return false;
        }
    }
    return true;
}

/* What no form of target may be. */
static int check_text(const struct reading *r)
{
    struct span all;

    if (r->text == NULL) {
        return rc_fail(r->error, LULL_RC_INVALID, "target is NULL");
    }
    all = span_of(r->text);
    if (all.len == 0) {
        return rc_fail(r->error, LULL_RC_INVALID, "target is empty");
    }
    if (all.len > TARGET_MAX_BYTES) {
        return invalid(r, "target", all, "is too long");
    }
    for (size_t i = 0; i < all.len; i++) {
        unsigned char c = (unsigned char)all.at[i];

        if (c < 0x20 || c == 0x7f) {
            return invalid(r, "target", all, "holds a control character");
        }
    }
    return LULL_OK;
}

static int read_target(const struct reading *r)
{
    const char *colon = strchr(r->text, ':');
    struct span word = {r->text, colon == NULL ? 0 : (size_t)(colon - r->text)};

    for (size_t i = 0; colon != NULL && i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (span_is(word, schemes[i].name)) {
            return schemes[i].read(r, colon + 1);
        }
    }
    if (is_scheme(word) && colon[1] == '/' && colon[2] == '/') {
        return invalid(r, "target: scheme", word,
                       "is unknown; write host:port alone, or dns:, ipv4:, ipv6:, unix: or unix-abstract: "
                       "before it");
    }
    return read_host_port(r, r->text, FAMILY_ANY);
}

int target_parse(const char *text, struct target *out, struct lull_error *error)
{
    struct reading r = {text, out, error};
    int rc;

    memset(out, 0, sizeof(*out));
    rc = check_text(&r);
    if (rc == LULL_OK) {
        rc = read_target(&r);
    }
    if (rc != LULL_OK) {
        memset(out, 0, sizeof(*out));
        return rc;
    }
    return rc_ok(error);
}
