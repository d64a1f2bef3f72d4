dnl SPDX-License-Identifier: MIT
dnl LULL_MICRO_RIVALS: what the small benchmarks compare with (bench/micro). None of them is needed.
AC_DEFUN([LULL_MICRO_RIVALS], [
  AM_CONDITIONAL([HAVE_TIMERFD], [test "x$ac_cv_header_sys_timerfd_h" = xyes])
  AC_CHECK_HEADER([ev.h], [AC_CHECK_LIB([ev], [ev_loop_new], [lull_have_ev=yes], [lull_have_ev=no])], [lull_have_ev=no])
  AM_CONDITIONAL([HAVE_LIBEV], [test "x$lull_have_ev" = xyes])
  PKG_CHECK_MODULES([GRPCXX], [grpc++ >= 1.30], [lull_have_grpcxx=yes], [lull_have_grpcxx=no])
  AS_IF([test -z "$CXX"], [lull_have_grpcxx=no])
  AM_CONDITIONAL([HAVE_GRPCXX], [test "x$lull_have_grpcxx" = xyes])
  AC_CHECK_PROG([GO], [go], [go])
  AM_CONDITIONAL([HAVE_GO], [test -n "$GO"])
])
