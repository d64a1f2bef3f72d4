# The tool as a user sees it: standard files and exit statuses. Included by local.mk.
SCRIPT_TESTS += tests/integ/tool_call_test.sh
SCRIPT_TESTS += tests/integ/tool_stream_test.sh

# The server of tool_call_test.sh; it uses nothing of the library.
noinst_PROGRAMS += tests/integ/tool_server
tests_integ_tool_server_SOURCES = tests/integ/tool_server.c
tests_integ_tool_server_LDADD =
