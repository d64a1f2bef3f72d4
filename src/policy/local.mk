liblull_core_la_SOURCES += \
	src/policy/backoff.c src/policy/backoff.h \
	src/policy/conn_age.c src/policy/conn_age.h \
	src/policy/deadline.c src/policy/deadline.h \
	src/policy/eyeballs.c src/policy/eyeballs.h \
	src/policy/idle.c \
	src/policy/keepalive.c \
	src/policy/keepalive_interval.c \
	src/policy/ping_police.c src/policy/ping_police.h

# Hardly ever runs.
COLD += \
	src/policy/backoff.lo src/policy/conn_age.lo src/policy/eyeballs.lo src/policy/keepalive.lo \
	src/policy/keepalive_interval.lo src/policy/ping_police.lo
