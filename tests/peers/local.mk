# Tests against other people's servers, run by `make check-peers`, never by `make check`. setup installs the servers.
PEER_TESTS += \
	tests/peers/etcd_pings_test.sh \
	tests/peers/etcd_streams_test.sh \
	tests/peers/etcd_test.sh \
	tests/peers/grpcio_test.sh \
	tests/peers/many_test.sh \
	tests/peers/serve_test.sh \
	tests/peers/streams_test.sh \
	tests/peers/wrong_test.sh

# Each is run by the script of its name. Programs of somebody else: public headers, the shared library.
PEER_CLIENT = tests/peers/client.c tests/peers/client.h tests/support/check_main.h

noinst_PROGRAMS += tests/peers/etcd_pings_test
tests_peers_etcd_pings_test_SOURCES = tests/peers/etcd_pings_test.c $(PEER_CLIENT) \
	tests/support/etcd_wire.c tests/support/etcd_wire.h
tests_peers_etcd_pings_test_CPPFLAGS = -I$(top_srcdir)/include -I$(top_srcdir)
tests_peers_etcd_pings_test_LDADD = liblull.la $(CHECK_LIBS)

noinst_PROGRAMS += tests/peers/etcd_streams_test
tests_peers_etcd_streams_test_SOURCES = tests/peers/etcd_streams_test.c $(PEER_CLIENT) \
	tests/support/etcd_wire.c tests/support/etcd_wire.h
tests_peers_etcd_streams_test_CPPFLAGS = -I$(top_srcdir)/include -I$(top_srcdir)
tests_peers_etcd_streams_test_LDADD = liblull.la $(CHECK_LIBS)

noinst_PROGRAMS += tests/peers/many_test
tests_peers_many_test_SOURCES = tests/peers/many_test.c tests/support/check_main.h
tests_peers_many_test_CPPFLAGS = -I$(top_srcdir)/include -I$(top_srcdir)
tests_peers_many_test_LDADD = liblull.la $(CHECK_LIBS)

noinst_PROGRAMS += tests/peers/streams_test
tests_peers_streams_test_SOURCES = tests/peers/streams_test.c $(PEER_CLIENT)
tests_peers_streams_test_CPPFLAGS = -I$(top_srcdir)/include -I$(top_srcdir)
tests_peers_streams_test_LDADD = liblull.la $(CHECK_LIBS)

# dns_test.sh runs it. Internal names: it asks the resolver and no channel.
if WITH_CARES
PEER_TESTS += tests/peers/dns_test.sh
noinst_PROGRAMS += tests/peers/dns_lookup
tests_peers_dns_lookup_LDADD = $(UNIT_LIBS)

# It runs this too: a program of somebody else.
noinst_PROGRAMS += tests/peers/dns_moves
tests_peers_dns_moves_CPPFLAGS = -I$(top_srcdir)/include
tests_peers_dns_moves_LDADD = liblull.la
endif
