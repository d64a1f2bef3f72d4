# SPDX-License-Identifier: MIT
# TLS on the real kernel. Included by local.mk.
if WITH_OPENSSL
check_PROGRAMS += tests/integ/tls_test
tests_integ_tls_test_SOURCES = tests/integ/tls_test.c tests/integ/tls_support.c tests/integ/tls_support.h \
	tests/integ/tls_raw.c tests/support/certs.c tests/support/certs.h

check_PROGRAMS += tests/integ/tls_threads_test
tests_integ_tls_threads_test_SOURCES = tests/integ/tls_threads_test.c tests/integ/tls_support.c tests/integ/tls_support.h \
	tests/integ/tls_raw.c tests/support/certs.c tests/support/certs.h

check_PROGRAMS += tests/integ/tls_wrong_test
tests_integ_tls_wrong_test_SOURCES = tests/integ/tls_wrong_test.c tests/support/table.h tests/integ/tls_support.c tests/integ/tls_support.h \
	tests/integ/tls_raw.c tests/support/certs.c tests/support/certs.h

check_PROGRAMS += tests/integ/tls_manners_test
tests_integ_tls_manners_test_SOURCES = tests/integ/tls_manners_test.c tests/integ/tls_support.c tests/integ/tls_support.h \
	tests/integ/tls_raw.c tests/support/certs.c tests/support/certs.h

check_PROGRAMS += tests/integ/net_tls_test
tests_integ_net_tls_test_SOURCES = tests/integ/net_tls_test.c tests/integ/net_support.c tests/integ/net_support.h \
	tests/integ/tls_support.c tests/integ/tls_support.h tests/integ/tls_raw.c tests/support/certs.c tests/support/certs.h

check_PROGRAMS += tests/integ/user_timeout_test
tests_integ_user_timeout_test_SOURCES = tests/integ/user_timeout_test.c tests/integ/tls_support.c tests/integ/tls_support.h \
	tests/integ/tls_raw.c tests/support/certs.c tests/support/certs.h

check_PROGRAMS += tests/integ/from_fd_tls_test
tests_integ_from_fd_tls_test_SOURCES = tests/integ/from_fd_tls_test.c tests/integ/tls_support.c tests/integ/tls_support.h \
	tests/integ/tls_raw.c tests/support/certs.c tests/support/certs.h

# For tests that are scripts.
noinst_PROGRAMS += tests/support/make_certs
tests_support_make_certs_SOURCES = tests/support/make_certs.c tests/support/certs.c tests/support/certs.h

SCRIPT_TESTS += tests/integ/tool_tls_test.sh
PEER_TESTS += tests/peers/tls_test.sh
else
EXTRA_DIST += tests/integ/tool_tls_test.sh
endif
