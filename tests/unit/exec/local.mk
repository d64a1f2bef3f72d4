# Check programs of src/exec: see HACKING.md, "To add a file".
check_PROGRAMS += \
	tests/unit/exec/alarm_test \
	tests/unit/exec/executor_test \
	tests/unit/exec/executor_threads_test \
	tests/unit/exec/inbox_test \
	tests/unit/exec/lane_oracle_test \
	tests/unit/exec/lane_test \
	tests/unit/exec/quiet_turn_test \
	tests/unit/exec/refusal_test \
	tests/unit/exec/rescheduler_oracle_test \
	tests/unit/exec/rescheduler_test \
	tests/unit/exec/task_queue_test \
	tests/unit/exec/timer_test \
	tests/unit/exec/turn_test

noinst_HEADERS += tests/unit/exec/fixture.h tests/unit/exec/step.h
