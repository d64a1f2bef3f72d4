check_PROGRAMS += \
	tests/unit/net/addr_test \
	tests/unit/net/dial_fd_test \
	tests/unit/net/endpoint_pipe_test \
	tests/unit/net/endpoint_pipe_transfer_test \
	tests/unit/net/endpoint_test \
	tests/unit/net/host_port_test \
	tests/unit/net/resolver_test \
	tests/unit/net/target_test

noinst_HEADERS += tests/unit/net/pipe_world.h

if WITH_CARES
check_PROGRAMS += tests/unit/net/resolver_ares_text_test
NAME_WORLD = tests/unit/net/name_asked.h \
	tests/support/name_server.c tests/support/name_server.h tests/support/name_world.c tests/support/name_world.h
check_PROGRAMS += tests/unit/net/resolver_ares_test
tests_unit_net_resolver_ares_test_SOURCES = tests/unit/net/resolver_ares_test.c $(NAME_WORLD)
check_PROGRAMS += tests/unit/net/resolver_ares_noise_test
tests_unit_net_resolver_ares_noise_test_SOURCES = tests/unit/net/resolver_ares_noise_test.c $(NAME_WORLD)
endif

if WITH_OPENSSL
check_PROGRAMS += tests/unit/net/endpoint_tls_test
tests_unit_net_endpoint_tls_test_SOURCES = tests/unit/net/endpoint_tls_test.c tests/unit/net/tls_world.h tests/support/certs.c tests/support/certs.h
check_PROGRAMS += tests/unit/net/endpoint_tls_hostile_test
tests_unit_net_endpoint_tls_hostile_test_SOURCES = tests/unit/net/endpoint_tls_hostile_test.c tests/unit/net/scarce_openssl.h tests/unit/net/tls_world.h tests/support/certs.c tests/support/certs.h
check_PROGRAMS += tests/unit/net/tls_ctx_test
tests_unit_net_tls_ctx_test_SOURCES = tests/unit/net/tls_ctx_test.c tests/unit/net/scarce_openssl.h tests/support/certs.c tests/support/certs.h
else
check_PROGRAMS += tests/unit/net/tls_none_test
endif
