# Tests against other people's servers, run by `make check-peers`, never by `make check`. setup installs the servers.
PEER_TESTS += \
	tests/peers/etcd_test.sh \
	tests/peers/grpcio_test.sh \
	tests/peers/many_test.sh \
	tests/peers/serve_test.sh \
	tests/peers/wrong_test.sh

# many_test.sh runs it. A program of somebody else: public headers, the shared library.
noinst_PROGRAMS += tests/peers/many_test
tests_peers_many_test_SOURCES = tests/peers/many_test.c tests/support/check_main.h
tests_peers_many_test_CPPFLAGS = -I$(top_srcdir)/include -I$(top_srcdir)
tests_peers_many_test_LDADD = liblull.la $(CHECK_LIBS)
