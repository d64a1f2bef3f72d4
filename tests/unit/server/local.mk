# SPDX-License-Identifier: MIT
#
# The rig: a server and a channel in one simulated world, and a client that speaks frames by hand.
SERVER_RIG = tests/unit/server/raw.c tests/unit/server/raw.h tests/unit/server/rig.c tests/unit/server/rig.h

check_PROGRAMS += \
	tests/unit/server/duel_test \
	tests/unit/server/listener_test \
	tests/unit/server/mutation_test \
	tests/unit/server/reset_police_test \
	tests/unit/server/server_age_test \
	tests/unit/server/server_call_stream_test \
	tests/unit/server/server_call_test \
	tests/unit/server/server_call_verbs_test \
	tests/unit/server/server_conn_test \
	tests/unit/server/server_options_test \
	tests/unit/server/server_test

tests_unit_server_duel_test_SOURCES = tests/unit/server/duel_test.c $(SERVER_RIG)
tests_unit_server_mutation_test_SOURCES = tests/unit/server/mutation_test.c $(SERVER_RIG)
tests_unit_server_server_age_test_SOURCES = tests/unit/server/server_age_test.c $(SERVER_RIG)
tests_unit_server_server_call_stream_test_SOURCES = tests/unit/server/server_call_stream_test.c $(SERVER_RIG)
tests_unit_server_server_call_test_SOURCES = tests/unit/server/server_call_test.c $(SERVER_RIG)
tests_unit_server_server_call_verbs_test_SOURCES = tests/unit/server/server_call_verbs_test.c $(SERVER_RIG)
tests_unit_server_server_conn_test_SOURCES = tests/unit/server/server_conn_test.c $(SERVER_RIG)
tests_unit_server_server_test_SOURCES = tests/unit/server/server_test.c $(SERVER_RIG)
