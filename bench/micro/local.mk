# SPDX-License-Identifier: MIT
# The small benchmarks: timers, recyclers, idle timers. What configure found no library for is left out (m4/bench.m4).
MICRO_COMMON = bench/micro/micro.c bench/micro/micro.h
MICRO_TIMERS = bench/micro/timers.h bench/micro/timers_rows.h $(MICRO_COMMON)
MICRO_OBJECTS = bench/micro/objects.c bench/micro/objects.h bench/micro/objects_loops.h $(MICRO_COMMON)
MICRO_CPPFLAGS = -I$(top_srcdir)/include -I$(top_srcdir)/bench/micro
MICRO_CORE_LIBS = liblull-core.la $(NGHTTP2_LIBS) $(CARES_LIBS) $(OPENSSL_LIBS)

BENCHES += bench/micro/timers_lull bench/micro/timers_lull_so bench/micro/timers_lullq bench/micro/objects_lull \
	bench/micro/objects_lull_so bench/micro/objects_lull_off bench/micro/objects_malloc

# Lanes are internal; the same push through the shared library is timers_lull_so.
bench_micro_timers_lull_SOURCES = bench/micro/timers_lull.c $(MICRO_TIMERS)
bench_micro_timers_lull_CPPFLAGS = $(AM_CPPFLAGS) $(MICRO_CPPFLAGS)
bench_micro_timers_lull_LDADD = $(MICRO_CORE_LIBS)

bench_micro_timers_lull_so_SOURCES = bench/micro/timers_lull.c $(MICRO_TIMERS)
bench_micro_timers_lull_so_CPPFLAGS = $(AM_CPPFLAGS) $(MICRO_CPPFLAGS) -DPUBLIC_ONLY
bench_micro_timers_lull_so_LDADD = liblull.la

# And its timer queue alone.
bench_micro_timers_lullq_SOURCES = bench/micro/timers_lull.c $(MICRO_TIMERS)
bench_micro_timers_lullq_CPPFLAGS = $(MICRO_CPPFLAGS) -DQUEUE_ONLY
bench_micro_timers_lullq_LDADD = liblull.la

# The recycler as size_classes.c uses it; by its public functions; and each object a malloc.
bench_micro_objects_lull_SOURCES = bench/micro/objects_lull.c $(MICRO_OBJECTS)
bench_micro_objects_lull_CPPFLAGS = $(AM_CPPFLAGS) $(MICRO_CPPFLAGS)
bench_micro_objects_lull_LDADD = $(MICRO_CORE_LIBS)

bench_micro_objects_lull_so_SOURCES = bench/micro/objects_lull.c $(MICRO_OBJECTS)
bench_micro_objects_lull_so_CPPFLAGS = $(AM_CPPFLAGS) $(MICRO_CPPFLAGS) -DPUBLIC_ONLY
bench_micro_objects_lull_so_LDADD = liblull.la

bench_micro_objects_lull_off_SOURCES = bench/micro/objects_lull.c src/base/recycler.c src/base/recycler_port.c $(MICRO_OBJECTS)
bench_micro_objects_lull_off_CPPFLAGS = $(AM_CPPFLAGS) $(MICRO_CPPFLAGS) -DLULL_NO_POOL
bench_micro_objects_lull_off_LDADD = $(MICRO_CORE_LIBS)

bench_micro_objects_malloc_SOURCES = bench/micro/objects_malloc.c $(MICRO_OBJECTS)
bench_micro_objects_malloc_CPPFLAGS = $(MICRO_CPPFLAGS)
bench_micro_objects_malloc_LDADD = -ldl
# No sanitizer: it would want to be loaded before the malloc that is measured.
bench_micro_objects_malloc_CFLAGS = $(STD_CFLAGS) $(WARN_CFLAGS) -pthread
bench_micro_objects_malloc_LDFLAGS = -pthread

BENCHES += bench/micro/entries
bench_micro_entries_SOURCES = bench/micro/entries.c $(MICRO_COMMON)
bench_micro_entries_CPPFLAGS = $(AM_CPPFLAGS) $(MICRO_CPPFLAGS)
bench_micro_entries_LDADD = $(MICRO_CORE_LIBS)

BENCHES += bench/micro/idle
bench_micro_idle_SOURCES = bench/micro/idle.c $(MICRO_COMMON)
bench_micro_idle_CPPFLAGS = $(MICRO_CPPFLAGS)
bench_micro_idle_LDADD = liblull.la
if HAVE_TIMERFD
bench_micro_idle_CPPFLAGS += -DIDLE_TIMERFD
endif
if HAVE_LIBUV
bench_micro_idle_CPPFLAGS += -DIDLE_LIBUV $(LIBUV_CFLAGS)
bench_micro_idle_LDADD += $(LIBUV_LIBS)
endif

