# SPDX-License-Identifier: MIT
# The tests in which several threads meet: what `make check-race` runs, under TSan with `scripts/qa.sh race`. This list is the only place
# that says so; scripts/check-race.sh finds a program with threads that is not on it. Included by Makefile.am.
RACE_NAMES = \
	tests/unit/base/recycler_asserting_test \
	tests/unit/base/recycler_port_threads_test \
	tests/unit/base/recycler_threads_test \
	tests/unit/base/slice_test \
	tests/unit/channel/call_outside_test \
	tests/unit/channel/call_send_small_test \
	tests/unit/channel/call_read_timeout_cost_test \
	tests/unit/exec/alarm_test \
	tests/unit/exec/executor_threads_test \
	tests/unit/exec/inbox_test \
	tests/unit/exec/orphan_test \
	tests/unit/exec/wait_cell_mutex_test \
	tests/unit/exec/wait_cell_test \
	tests/unit/loop/loop_test \
	tests/unit/sync/sync_test \
	tests/integ/adapter_glib_test \
	tests/integ/adapter_libevent_test \
	tests/integ/adapter_libuv_test \
	tests/integ/adapter_nested_test \
	tests/integ/adapter_own_test \
	tests/integ/fork_test \
	tests/integ/from_fd_test \
	tests/integ/linger_test \
	tests/integ/loop_builtin_test \
	tests/integ/loop_nested_test \
	tests/integ/loop_thread_test \
	tests/integ/sync_cost_test \
	tests/integ/sync_end_test \
	tests/integ/sync_fork_test \
	tests/integ/sync_host_test \
	tests/integ/sync_late_stream_test \
	tests/integ/sync_late_test \
	tests/integ/sync_stream_test \
	tests/integ/sync_test \
	tests/integ/tls_threads_test

# Those that this build has.
RACE_TESTS = $(filter $(RACE_NAMES),$(check_PROGRAMS))

check-race: all
	$(MAKE) $(AM_MAKEFLAGS) check check_PROGRAMS='$(RACE_TESTS)' TESTS='$(RACE_TESTS)'

list-race-tests:
	@for t in $(RACE_NAMES); do echo "$$t"; done

.PHONY: check-race list-race-tests
