# SPDX-License-Identifier: MIT
# The adapters on the real libraries: one list of scenarios, a host for each library. Included by local.mk.
ADAPTER_SUPPORT = tests/integ/adapter_builtin.h tests/integ/adapter_support.c tests/integ/adapter_support.h \
	tests/integ/adapter_calls.c tests/integ/adapter_host.c tests/integ/adapter_fds.c tests/integ/adapter_ends.c

# The same on lull's own loop, run and nested.
check_PROGRAMS += tests/integ/adapter_own_test
tests_integ_adapter_own_test_SOURCES = tests/integ/adapter_own_test.c $(ADAPTER_SUPPORT)

if LOOP_EPOLL
check_PROGRAMS += tests/integ/adapter_nested_test
tests_integ_adapter_nested_test_SOURCES = tests/integ/adapter_nested_test.c $(ADAPTER_SUPPORT)
endif

if HAVE_LIBUV
check_PROGRAMS += tests/integ/adapter_libuv_test
tests_integ_adapter_libuv_test_SOURCES = tests/integ/adapter_libuv_test.c $(ADAPTER_SUPPORT)
tests_integ_adapter_libuv_test_CPPFLAGS = $(AM_CPPFLAGS) $(LIBUV_CFLAGS)
tests_integ_adapter_libuv_test_LDADD = $(UNIT_LIBS) $(LIBUV_LIBS)
endif

if HAVE_LIBEVENT
check_PROGRAMS += tests/integ/adapter_libevent_test
tests_integ_adapter_libevent_test_SOURCES = tests/integ/adapter_libevent_test.c $(ADAPTER_SUPPORT)
tests_integ_adapter_libevent_test_CPPFLAGS = $(AM_CPPFLAGS) $(LIBEVENT_CFLAGS)
tests_integ_adapter_libevent_test_LDADD = $(UNIT_LIBS) $(LIBEVENT_LIBS)
endif

if HAVE_GLIB
check_PROGRAMS += tests/integ/adapter_glib_test
tests_integ_adapter_glib_test_SOURCES = tests/integ/adapter_glib_test.c $(ADAPTER_SUPPORT)
tests_integ_adapter_glib_test_CPPFLAGS = $(AM_CPPFLAGS) $(GLIB_CFLAGS)
tests_integ_adapter_glib_test_LDADD = $(UNIT_LIBS) $(GLIB_LIBS)
endif

SCRIPT_TESTS += tests/headers/adapters.sh

SCRIPT_TESTS += tests/integ/embed_test.sh
