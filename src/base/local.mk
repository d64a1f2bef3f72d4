liblull_core_la_SOURCES += \
	src/base/ascii.h \
	src/base/base64.c src/base/base64.h \
	src/base/buf.c src/base/buf.h \
	src/base/cold.h \
	src/base/container.h \
	src/base/invariant.c src/base/invariant.h \
	src/base/list.h \
	src/base/log.c src/base/log.h \
	src/base/mem.c src/base/mem.h \
	src/base/metadata.c src/base/metadata.h \
	src/base/method.c src/base/method.h \
	src/base/percent.c src/base/percent.h \
	src/base/random.c src/base/random.h \
	src/base/rc.c src/base/rc.h \
	src/base/recycler.c src/base/recycler_asserting.h src/base/recycler_parts.h \
	src/base/recycler_port.c \
	src/base/size_classes.c src/base/size_classes.h \
	src/base/sized.c src/base/sized.h \
	src/base/slice.c src/base/slice.h \
	src/base/status.c src/base/status.h \
	src/base/strbuf.c src/base/strbuf.h

# Hardly ever runs.
COLD += \
	src/base/base64.lo src/base/invariant.lo src/base/log.lo src/base/percent.lo src/base/random.lo src/base/rc.lo \
	src/base/sized.lo src/base/strbuf.lo
