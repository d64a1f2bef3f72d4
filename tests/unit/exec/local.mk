# Check programs of src/exec: see HACKING.md, "To add a file".
check_PROGRAMS += \
	tests/unit/exec/alarm_test \
	tests/unit/exec/executor_test \
	tests/unit/exec/executor_threads_test \
	tests/unit/exec/inbox_test \
	tests/unit/exec/lane_edges_test \
	tests/unit/exec/lane_oracle_test \
	tests/unit/exec/lane_test \
	tests/unit/exec/orphan_test \
	tests/unit/exec/quiet_turn_test \
	tests/unit/exec/refusal_test \
	tests/unit/exec/rescheduler_oracle_test \
	tests/unit/exec/rescheduler_test \
	tests/unit/exec/roles_test \
	tests/unit/exec/task_queue_test \
	tests/unit/exec/timer_test \
	tests/unit/exec/turn_test \
	tests/unit/exec/wait_cell_mutex_test \
	tests/unit/exec/wait_cell_test

noinst_HEADERS += tests/unit/exec/wait_cell_cases.h tests/unit/exec/fixture.h tests/unit/exec/lane_rig.h tests/unit/exec/step.h

# The same with a mutex and a condition, as where there is no futex.
tests_unit_exec_wait_cell_mutex_test_SOURCES = tests/unit/exec/wait_cell_test.c src/exec/wait_cell.c
tests_unit_exec_wait_cell_mutex_test_CPPFLAGS = $(AM_CPPFLAGS) -DLULL_NO_FUTEX
