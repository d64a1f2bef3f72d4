# SPDX-License-Identifier: MIT
# Tests over the loopback with our own peer: check_PROGRAMS += tests/integ/x_test, as in tests/unit; scripts: SCRIPT_TESTS.
SCRIPT_TESTS += tests/integ/tool_args_test.sh
include tests/integ/tool.mk
include tests/integ/net.mk
include tests/integ/server.mk
include tests/integ/sync.mk
include tests/integ/adapters.mk
include tests/integ/tls.mk
include tests/integ/bad_input.mk
SCRIPT_TESTS += tests/integ/life_test.sh

# Structs of another release.
check_PROGRAMS += tests/integ/release_sizes_test

# A minute of real time.
check_PROGRAMS += tests/integ/minute_test
