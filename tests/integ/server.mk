# SPDX-License-Identifier: MIT
# The server on the real kernel, and `lull serve` and `lull watch` as a user sees them. Included by local.mk.
check_PROGRAMS += tests/integ/server_test
tests_integ_server_test_SOURCES = tests/integ/server_test.c
tests_integ_server_test_LDADD = $(UNIT_LIBS)

SCRIPT_TESTS += tests/integ/tool_serve_test.sh
