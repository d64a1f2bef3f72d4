check_PROGRAMS += tests/unit/base/base64_test
tests_unit_base_base64_test_SOURCES = tests/unit/base/base64_test.c
tests_unit_base_base64_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/base/buf_test
tests_unit_base_buf_test_SOURCES = tests/unit/base/buf_test.c tests/unit/base/counting_allocator.h tests/unit/base/death.h
tests_unit_base_buf_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/base/invariant_test
tests_unit_base_invariant_test_SOURCES = tests/unit/base/invariant_test.c tests/unit/base/death.h
tests_unit_base_invariant_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/base/list_test
tests_unit_base_list_test_SOURCES = tests/unit/base/list_test.c
tests_unit_base_list_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/base/mem_test
tests_unit_base_mem_test_SOURCES = tests/unit/base/mem_test.c tests/unit/base/counting_allocator.h
tests_unit_base_mem_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/base/metadata_test
tests_unit_base_metadata_test_SOURCES = tests/unit/base/metadata_test.c tests/unit/base/counting_allocator.h
tests_unit_base_metadata_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/base/percent_test
tests_unit_base_percent_test_SOURCES = tests/unit/base/percent_test.c
tests_unit_base_percent_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/base/random_test
tests_unit_base_random_test_SOURCES = tests/unit/base/random_test.c
tests_unit_base_random_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/base/rc_test
tests_unit_base_rc_test_SOURCES = tests/unit/base/rc_test.c
tests_unit_base_rc_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/base/recycler_test
tests_unit_base_recycler_test_SOURCES = tests/unit/base/recycler_test.c tests/unit/base/counting_allocator.h tests/unit/base/death.h
tests_unit_base_recycler_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/base/recycler_threads_test
tests_unit_base_recycler_threads_test_SOURCES = tests/unit/base/recycler_threads_test.c \
	tests/unit/base/counting_allocator.h tests/unit/base/death.h
tests_unit_base_recycler_threads_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/base/slice_test
tests_unit_base_slice_test_SOURCES = tests/unit/base/slice_test.c tests/unit/base/counting_allocator.h tests/unit/base/death.h
tests_unit_base_slice_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/base/status_test
tests_unit_base_status_test_SOURCES = tests/unit/base/status_test.c
tests_unit_base_status_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/base/strbuf_test
tests_unit_base_strbuf_test_SOURCES = tests/unit/base/strbuf_test.c tests/unit/base/death.h
tests_unit_base_strbuf_test_LDADD = $(UNIT_LIBS)
