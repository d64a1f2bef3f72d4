# Check programs of src/time: see HACKING.md, "To add a file".
check_PROGRAMS += \
	tests/unit/time/clock_fake_test \
	tests/unit/time/clock_monotonic_test \
	tests/unit/time/timerq_test

tests_unit_time_clock_fake_test_SOURCES = tests/unit/time/clock_fake_test.c
tests_unit_time_clock_fake_test_LDADD = $(UNIT_LIBS)

tests_unit_time_clock_monotonic_test_SOURCES = tests/unit/time/clock_monotonic_test.c
tests_unit_time_clock_monotonic_test_LDADD = $(UNIT_LIBS)

tests_unit_time_timerq_test_SOURCES = tests/unit/time/timerq_test.c
tests_unit_time_timerq_test_LDADD = $(UNIT_LIBS)
