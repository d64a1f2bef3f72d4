check_PROGRAMS += \
	tests/unit/base/ascii_test \
	tests/unit/base/base64_test \
	tests/unit/base/buf_test \
	tests/unit/base/invariant_test \
	tests/unit/base/list_test \
	tests/unit/base/mem_test \
	tests/unit/base/metadata_test \
	tests/unit/base/method_test \
	tests/unit/base/percent_test \
	tests/unit/base/random_test \
	tests/unit/base/rc_test \
	tests/unit/base/recycler_asserting_test \
	tests/unit/base/recycler_port_test \
	tests/unit/base/recycler_port_threads_test \
	tests/unit/base/recycler_test \
	tests/unit/base/recycler_threads_test \
	tests/unit/base/size_classes_test \
	tests/unit/base/sized_test \
	tests/unit/base/slice_test \
	tests/unit/base/status_test \
	tests/unit/base/strbuf_test

# Its own recycler, compiled in the asserting mode: the library's is not linked into it.
tests_unit_base_recycler_asserting_test_SOURCES = tests/unit/base/recycler_asserting_test.c \
	src/base/recycler.c src/base/recycler_port.c
tests_unit_base_recycler_asserting_test_CPPFLAGS = $(AM_CPPFLAGS) -DLULL_ASSERTING_POOL
