# SPDX-License-Identifier: MIT
check_PROGRAMS += tests/sim/seed_test
tests_sim_seed_test_SOURCES = tests/sim/seed_test.c
tests_sim_seed_test_LDADD = $(UNIT_LIBS)
