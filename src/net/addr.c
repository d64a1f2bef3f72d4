/* SPDX-License-Identifier: MIT */
#include "net/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>

#include "base/strbuf.h"
#include "net/sys.h"

/* Where the path begins in a sockaddr_un. */
#define PATH_AT offsetof(struct sockaddr_un, sun_path)

/* The zone of an IPv6 address (RFC 4007 section 11): a number, or the name of an interface. 0:
 * neither. */
static uint32_t read_zone(const char *zone)
{
    uint64_t number = 0;
    const char *c = zone;

    while (*c >= '0' && *c <= '9' && number <= UINT32_MAX) {
        number = number * 10 + (uint64_t)(*c - '0');
        c++;
    }
    if (c != zone && *c == '\0' && number <= UINT32_MAX) {
        return (uint32_t)number;
    }
    return sys_interface_index(zone);
}

static bool read_ip4(struct sockaddr_in *sin, const char *host)
{
    sin->sin_family = AF_INET;
    return inet_pton(AF_INET, host, &sin->sin_addr) == 1;
}

static bool read_ip6(struct sockaddr_in6 *sin6, const char *host)
{
    char bare[INET6_ADDRSTRLEN];
    const char *percent = strchr(host, '%');
    size_t len = percent == NULL ? strlen(host) : (size_t)(percent - host);

    sin6->sin6_family = AF_INET6;
    if (len >= sizeof(bare)) {
        return false;
    }
    memcpy(bare, host, len);
    bare[len] = '\0';
    if (inet_pton(AF_INET6, bare, &sin6->sin6_addr) != 1) {
        return false;
    }
    if (percent != NULL) {
        sin6->sin6_scope_id = read_zone(percent + 1);
        return sin6->sin6_scope_id != 0;
    }
    return true;
}

bool addr_from_ip(struct addr *out, const char *host, uint16_t port)
{
    struct sockaddr_in sin = {0};
    struct sockaddr_in6 sin6 = {0};

    sin.sin_port = htons(port);
    sin6.sin6_port = htons(port);
    if (read_ip4(&sin, host)) {
        addr_from_sockaddr(out, (const struct sockaddr *)&sin, sizeof(sin));
        return true;
    }
    if (read_ip6(&sin6, host)) {
        addr_from_sockaddr(out, (const struct sockaddr *)&sin6, sizeof(sin6));
        return true;
    }
    memset(out, 0, sizeof(*out));
    return false;
}

/* `lead` bytes of 0 (an abstract name has one), then the name, then `tail` bytes of 0. */
static bool from_name(struct addr *out, const char *name, size_t lead, size_t tail)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    size_t len = strnlen(name, sizeof(sun.sun_path));

    memset(out, 0, sizeof(*out));
    if (len == 0 || lead + len + tail > sizeof(sun.sun_path)) {
        return false;
    }
    memcpy(sun.sun_path + lead, name, len);
    addr_from_sockaddr(out, (const struct sockaddr *)&sun,
                       (socklen_t)(PATH_AT + lead + len + tail));
    return true;
}

bool addr_from_unix(struct addr *out, const char *path)
{
    return from_name(out, path, 0, 1);
}

bool addr_from_abstract(struct addr *out, const char *name)
{
#ifdef __linux__
    return from_name(out, name, 1, 0);
#else
    (void)name;
    memset(out, 0, sizeof(*out));
    return false;
#endif
}

/* A name from the kernel may hold any byte, and need not end in a NUL. */
static void add_name(struct strbuf *sb, const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = (unsigned char)name[i] < 0x20 || name[i] == 0x7f ? '?' : name[i];

        strbuf_add_bytes(sb, &c, 1);
    }
}

static void add_unix(struct strbuf *sb, const struct sockaddr_un *sun, size_t len)
{
    size_t room = len > PATH_AT ? len - PATH_AT : 0;

    if (room > 0 && sun->sun_path[0] == '\0') {
        strbuf_add(sb, "unix-abstract:");
        add_name(sb, sun->sun_path + 1, room - 1);
        return;
    }
    strbuf_add(sb, "unix:");
    add_name(sb, sun->sun_path, strnlen(sun->sun_path, room));
}

static void add_ip6(struct strbuf *sb, const struct sockaddr_in6 *sin6)
{
    char host[INET6_ADDRSTRLEN];

    if (inet_ntop(AF_INET6, &sin6->sin6_addr, host, sizeof(host)) == NULL) {
        return;
    }
    strbuf_printf(sb, "[%s", host);
    if (sin6->sin6_scope_id != 0) {
        strbuf_printf(sb, "%%%u", (unsigned)sin6->sin6_scope_id);
    }
    strbuf_printf(sb, "]:%u", (unsigned)ntohs(sin6->sin6_port));
}

static void add_number(struct strbuf *sb, unsigned number)
{
    char digits[5]; /* a port's */
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    strbuf_add_bytes(sb, digits + at, sizeof(digits) - at);
}

/* "127.0.0.1:80", by hand: each connection and each target has one made. */
static void add_ip4(struct strbuf *sb, const struct sockaddr_in *sin)
{
    const uint32_t host = ntohl(sin->sin_addr.s_addr);

    for (unsigned shift = 32; shift > 0; shift -= 8) {
        add_number(sb, host >> (shift - 8) & 0xff);
        strbuf_add(sb, shift > 8 ? "." : ":");
    }
    add_number(sb, ntohs(sin->sin_port));
}

void addr_from_sockaddr(struct addr *out, const struct sockaddr *sa, socklen_t len)
{
    struct strbuf sb;

    memset(out, 0, sizeof(*out));
    strbuf_init(&sb, out->text, sizeof(out->text));
    if (len < sizeof(sa->sa_family) || len > sizeof(out->storage)) {
        return;
    }
    memcpy(&out->storage, sa, len);
    out->len = len;
    if (out->storage.ss_family == AF_INET && len >= sizeof(struct sockaddr_in)) {
        add_ip4(&sb, (const struct sockaddr_in *)&out->storage);
    } else if (out->storage.ss_family == AF_INET6 && len >= sizeof(struct sockaddr_in6)) {
        add_ip6(&sb, (const struct sockaddr_in6 *)&out->storage);
    } else if (out->storage.ss_family == AF_UNIX) {
        add_unix(&sb, (const struct sockaddr_un *)&out->storage, len);
    } else {
        strbuf_printf(&sb, "family %u", (unsigned)out->storage.ss_family);
    }
}
