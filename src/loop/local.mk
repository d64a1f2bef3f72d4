liblull_core_la_SOURCES += \
	src/loop/loop.c src/loop/loop_fork.c src/loop/loop_fork.h src/loop/loop.h \
	src/loop/loop_alarm.c src/loop/loop_alarm.h \
	src/loop/loop_epoll.c src/loop/loop_epoll.h \
	src/loop/loop_wake.c src/loop/loop_wake.h
