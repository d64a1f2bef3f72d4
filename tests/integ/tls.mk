# SPDX-License-Identifier: MIT
# TLS on the real kernel. Included by local.mk.
if WITH_OPENSSL
check_PROGRAMS += tests/integ/tls_test
tests_integ_tls_test_SOURCES = tests/integ/tls_test.c tests/integ/tls_support.c tests/integ/tls_support.h \
	tests/support/certs.c tests/support/certs.h
endif
