# SPDX-License-Identifier: MIT
# The loop and the sockets, on the real kernel. Included by local.mk.
check_PROGRAMS += tests/integ/loop_builtin_test
tests_integ_loop_builtin_test_SOURCES = tests/integ/loop_builtin_test.c tests/integ/net_support.c tests/integ/net_support.h

check_PROGRAMS += tests/integ/linger_test
tests_integ_linger_test_SOURCES = tests/integ/linger_test.c tests/integ/net_support.c tests/integ/net_support.h

# What is nested is the epoll.
if LOOP_EPOLL
check_PROGRAMS += tests/integ/loop_nested_test
tests_integ_loop_nested_test_SOURCES = tests/integ/loop_nested_test.c tests/integ/net_support.c tests/integ/net_support.h
endif

check_PROGRAMS += tests/integ/net_pingpong_test
tests_integ_net_pingpong_test_SOURCES = tests/integ/net_pingpong_test.c tests/integ/net_support.c tests/integ/net_support.h

check_PROGRAMS += tests/integ/net_stream_test
tests_integ_net_stream_test_SOURCES = tests/integ/net_stream_test.c tests/integ/net_support.c tests/integ/net_support.h

check_PROGRAMS += tests/integ/net_tcp_test
tests_integ_net_tcp_test_SOURCES = tests/integ/net_tcp_test.c tests/integ/net_support.c tests/integ/net_support.h

# The same scenarios, whoever drives.
DRIVERS_SUPPORT = \
	tests/support/driver.c tests/support/driver.h \
	tests/support/hostile_alarm.c tests/support/hostile_alarm.h \
	tests/support/poll_host.c tests/support/poll_host.h
check_PROGRAMS += tests/integ/drivers_test
tests_integ_drivers_test_SOURCES = tests/integ/drivers_test.c \
	tests/integ/drivers_server.c tests/integ/drivers_server.h $(DRIVERS_SUPPORT)

# Names, by c-ares.
if WITH_CARES
check_PROGRAMS += tests/integ/dns_test
tests_integ_dns_test_SOURCES = tests/integ/dns_test.c tests/integ/net_support.c tests/integ/net_support.h \
	tests/support/name_server.c tests/support/name_server.h
endif
