check_PROGRAMS += tests/unit/net/addr_test
tests_unit_net_addr_test_SOURCES = tests/unit/net/addr_test.c
tests_unit_net_addr_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/net/endpoint_test
tests_unit_net_endpoint_test_SOURCES = tests/unit/net/endpoint_test.c
tests_unit_net_endpoint_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/net/endpoint_pipe_test
tests_unit_net_endpoint_pipe_test_SOURCES = tests/unit/net/endpoint_pipe_test.c tests/unit/net/pipe_world.h
tests_unit_net_endpoint_pipe_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/net/endpoint_pipe_transfer_test
tests_unit_net_endpoint_pipe_transfer_test_SOURCES = tests/unit/net/endpoint_pipe_transfer_test.c tests/unit/net/pipe_world.h
tests_unit_net_endpoint_pipe_transfer_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/net/target_test
tests_unit_net_target_test_SOURCES = tests/unit/net/target_test.c
tests_unit_net_target_test_LDADD = $(UNIT_LIBS)
