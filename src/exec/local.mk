liblull_core_la_SOURCES += \
	src/exec/alarm.c \
	src/exec/executor.c src/exec/executor.h \
	src/exec/executor_parts.h \
	src/exec/inbox.c src/exec/inbox.h \
	src/exec/lane.c src/exec/lane.h \
	src/exec/linger.c src/exec/linger.h \
	src/exec/orphan.c src/exec/orphan.h \
	src/exec/refusal.c src/exec/refusal.h \
	src/exec/roles.c src/exec/roles.h \
	src/exec/rescheduler.c src/exec/rescheduler.h \
	src/exec/task_queue.h \
	src/exec/thread_id.h \
	src/exec/timer.c \
	src/exec/turn.c \
	src/exec/wait_cell.c src/exec/wait_cell.h

# Hardly ever runs.
COLD += \
	src/exec/alarm.lo src/exec/linger.lo src/exec/orphan.lo src/exec/refusal.lo
