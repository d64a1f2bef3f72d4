# SPDX-License-Identifier: MIT
# The loop and the sockets, on the real kernel. Included by local.mk.
check_PROGRAMS += tests/integ/loop_epoll_test
tests_integ_loop_epoll_test_SOURCES = tests/integ/loop_epoll_test.c tests/integ/net_support.c tests/integ/net_support.h

check_PROGRAMS += tests/integ/loop_nested_test
tests_integ_loop_nested_test_SOURCES = tests/integ/loop_nested_test.c tests/integ/net_support.c tests/integ/net_support.h

check_PROGRAMS += tests/integ/net_pingpong_test
tests_integ_net_pingpong_test_SOURCES = tests/integ/net_pingpong_test.c tests/integ/net_support.c tests/integ/net_support.h

check_PROGRAMS += tests/integ/net_stream_test
tests_integ_net_stream_test_SOURCES = tests/integ/net_stream_test.c tests/integ/net_support.c tests/integ/net_support.h

check_PROGRAMS += tests/integ/net_tcp_test
tests_integ_net_tcp_test_SOURCES = tests/integ/net_tcp_test.c tests/integ/net_support.c tests/integ/net_support.h
