# SPDX-License-Identifier: MIT
# The benchmarks: `make bench` builds them, bench/run runs them, and `make check` sees each of them work once (bench/README.md).
# BENCHES are what configure found the libraries for.
BENCHES = bench/ngserver bench/raw bench/ngclient bench/callbench
EXTRA_DIST += bench
SCRIPT_TESTS += bench/check.sh

BENCH_COMMON = bench/common.c bench/common.h
BENCH_CPPFLAGS = -I$(top_srcdir)/include -I$(top_srcdir)/bench
BENCH_NG_CPPFLAGS = $(BENCH_CPPFLAGS) $(NGHTTP2_CFLAGS)
if WITH_OPENSSL
BENCH_NG_CPPFLAGS += -DBENCH_TLS $(OPENSSL_CFLAGS)
endif

bench_ngserver_SOURCES = bench/ngserver.c bench/ngserver.h bench/ngserver_call.c bench/tls.c bench/tls.h $(BENCH_COMMON)
bench_ngserver_CPPFLAGS = $(BENCH_NG_CPPFLAGS)
bench_ngserver_LDADD = $(NGHTTP2_LIBS) $(OPENSSL_LIBS)

bench_raw_SOURCES = bench/raw.c $(BENCH_COMMON)
bench_raw_CPPFLAGS = $(BENCH_CPPFLAGS)
bench_raw_LDADD =

# The floor.
bench_ngclient_SOURCES = bench/ngclient.c bench/ngclient.h bench/ngclient_stream.c bench/ngconn.c bench/tls.c bench/tls.h $(BENCH_COMMON)
bench_ngclient_CPPFLAGS = $(BENCH_NG_CPPFLAGS)
bench_ngclient_LDADD = $(NGHTTP2_LIBS) $(OPENSSL_LIBS)

# lull, as a user sees it.
bench_callbench_SOURCES = bench/callbench.c bench/callbench.h bench/callbench_many.c bench/callbench_stream.c bench/callbench_sync.c \
	$(BENCH_COMMON)
bench_callbench_CPPFLAGS = $(BENCH_CPPFLAGS)
bench_callbench_LDADD = liblull.la

EXTRA_PROGRAMS += $(BENCHES)
check_DATA += $(BENCHES)
CLEANFILES += $(BENCHES)

# A make of its own behind `all`, which is one too: two at once would write the same archive.
bench: all
	$(MAKE) $(AM_MAKEFLAGS) $(BENCHES) $(MICRO_OTHERS) $(RIVALS)
.PHONY: bench
