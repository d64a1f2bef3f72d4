# Check programs of src/exec: see HACKING.md, "To add a file".
check_PROGRAMS += \
	tests/unit/exec/alarm_test \
	tests/unit/exec/executor_test \
	tests/unit/exec/executor_threads_test \
	tests/unit/exec/inbox_test \
	tests/unit/exec/lane_test \
	tests/unit/exec/lane_oracle_test \
	tests/unit/exec/refusal_test \
	tests/unit/exec/rescheduler_oracle_test \
	tests/unit/exec/rescheduler_test \
	tests/unit/exec/task_queue_test \
	tests/unit/exec/timer_test \
	tests/unit/exec/turn_test

tests_unit_exec_alarm_test_SOURCES = tests/unit/exec/alarm_test.c tests/unit/exec/fixture.h
tests_unit_exec_alarm_test_LDADD = $(UNIT_LIBS)

tests_unit_exec_executor_test_SOURCES = tests/unit/exec/executor_test.c tests/unit/exec/fixture.h
tests_unit_exec_executor_test_LDADD = $(UNIT_LIBS)

tests_unit_exec_executor_threads_test_SOURCES = tests/unit/exec/executor_threads_test.c tests/unit/exec/fixture.h
tests_unit_exec_executor_threads_test_LDADD = $(UNIT_LIBS)

tests_unit_exec_inbox_test_SOURCES = tests/unit/exec/inbox_test.c
tests_unit_exec_inbox_test_LDADD = $(UNIT_LIBS)

tests_unit_exec_lane_test_SOURCES = tests/unit/exec/lane_test.c tests/unit/exec/fixture.h
tests_unit_exec_lane_test_LDADD = $(UNIT_LIBS)

tests_unit_exec_lane_oracle_test_SOURCES = tests/unit/exec/lane_oracle_test.c tests/unit/exec/fixture.h
tests_unit_exec_lane_oracle_test_LDADD = $(UNIT_LIBS)

tests_unit_exec_rescheduler_oracle_test_SOURCES = tests/unit/exec/rescheduler_oracle_test.c tests/unit/exec/fixture.h
tests_unit_exec_rescheduler_oracle_test_LDADD = $(UNIT_LIBS)

tests_unit_exec_rescheduler_test_SOURCES = tests/unit/exec/rescheduler_test.c tests/unit/exec/fixture.h
tests_unit_exec_rescheduler_test_LDADD = $(UNIT_LIBS)

tests_unit_exec_task_queue_test_SOURCES = tests/unit/exec/task_queue_test.c tests/unit/exec/fixture.h
tests_unit_exec_task_queue_test_LDADD = $(UNIT_LIBS)

tests_unit_exec_timer_test_SOURCES = tests/unit/exec/timer_test.c tests/unit/exec/fixture.h
tests_unit_exec_timer_test_LDADD = $(UNIT_LIBS)

tests_unit_exec_turn_test_SOURCES = tests/unit/exec/turn_test.c tests/unit/exec/fixture.h
tests_unit_exec_turn_test_LDADD = $(UNIT_LIBS)

tests_unit_exec_refusal_test_SOURCES = tests/unit/exec/refusal_test.c tests/unit/exec/fixture.h
tests_unit_exec_refusal_test_LDADD = $(UNIT_LIBS)
