# SPDX-License-Identifier: MIT
# Examples are built against the library as a user sees it: public headers, exported names.
noinst_PROGRAMS += examples/unary
examples_unary_SOURCES = examples/unary.c
examples_unary_LDADD = liblull.la

noinst_PROGRAMS += examples/blocking
examples_blocking_SOURCES = examples/blocking.c
examples_blocking_LDADD = liblull.la

noinst_PROGRAMS += examples/blocking_stream
examples_blocking_stream_SOURCES = examples/blocking_stream.c
examples_blocking_stream_LDADD = liblull.la

# What ./quickstart shows.
noinst_PROGRAMS += examples/life
examples_life_SOURCES = examples/life.c
examples_life_LDADD = liblull.la

# Its last line is the one that Check programs print.
check_PROGRAMS += examples/log_lines
examples_log_lines_SOURCES = examples/log_lines.c
examples_log_lines_LDADD = liblull.la

check_PROGRAMS += examples/fake_clock_test
examples_fake_clock_test_SOURCES = examples/fake_clock_test.c
examples_fake_clock_test_LDADD = liblull.la $(CHECK_LIBS)

check_PROGRAMS += examples/fake_channel_test
examples_fake_channel_test_SOURCES = examples/fake_channel_test.c
examples_fake_channel_test_LDADD = liblull.la $(CHECK_LIBS)

# Its last line is the one that Check programs print.
check_PROGRAMS += examples/bring_your_own_transport
examples_bring_your_own_transport_SOURCES = examples/bring_your_own_transport.c
examples_bring_your_own_transport_LDADD = liblull.la

check_PROGRAMS += examples/bring_your_own_loop
examples_bring_your_own_loop_SOURCES = examples/bring_your_own_loop.c
examples_bring_your_own_loop_LDADD = liblull.la

# lull inside another loop; tests/integ/embed_test.sh runs those that were built.
EMBEDDED =
if LOOP_EPOLL
EMBEDDED += examples/embed_epoll
examples_embed_epoll_SOURCES = examples/embed_epoll.c
examples_embed_epoll_LDADD = liblull.la
endif
if HAVE_LIBUV
EMBEDDED += examples/embed_libuv
examples_embed_libuv_SOURCES = examples/embed_libuv.c
examples_embed_libuv_CPPFLAGS = $(AM_CPPFLAGS) $(LIBUV_CFLAGS)
examples_embed_libuv_LDADD = liblull.la $(LIBUV_LIBS)
endif
if HAVE_GLIB
EMBEDDED += examples/embed_glib
examples_embed_glib_SOURCES = examples/embed_glib.c
examples_embed_glib_CPPFLAGS = $(AM_CPPFLAGS) $(GLIB_CFLAGS)
examples_embed_glib_LDADD = liblull.la $(GLIB_LIBS)
endif
noinst_PROGRAMS += $(EMBEDDED)

noinst_PROGRAMS += examples/tls_unary
examples_tls_unary_SOURCES = examples/tls_unary.c
examples_tls_unary_LDADD = liblull.la

check_PROGRAMS += examples/logger
examples_logger_SOURCES = examples/logger.c
examples_logger_LDADD = liblull.la

check_PROGRAMS += examples/from_fd
examples_from_fd_SOURCES = examples/from_fd.c
examples_from_fd_LDADD = liblull.la

check_PROGRAMS += examples/on_socket
examples_on_socket_SOURCES = examples/on_socket.c
examples_on_socket_LDADD = liblull.la
