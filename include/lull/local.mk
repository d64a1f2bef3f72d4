# Public headers, installed under $(includedir)/lull.
pkginclude_HEADERS += \
	include/lull/allocator.h \
	include/lull/call.h \
	include/lull/channel.h \
	include/lull/clock.h \
	include/lull/credentials.h \
	include/lull/executor.h \
	include/lull/idle.h \
	include/lull/keepalive.h \
	include/lull/log.h \
	include/lull/loop.h \
	include/lull/lull.h \
	include/lull/metadata.h \
	include/lull/rc.h \
	include/lull/recycler.h \
	include/lull/rescheduler.h \
	include/lull/server.h \
	include/lull/status.h \
	include/lull/sync.h \
	include/lull/timer.h \
	include/lull/trace.h \
	include/lull/types.h \
	include/lull/version.h \
	include/lull/world.h

# Header-only, and each includes the library that it adapts to: no part of lull.h, nor of liblull.
adaptersdir = $(pkgincludedir)/adapters
adapters_HEADERS += \
	include/lull/adapters/glib.h \
	include/lull/adapters/libevent.h \
	include/lull/adapters/libuv.h
