liblull_core_la_SOURCES += \
	src/loop/loop.c src/loop/loop_builtin.c src/loop/loop_builtin.h src/loop/loop_fork.c src/loop/loop_fork.h src/loop/loop.h \
	src/loop/loop_thread.c src/loop/loop_thread.h

# One of them is the built-in loop: configure --with-loop.
if LOOP_EPOLL
liblull_core_la_SOURCES += \
	src/loop/loop_alarm.c src/loop/loop_alarm.h \
	src/loop/loop_epoll.c src/loop/loop_epoll.h \
	src/loop/loop_wake.c src/loop/loop_wake.h
else
liblull_core_la_SOURCES += \
	src/loop/loop_pipe.c src/loop/loop_pipe.h \
	src/loop/loop_poll.c src/loop/loop_poll.h
endif

# Hardly ever runs.
COLD += \
	src/loop/loop_fork.lo src/loop/loop_pipe.lo src/loop/loop_thread.lo
