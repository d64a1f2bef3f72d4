# SPDX-License-Identifier: MIT
# The server on the real kernel, and `lull serve` and `lull watch` as a user sees them. Included by local.mk.
check_PROGRAMS += tests/integ/server_test

SCRIPT_TESTS += tests/integ/tool_serve_test.sh
