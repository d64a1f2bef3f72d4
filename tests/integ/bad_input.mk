# SPDX-License-Identifier: MIT
# Bad input, and the table of it (doc/BAD_INPUT.md). Included by local.mk.
BAD_INPUT = tests/integ/bad_input.c tests/integ/bad_input.h tests/support/table.h \
	tests/support/poll_host.c tests/support/poll_host.h tests/support/hostile_alarm.c tests/support/hostile_alarm.h

check_PROGRAMS += tests/integ/bad_input_args_test
tests_integ_bad_input_args_test_SOURCES = tests/integ/bad_input_args_test.c $(BAD_INPUT)

check_PROGRAMS += tests/integ/bad_input_use_test
tests_integ_bad_input_use_test_SOURCES = tests/integ/bad_input_use_test.c $(BAD_INPUT)

check_PROGRAMS += tests/integ/bad_input_peers_test
tests_integ_bad_input_peers_test_SOURCES = tests/integ/bad_input_peers_test.c $(BAD_INPUT)

SCRIPT_TESTS += tests/integ/bad_input_table_test.sh
