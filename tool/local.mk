# tool/: the `lull` program. It sees public headers and the shared library only.
bin_PROGRAMS += lull
lull_SOURCES = \
	tool/main.c \
	tool/args.c tool/args.h \
	tool/base64.c tool/base64.h \
	tool/call.c tool/call.h \
	tool/delimited.c tool/delimited.h \
	tool/demo.c tool/demo.h \
	tool/ending.c tool/ending.h \
	tool/hex.c tool/hex.h \
	tool/io.c tool/io.h \
	tool/options.c tool/options.h \
	tool/serve.c tool/serve.h \
	tool/stream.c tool/stream.h \
	tool/text.c tool/text.h \
	tool/timeline.c tool/timeline.h \
	tool/tls.c tool/tls.h \
	tool/watch.c tool/watch.h
lull_CPPFLAGS = -I$(top_srcdir)/include
lull_LDADD = liblull.la

dist_man1_MANS = tool/lull.1
bashcompdir = $(datadir)/bash-completion/completions
dist_bashcomp_DATA = tool/completion/lull
