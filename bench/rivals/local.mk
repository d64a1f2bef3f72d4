# SPDX-License-Identifier: MIT
# Clients on other people's libraries (bench/README.md). RIVALS are those whose library is there; those in a scripted language need no building.
RIVALS =
if HAVE_GRPCXX
RIVALS += bench/rivals/grpcxx
endif
if HAVE_GRPC_GO
RIVALS += bench/rivals/grpcgo
endif
if HAVE_GRPC_JAVA
RIVALS += bench/rivals/grpcjava bench/rivals/nettytimers
CLEANFILES += bench/rivals/rivals.jar bench/rivals/libnetty_tcnative.so
endif
check_DATA += $(RIVALS)
CLEANFILES += $(RIVALS)

# Other compilers: each in one command, and no object of theirs stays.
CXX_RIVALS = bench/rivals/grpcxx.cc bench/rivals/grpcxx_stream.cc bench/rivals/grpcxx_many.cc
bench/rivals/grpcxx: $(CXX_RIVALS) bench/rivals/grpcxx.h bench/common.c bench/common.h
	@$(MKDIR_P) bench/rivals
	$(AM_V_GEN)$(CC) -O2 -g -D_GNU_SOURCE -I$(srcdir)/bench -c -o bench/rivals/grpcxx.common.o $(srcdir)/bench/common.c && \
	$(CXX) -O2 -g -D_GNU_SOURCE -I$(srcdir)/bench $(GRPCXX_CFLAGS) -o $@ $(CXX_RIVALS:%=$(srcdir)/%) bench/rivals/grpcxx.common.o $(GRPCXX_LIBS); \
	status=$$?; rm -f bench/rivals/grpcxx.common.o; exit $$status

GO_RIVALS = bench/rivals/go/main.go bench/rivals/go/meter.go bench/rivals/go/many.go
bench/rivals/grpcgo: $(GO_RIVALS)
	@$(MKDIR_P) bench/rivals
	$(AM_V_GEN)GOCACHE="$${GOCACHE-$(abs_builddir)/.go-cache}" CGO_ENABLED=0 GO111MODULE=off GOPATH=$(GOCODE) \
		$(GO) build -o $@ $(GO_RIVALS:%=$(srcdir)/%)

JAVA_RIVALS = bench/rivals/java/GrpcJava.java bench/rivals/java/Many.java bench/rivals/java/Meter.java bench/rivals/java/Proc.java \
	bench/rivals/java/Streams.java bench/rivals/java/NettyTimers.java
bench/rivals/rivals.jar: $(JAVA_RIVALS)
	@$(MKDIR_P) bench/rivals/classes
	$(AM_V_GEN)$(JAVAC) -nowarn -d bench/rivals/classes -cp $(GRPC_JAVA_CLASSPATH) $(JAVA_RIVALS:%=$(srcdir)/%) && \
	$(JAR) cf $@ -C bench/rivals/classes .; \
	status=$$?; rm -rf bench/rivals/classes; exit $$status
# Netty looks for its library for TLS under another name than the one that Debian gave it, and wants no link.
bench/rivals/grpcjava: bench/rivals/rivals.jar
	$(AM_V_GEN)for file in /usr/lib/*/jni/libnetty-tcnative.so; do \
		if test -f "$$file"; then cp "$$file" bench/rivals/libnetty_tcnative.so; fi; done; \
	printf '%s\n' '#!/bin/sh' 'at=$$(dirname "$$0")' 'exec $(JAVA) -Djava.library.path="$$at" \' \
		' -cp "$$at/rivals.jar:$(GRPC_JAVA_CLASSPATH):/usr/share/java/netty-tcnative.jar" GrpcJava "$$@"' >$@ && chmod +x $@
bench/rivals/nettytimers: bench/rivals/rivals.jar
	$(AM_V_GEN)printf '%s\n' '#!/bin/sh' 'exec $(JAVA) -cp "$$(dirname "$$0")/rivals.jar:$(GRPC_JAVA_CLASSPATH)" NettyTimers "$$@"' >$@ && chmod +x $@