# Whole calls: the same program with each pooled object a malloc. Both on the core, so that nothing else differs.
MICRO_CALLS = bench/callbench.c bench/callbench.h bench/callbench_many.c bench/callbench_stream.c bench/callbench_sync.c $(BENCH_COMMON)
BENCHES += bench/micro/calls_pool bench/micro/calls_no_pool
bench_micro_calls_pool_SOURCES = $(MICRO_CALLS)
bench_micro_calls_pool_CPPFLAGS = $(BENCH_CPPFLAGS)
bench_micro_calls_pool_LDADD = $(MICRO_CORE_LIBS)
bench_micro_calls_no_pool_SOURCES = $(MICRO_CALLS) src/base/recycler.c src/base/recycler_port.c src/base/size_classes.c
bench_micro_calls_no_pool_CPPFLAGS = $(AM_CPPFLAGS) $(BENCH_CPPFLAGS) -DLULL_NO_POOL
bench_micro_calls_no_pool_LDADD = $(MICRO_CORE_LIBS)

# What bench/guard.sh has counted.
BENCHES += bench/guard_ops
SCRIPT_TESTS += bench/guard.sh tests/scripts/guard_test.sh
bench_guard_ops_SOURCES = bench/guard_ops.c bench/guard_peer.c bench/guard_peer.h
bench_guard_ops_LDADD = $(MICRO_CORE_LIBS)

# What costs more on purpose, or less: the diff of bench/guard.baseline shows it.
guard-baseline: bench/guard_ops
	@$(AM_TESTS_ENVIRONMENT) '$(srcdir)/bench/guard.sh' --update
.PHONY: guard-baseline

if HAVE_TIMERFD
BENCHES += bench/micro/timers_timerfd
bench_micro_timers_timerfd_SOURCES = bench/micro/timers_timerfd.c $(MICRO_TIMERS)
bench_micro_timers_timerfd_CPPFLAGS = $(MICRO_CPPFLAGS)
bench_micro_timers_timerfd_LDADD =
endif
if HAVE_LIBEV
BENCHES += bench/micro/timers_libev
bench_micro_timers_libev_SOURCES = bench/micro/timers_libev.c $(MICRO_TIMERS)
bench_micro_timers_libev_CPPFLAGS = $(MICRO_CPPFLAGS)
bench_micro_timers_libev_LDADD = -lev
endif
if HAVE_LIBEVENT
BENCHES += bench/micro/timers_libevent
bench_micro_timers_libevent_SOURCES = bench/micro/timers_libevent.c $(MICRO_TIMERS)
bench_micro_timers_libevent_CPPFLAGS = $(MICRO_CPPFLAGS) $(LIBEVENT_CFLAGS)
bench_micro_timers_libevent_LDADD = $(LIBEVENT_LIBS)
endif
if HAVE_LIBUV
BENCHES += bench/micro/timers_libuv
bench_micro_timers_libuv_SOURCES = bench/micro/timers_libuv.c $(MICRO_TIMERS)
bench_micro_timers_libuv_CPPFLAGS = $(MICRO_CPPFLAGS) $(LIBUV_CFLAGS)
bench_micro_timers_libuv_LDADD = $(LIBUV_LIBS)
endif

# Two that are not C, so that nobody needs their compilers: each in one command.
MICRO_OTHERS =
if HAVE_GRPCXX
MICRO_OTHERS += bench/micro/timers_grpc
endif
if HAVE_GO
MICRO_OTHERS += bench/micro/timers_go
endif
check_DATA += $(MICRO_OTHERS)
CLEANFILES += $(MICRO_OTHERS)

MICRO_OTHER_FLAGS = -O2 -g -I$(srcdir)/bench/micro
bench/micro/timers_grpc: bench/micro/timers_grpc.cc $(MICRO_TIMERS)
	@$(MKDIR_P) bench/micro
	$(AM_V_GEN)$(CC) $(MICRO_OTHER_FLAGS) -D_GNU_SOURCE -c -o bench/micro/timers_grpc.o $(srcdir)/bench/micro/micro.c && \
	$(CXX) $(MICRO_OTHER_FLAGS) $(GRPCXX_CFLAGS) -o $@ $(srcdir)/bench/micro/timers_grpc.cc bench/micro/timers_grpc.o $(GRPCXX_LIBS); \
	status=$$?; rm -f bench/micro/timers_grpc.o; exit $$status

bench/micro/timers_go: bench/micro/timers_go.go
	@$(MKDIR_P) bench/micro
	$(AM_V_GEN)GOCACHE="$${GOCACHE-$(abs_builddir)/.go-cache}" GO111MODULE=off $(GO) build -o $@ $(srcdir)/bench/micro/timers_go.go
clean-local-micro:
	-test ! -d .go-cache || { chmod -R u+w .go-cache; rm -rf .go-cache; }
clean-local: clean-local-micro
.PHONY: clean-local-micro
