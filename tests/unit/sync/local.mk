# Check programs of src/sync: see HACKING.md, "To add a file". Real sockets and threads in numbers: tests/integ/sync_test.
check_PROGRAMS += \
	tests/unit/sync/sync_result_test \
	tests/unit/sync/sync_test

tests_unit_sync_sync_test_SOURCES = tests/unit/sync/sync_test.c $(CHANNEL_RIG)
