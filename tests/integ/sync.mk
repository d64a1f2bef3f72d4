# Blocking calls.
check_PROGRAMS += tests/integ/sync_test
tests_integ_sync_test_SOURCES = tests/integ/sync_test.c tests/integ/sync_support.h
check_PROGRAMS += tests/integ/loop_thread_test
tests_integ_loop_thread_test_SOURCES = tests/integ/loop_thread_test.c tests/integ/sync_support.h
check_PROGRAMS += tests/integ/sync_end_test
tests_integ_sync_end_test_SOURCES = tests/integ/sync_end_test.c tests/integ/sync_support.h
check_PROGRAMS += tests/integ/sync_stream_test
tests_integ_sync_stream_test_SOURCES = tests/integ/sync_stream_test.c tests/integ/sync_support.h
check_PROGRAMS += tests/integ/sync_late_test
tests_integ_sync_late_test_SOURCES = tests/integ/sync_late_test.c tests/integ/sync_late_support.h tests/integ/sync_support.h \
	tests/support/poll_host.c tests/support/poll_host.h tests/support/hostile_alarm.c tests/support/hostile_alarm.h
check_PROGRAMS += tests/integ/sync_late_stream_test
tests_integ_sync_late_stream_test_SOURCES = tests/integ/sync_late_stream_test.c tests/integ/sync_late_support.h tests/integ/sync_support.h \
	tests/support/poll_host.c tests/support/poll_host.h tests/support/hostile_alarm.c tests/support/hostile_alarm.h
check_PROGRAMS += tests/integ/sync_cost_test
tests_integ_sync_cost_test_SOURCES = tests/integ/sync_cost_test.c tests/integ/sync_support.h
check_PROGRAMS += tests/integ/sync_host_test
tests_integ_sync_host_test_SOURCES = tests/integ/sync_host_test.c tests/integ/sync_support.h \
	tests/support/poll_host.c tests/support/poll_host.h tests/support/hostile_alarm.c tests/support/hostile_alarm.h
check_PROGRAMS += tests/integ/sync_fork_test
tests_integ_sync_fork_test_SOURCES = tests/integ/sync_fork_test.c tests/integ/sync_support.h
check_PROGRAMS += tests/integ/from_fd_test
tests_integ_from_fd_test_SOURCES = tests/integ/from_fd_test.c tests/integ/sync_support.h
check_PROGRAMS += tests/integ/fork_test
tests_integ_fork_test_SOURCES = tests/integ/fork_test.c tests/integ/sync_support.h
