# SPDX-License-Identifier: MIT
# The benchmarks: `make bench` builds them, bench/run runs them, and `make check` sees each of them work once (bench/README.md).
# BENCH_PROGRAMS are what configure found the libraries for.
BENCH_PROGRAMS =
EXTRA_DIST += bench

EXTRA_PROGRAMS += $(BENCH_PROGRAMS)
check_DATA += $(BENCH_PROGRAMS)
CLEANFILES += $(BENCH_PROGRAMS)

bench: all $(BENCH_PROGRAMS)
.PHONY: bench
