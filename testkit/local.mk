# SPDX-License-Identifier: MIT
libtestkit_la_SOURCES += \
	testkit/frame.c testkit/frame.h \
	testkit/peer.c testkit/peer.h \
	testkit/sim.c testkit/sim.h \
	testkit/tape.c testkit/tape.h
