/* SPDX-License-Identifier: MIT */
/*
 * Hosts, ports, and the words for what is wrong with them. See host_port.h.
 */
#include "net/host_port.h"

#include <string.h>
#include <strings.h>

#include "base/rc.h"
#include "base/strbuf.h"

/* RFC 1035 section 2.3.4. */
#define NAME_MAX_BYTES  253
#define LABEL_MAX_BYTES 63

/* How much of a caller's text an error repeats. */
#define QUOTED_BYTES 48

struct span span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

bool span_cut(struct span text, char c, struct span *head, struct span *rest)
{
    const char *at = text.len == 0 ? NULL : memchr(text.at, c, text.len);

    *head = text;
    *rest = (struct span){text.at + text.len, 0};
    if (at == NULL) {
        return false;
    }
    head->len = (size_t)(at - text.at);
    *rest = (struct span){at + 1, text.len - head->len - 1};
    return true;
}

int host_port_refuse(const struct reading *r, enum lull_rc rc, const char *part, struct span bytes,
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
    return host_port_refuse(r, LULL_RC_INVALID, part, bytes, why);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
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

static int read_host(const struct reading *r, struct host_port *out)
{
    char text[NAME_MAX_BYTES + 2];
    const struct span host = out->host;

    if (host.len == 0) {
        return invalid(r, "target", span_of(r->text), "names no host");
    }
    if (host.len < sizeof(text)) {
        memcpy(text, host.at, host.len);
        text[host.len] = '\0';
        out->is_numeric = addr_from_ip(&out->addr, text, out->port);
    }
    if (out->is_bracketed &&
        (!out->is_numeric || out->addr.storage.ss_family != AF_INET6)) {
        return invalid(r, "target: host", host,
                       memchr(host.at, '%', host.len) != NULL
                           ? "is not an IPv6 address with a zone of this machine"
                           : "in brackets is not an IPv6 address");
    }
    out->is_localhost = !out->is_numeric && is_localhost(host);
    return out->is_numeric ? LULL_OK : check_name(r, host);
}

static int missing_port(const struct reading *r, struct span rest)
{
    return invalid(r, "target", rest,
                   rest.len > 0 && rest.at[0] == '/'
                       ? "has no port; a unix socket is written unix:/path"
                       : "has no port, and there is no default: write host:port");
}

/* Splits "host:port", "[address]:port", or either without its port. */
static int split(const struct reading *r, struct span text, struct host_port *out, bool *has_port)
{
    out->is_bracketed = text.at[0] == '[';
    if (out->is_bracketed) {
        struct span address = {text.at + 1, text.len - 1};
        struct span after;

        if (!span_cut(address, ']', &out->host, &after)) {
            return invalid(r, "target: host", text, "has no closing bracket");
        }
        *has_port = after.len > 0;
        if (after.len > 0 && after.at[0] != ':') {
            return invalid(r, "target: text", after, "after the bracket is not a port");
        }
        out->port_text = (struct span){after.at + *has_port, after.len - *has_port};
        return LULL_OK;
    }
    *has_port = span_cut(text, ':', &out->host, &out->port_text);
    if (*has_port && out->port_text.len > 0 &&
        memchr(out->port_text.at, ':', out->port_text.len) != NULL) {
        return invalid(r, "target: host", text,
                       "has more than one colon; an IPv6 address is written [address]:port");
    }
    return LULL_OK;
}

int host_port_read(const struct reading *r, struct span text, uint16_t default_port,
                   struct host_port *out)
{
    bool has_port = false;

    memset(out, 0, sizeof(*out));
    out->port = default_port;
    if (text.len == 0) {
        return invalid(r, "target", span_of(r->text), "names no host");
    }
    int rc = split(r, text, out, &has_port);
    if (rc == LULL_OK && has_port) {
        rc = read_port(r, out->port_text, &out->port);
    }
    if (rc == LULL_OK && !has_port && default_port == 0) {
        rc = missing_port(r, text);
    }
    return rc == LULL_OK ? read_host(r, out) : rc;
}
