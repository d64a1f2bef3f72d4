# Check programs of src/time: see HACKING.md, "To add a file".
check_PROGRAMS += \
	tests/unit/time/clock_fake_test \
	tests/unit/time/clock_monotonic_test \
	tests/unit/time/timerq_test
