liblull_core_la_SOURCES += \
	src/channel/call.c src/channel/call.h \
	src/channel/call_arena.c src/channel/call_arena.h src/channel/call_pool.c src/channel/call_pool.h \
	src/channel/call_cancel.c src/channel/call_cancel.h \
	src/channel/call_messages.c src/channel/call_messages.h \
	src/channel/call_outside.c src/channel/call_outside.h \
	src/channel/call_receive.c src/channel/call_receive.h \
	src/channel/call_send.c src/channel/call_send.h \
	src/channel/call_start.c src/channel/call_start.h \
	src/channel/call_stream.c src/channel/call_stream.h \
	src/channel/call_timeouts.c src/channel/call_timeouts.h \
	src/channel/call_unary.c src/channel/call_unary.h \
	src/channel/channel.c src/channel/channel.h \
	src/channel/channel_dump.c \
	src/channel/channel_fd.c src/channel/channel_fd.h \
	src/channel/channel_idle.c src/channel/channel_idle.h \
	src/channel/channel_make.c \
	src/channel/channel_outside.c \
	src/channel/channel_ping.c \
	src/channel/channel_queue.c \
	src/channel/channel_resolve.c src/channel/channel_resolve.h \
	src/channel/channel_stats.c \
	src/channel/channel_watch.c \
	src/channel/failure.c src/channel/failure.h \
	src/channel/options.c src/channel/options.h \
	src/channel/response.c src/channel/response.h \
	src/channel/subchannel.c src/channel/subchannel.h \
	src/channel/subchannel_dial.c \
	src/channel/subchannel_failure.c \
	src/channel/subchannel_pings.c \
	src/channel/trace.c src/channel/trace.h \
	src/channel/version.c

# Hardly ever runs.
COLD += \
	src/channel/call_cancel.lo src/channel/channel.lo src/channel/channel_dump.lo src/channel/channel_fd.lo \
	src/channel/channel_idle.lo src/channel/channel_make.lo src/channel/channel_ping.lo src/channel/channel_resolve.lo \
	src/channel/channel_stats.lo src/channel/channel_watch.lo src/channel/failure.lo src/channel/options.lo \
	src/channel/subchannel.lo src/channel/subchannel_dial.lo src/channel/subchannel_failure.lo \
	src/channel/subchannel_pings.lo src/channel/trace.lo \
	src/channel/version.lo
