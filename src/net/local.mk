liblull_core_la_SOURCES += \
	src/net/addr.c src/net/addr.h \
	src/net/dial.c src/net/dial.h \
	src/net/endpoint.c src/net/endpoint.h \
	src/net/endpoint_pipe.c src/net/endpoint_pipe.h \
	src/net/endpoint_tcp.c src/net/endpoint_tcp.h \
	src/net/host_port.c src/net/host_port.h \
	src/net/resolver.c src/net/resolver.h \
	src/net/sys.c src/net/sys.h \
	src/net/target.c src/net/target.h

if WITH_CARES
liblull_core_la_SOURCES += \
	src/net/resolver_ares.c src/net/resolver_ares.h \
	src/net/resolver_ares_text.c src/net/resolver_ares_text.h
endif
