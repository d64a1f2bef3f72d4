liblull_core_la_SOURCES += \
	src/time/clock_fake.c \
	src/time/clock_monotonic.c \
	src/time/timerq.c src/time/timerq.h

# Hardly ever runs.
COLD += \
	src/time/clock_fake.lo
