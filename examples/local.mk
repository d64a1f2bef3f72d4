# SPDX-License-Identifier: MIT
# Examples are built by `make` against the library as a user sees it: public headers, exported names.
noinst_PROGRAMS += examples/unary
examples_unary_SOURCES = examples/unary.c
examples_unary_LDADD = liblull.la
