# SPDX-License-Identifier: MIT
libtestkit_la_SOURCES += \
	testkit/frame.c testkit/frame.h \
	testkit/names.c testkit/names.h \
	testkit/peer.c testkit/peer.h \
	testkit/sim.c testkit/sim.h \
	testkit/sim_server.c testkit/sim_server.h \
	testkit/tape.c testkit/tape.h
