# SPDX-License-Identifier: MIT
# The benchmarks: `make bench` builds them, bench/run runs them, and `make check` sees each of them work once (bench/README.md).
# BENCHES are what configure found the libraries for.
BENCHES =
EXTRA_DIST += bench

EXTRA_PROGRAMS += $(BENCHES)
check_DATA += $(BENCHES)
CLEANFILES += $(BENCHES)

bench: all $(BENCHES)
.PHONY: bench
