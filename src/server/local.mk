# SPDX-License-Identifier: MIT
liblull_core_la_SOURCES += \
	src/server/listener.c src/server/listener.h \
	src/server/reset_police.c src/server/reset_police.h \
	src/server/server.c src/server/server.h \
	src/server/server_age.c src/server/server_age.h \
	src/server/server_call.c src/server/server_call.h \
	src/server/server_call_stream.c \
	src/server/server_call_verbs.c \
	src/server/server_conn.c src/server/server_conn.h \
	src/server/server_options.c src/server/server_options.h

# Hardly ever runs.
COLD += \
	src/server/listener.lo src/server/reset_police.lo src/server/server.lo src/server/server_age.lo \
	src/server/server_call_verbs.lo src/server/server_conn.lo src/server/server_options.lo
