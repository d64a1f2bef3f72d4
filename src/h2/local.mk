liblull_core_la_SOURCES += \
	src/h2/answer.c src/h2/answer.h \
	src/h2/flow.c src/h2/flow.h \
	src/h2/framing.c src/h2/framing.h \
	src/h2/goaway.c src/h2/goaway.h \
	src/h2/headers.c src/h2/headers.h \
	src/h2/headers_in.c \
	src/h2/incoming.c src/h2/incoming.h \
	src/h2/inner.h \
	src/h2/keepalive_glue.c src/h2/keepalive_glue.h \
	src/h2/outbox.c src/h2/outbox.h \
	src/h2/ping.c src/h2/ping.h \
	src/h2/preface.c src/h2/preface.h \
	src/h2/recv.c src/h2/recv.h \
	src/h2/send.c src/h2/send.h \
	src/h2/serving.c src/h2/serving.h \
	src/h2/session.c src/h2/session.h \
	src/h2/session_cb.c src/h2/session_cb.h \
	src/h2/slabs.c src/h2/slabs.h \
	src/h2/stock.c src/h2/stock.h \
	src/h2/stream.c src/h2/stream.h \
	src/h2/transport.c src/h2/transport.h \
	src/h2/unsent.c src/h2/unsent.h

# Hardly ever runs.
COLD += \
	src/h2/goaway.lo src/h2/ping.lo src/h2/preface.lo src/h2/serving.lo src/h2/session.lo src/h2/stock.lo src/h2/unsent.lo
