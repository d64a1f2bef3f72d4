liblull_core_la_SOURCES += \
	src/net/addr.c src/net/addr.h \
	src/net/dial.c src/net/dial.h \
	src/net/dial_fd.c src/net/dial_fd.h \
	src/net/endpoint.c src/net/endpoint.h \
	src/net/endpoint_pipe.c src/net/endpoint_pipe.h \
	src/net/endpoint_tcp.c src/net/endpoint_tcp.h \
	src/net/endpoint_tls.h \
	src/net/host_port.c src/net/host_port.h \
	src/net/resolver.c src/net/resolver.h \
	src/net/sys.c src/net/sys.h \
	src/net/target.c src/net/target.h

if WITH_CARES
liblull_core_la_SOURCES += \
	src/net/resolver_ares.c src/net/resolver_ares.h \
	src/net/resolver_ares_text.c src/net/resolver_ares_text.h
endif

if WITH_OPENSSL
liblull_core_la_SOURCES += \
	src/net/endpoint_tls.c src/net/endpoint_tls_parts.h \
	src/net/endpoint_tls_shake.c \
	src/net/tls_ctx.c src/net/tls_ctx.h \
	src/net/tls_identity.c src/net/tls_identity.h \
	src/net/tls_pem.c src/net/tls_pem.h \
	src/net/tls_sessions.c src/net/tls_sessions.h \
	src/net/tls_text.c src/net/tls_text.h \
	src/net/tls_wire.c src/net/tls_wire.h
else
liblull_core_la_SOURCES += src/net/tls_none.c
endif

# Hardly ever runs.
COLD += \
	src/net/addr.lo src/net/dial.lo src/net/dial_fd.lo src/net/endpoint.lo src/net/endpoint_pipe.lo \
	src/net/endpoint_tls_shake.lo src/net/host_port.lo src/net/resolver.lo src/net/resolver_ares.lo \
	src/net/resolver_ares_text.lo src/net/sys.lo src/net/target.lo src/net/tls_ctx.lo src/net/tls_identity.lo \
	src/net/tls_pem.lo src/net/tls_sessions.lo src/net/tls_text.lo
