dnl SPDX-License-Identifier: MIT
dnl LULL_MICRO_RIVALS: what the benchmarks compare with (bench/micro, bench/rivals). None of them is needed.
AC_DEFUN([LULL_MICRO_RIVALS], [
  AM_CONDITIONAL([HAVE_TIMERFD], [test "x$ac_cv_header_sys_timerfd_h" = xyes])
  AC_CHECK_HEADER([ev.h], [AC_CHECK_LIB([ev], [ev_loop_new], [lull_have_ev=yes], [lull_have_ev=no])], [lull_have_ev=no])
  AM_CONDITIONAL([HAVE_LIBEV], [test "x$lull_have_ev" = xyes])
  PKG_CHECK_MODULES([GRPCXX], [grpc++ >= 1.30], [lull_have_grpcxx=yes], [lull_have_grpcxx=no])
  AS_IF([test -z "$CXX"], [lull_have_grpcxx=no])
  AM_CONDITIONAL([HAVE_GRPCXX], [test "x$lull_have_grpcxx" = xyes])
  AC_CHECK_PROG([GO], [go], [go])
  AM_CONDITIONAL([HAVE_GO], [test -n "$GO"])

  # Debian's Go packages are sources below one directory.
  AC_ARG_VAR([GOCODE], [where Go packages are (the GOPATH): /usr/share/gocode])
  AS_IF([test -z "$GOCODE"], [GOCODE=/usr/share/gocode])
  AM_CONDITIONAL([HAVE_GRPC_GO], [test -n "$GO" && test -d "$GOCODE/src/google.golang.org/grpc/keepalive"])

  # Java libraries: each of them, for one that is missing shows only when a class is wanted.
  AC_CHECK_PROG([JAVA], [java], [java])
  AC_CHECK_PROG([JAVAC], [javac], [javac])
  AC_CHECK_PROG([JAR], [jar], [jar])
  GRPC_JAVA_CLASSPATH=
  lull_have_grpc_java=yes
  AS_IF([test -z "$JAVA" || test -z "$JAVAC" || test -z "$JAR"], [lull_have_grpc_java=no])
  for lull_jar in grpc-api grpc-core grpc-context grpc-stub grpc-netty perfmark-api guava netty-common netty-buffer netty-transport \
    netty-resolver netty-codec netty-codec-http netty-codec-http2 netty-codec-socks netty-handler netty-handler-proxy \
    netty-transport-native-unix-common netty-transport-native-epoll; do
    AS_IF([test ! -f "/usr/share/java/$lull_jar.jar"], [lull_have_grpc_java=no])
    GRPC_JAVA_CLASSPATH="$GRPC_JAVA_CLASSPATH${GRPC_JAVA_CLASSPATH:+:}/usr/share/java/$lull_jar.jar"
  done
  AC_SUBST([GRPC_JAVA_CLASSPATH])
  AM_CONDITIONAL([HAVE_GRPC_JAVA], [test "x$lull_have_grpc_java" = xyes])
])
