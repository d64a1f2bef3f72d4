liblull_core_la_SOURCES += \
	src/sync/sync.c \
	src/sync/sync_late.c src/sync/sync_late.h \
	src/sync/sync_result.c src/sync/sync_result.h \
	src/sync/sync_stream.c \
	src/sync/sync_wait.c src/sync/sync_wait.h

# Hardly ever runs.
COLD += \
	src/sync/sync_late.lo \
	src/sync/sync_stream.lo
