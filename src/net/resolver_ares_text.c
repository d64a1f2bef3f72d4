/* SPDX-License-Identifier: MIT */
/*
 * See resolver_ares_text.h.
 */
#include "net/resolver_ares_text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

#define PORT_DNS         53
#define SERVERS_TOLD_MAX 3

static const struct {
    int status;
    const char *name;
} names[] = {
    {ARES_ENODATA, "no A and no AAAA record"},
    {ARES_EFORMERR, "FORMERR"},
    {ARES_ESERVFAIL, "SERVFAIL"},
    {ARES_ENOTFOUND, "NXDOMAIN"},
    {ARES_ENOTIMP, "NOTIMP"},
    {ARES_EREFUSED, "REFUSED"},
    {ARES_EBADNAME, "no name of DNS"},
    {ARES_EBADRESP, "a malformed answer"},
    {ARES_ECONNREFUSED, "no usable answer"},
    {ARES_ETIMEOUT, "no answer"},
    {ARES_ENOMEM, "no memory"},
};

const char *resolver_ares_status(int status)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].status == status) {
            return names[i].name;
        }
    }
    return ares_strerror(status);
}

static void add_server(const struct ares_addr_port_node *server, struct strbuf *out)
{
    char host[INET6_ADDRSTRLEN];
    const bool is_ip6 = server->family == AF_INET6;
    const int port = server->udp_port != 0 ? server->udp_port : PORT_DNS;

    if (inet_ntop(server->family, &server->addr, host, sizeof(host)) != NULL) {
        strbuf_printf(out, is_ip6 ? "[%s]:%d" : "%s:%d", host, port);
    }
}

unsigned resolver_ares_servers(ares_channel channel)
{
    struct ares_addr_port_node *servers = NULL;
    unsigned count = 0;

    if (ares_get_servers_ports(channel, &servers) == ARES_SUCCESS && servers != NULL) {
        for (const struct ares_addr_port_node *server = servers; server != NULL;
             server = server->next) {
            count++;
        }
        ares_free_data(servers);
    }
    return count;
}

void resolver_ares_asked(ares_channel channel, struct strbuf *out)
{
    struct ares_addr_port_node *servers = NULL;
    unsigned count = 0;

    if (ares_get_servers_ports(channel, &servers) != ARES_SUCCESS || servers == NULL) {
        strbuf_add(out, "no name server is known");
        return;
    }
    for (const struct ares_addr_port_node *server = servers; server != NULL;
         server = server->next) {
        if (count == SERVERS_TOLD_MAX) {
            strbuf_add(out, " and others");
            break;
        }
        strbuf_add(out, count == 0 ? "asked " : ", ");
        add_server(server, out);
        count++;
    }
    ares_free_data(servers);
}
