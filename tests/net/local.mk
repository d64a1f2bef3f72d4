# Partitions, in network namespaces of their own: run as root by `make check-net`, never by `make check`. setup installs what they need.
NET_TESTS += tests/net/partitions_test.sh

# partitions_test.sh runs both, and make_certs. Programs of somebody else: public headers, the shared library.
NET_NEEDS += tests/net/partitions tests/net/tun_forward
if WITH_OPENSSL
NET_NEEDS += tests/support/make_certs
endif
noinst_PROGRAMS += tests/net/partitions
tests_net_partitions_SOURCES = tests/net/partitions.c tests/net/cases.h \
	tests/net/active.c tests/net/connect.c tests/net/healed.c tests/net/names.c tests/net/nat.c tests/net/quiet.c \
	tests/net/server.c tests/net/slow.c tests/net/tls.c tests/net/caller.c tests/net/caller.h tests/net/town.c tests/net/town.h \
	tests/peers/client.c tests/peers/client.h tests/support/check_main.h
tests_net_partitions_CPPFLAGS = -I$(top_srcdir)/include -I$(top_srcdir)
tests_net_partitions_LDADD = liblull.la $(CHECK_LIBS)

noinst_PROGRAMS += tests/net/tun_forward
tests_net_tun_forward_CPPFLAGS = -I$(top_srcdir)/include -I$(top_srcdir)
tests_net_tun_forward_LDADD = liblull.la
