check_PROGRAMS += tests/unit/loop/loop_test
tests_unit_loop_loop_test_SOURCES = tests/unit/loop/loop_test.c
tests_unit_loop_loop_test_LDADD = $(UNIT_LIBS)
