dnl SPDX-License-Identifier: MIT
dnl What configure.ac asks of the compiler and the linker.

dnl A missing pkg.m4 would otherwise end as a syntax error in the generated script.
m4_pattern_forbid([^PKG_(PROG|CHECK)], [pkg.m4 is missing: on Debian: apt-get install pkg-config])

dnl LULL_C11_ATOMICS: the inbox and the guarded release need <stdatomic.h> for pointers and 64-bit numbers.
AC_DEFUN([LULL_C11_ATOMICS], [
  AC_CACHE_CHECK([for C11 atomics], [lull_cv_c11_atomics], [
    lull_cv_c11_atomics=no
    lull_save_LIBS=$LIBS
    for lull_try in "" -latomic; do
      LIBS="$lull_save_LIBS $lull_try"
      AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <stdatomic.h>
#include <stdint.h>
static _Atomic(void *) head;
static _Atomic uint64_t count;]], [[
        void *seen = atomic_exchange(&head, (void *)0);
        atomic_fetch_add(&count, 1);
        return seen != (void *)0 || atomic_load(&count) != 1;]])],
        [lull_cv_c11_atomics=${lull_try:-yes}; break])
    done
    LIBS=$lull_save_LIBS
  ])
  AS_CASE([$lull_cv_c11_atomics],
    [no], [AC_MSG_ERROR([the compiler has no C11 atomics; on Debian: apt-get install gcc libc6-dev])],
    [-l*], [LIBS="$LIBS $lull_cv_c11_atomics"])
])

dnl LULL_TRY_CFLAG(FLAG, VARIABLE): append FLAG to VARIABLE if the compiler takes it without a word.
AC_DEFUN([LULL_TRY_CFLAG], [
  AS_VAR_PUSHDEF([lull_cache], [lull_cv_cflag_$1])
  AC_CACHE_CHECK([whether $CC takes $1], [lull_cache], [
    lull_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $1"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
      [AS_VAR_SET([lull_cache], [yes])], [AS_VAR_SET([lull_cache], [no])])
    CFLAGS=$lull_save_CFLAGS
  ])
  AS_VAR_IF([lull_cache], [yes], [$2="$$2 $1"])
  AS_VAR_POPDEF([lull_cache])
])

dnl LULL_WARNINGS: sets STD_CFLAGS and WARN_CFLAGS. Warnings are on by default, errors with --enable-werror.
AC_DEFUN([LULL_WARNINGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [turn compiler warnings into errors])], [], [enable_werror=no])
  STD_CFLAGS=
  WARN_CFLAGS=
  LULL_TRY_CFLAG([-std=gnu11], [STD_CFLAGS])
  LULL_TRY_CFLAG([-fvisibility=hidden], [STD_CFLAGS])
  m4_foreach_w([lull_flag], [-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes
      -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wvla],
    [LULL_TRY_CFLAG(lull_flag, [WARN_CFLAGS])])
  AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
  AC_SUBST([STD_CFLAGS])
  AC_SUBST([WARN_CFLAGS])
])

dnl LULL_SANITIZER: sets SANITIZER_CFLAGS, for the compiler and for the linker. gcc 12 no longer sees an explicit cast under the
dnl undefined sanitizer and warns of a conversion that is written out: there, and only there, it is no error.
AC_DEFUN([LULL_SANITIZER], [
  AC_ARG_ENABLE([sanitizer],
    [AS_HELP_STRING([--enable-sanitizer=NAME], [build with a sanitizer: address, undefined or thread])],
    [], [enable_sanitizer=no])
  SANITIZER_CFLAGS=
  AS_CASE([$enable_sanitizer],
    [no], [],
    [address], [SANITIZER_CFLAGS="-fsanitize=address -fno-omit-frame-pointer"],
    [undefined], [SANITIZER_CFLAGS="-fsanitize=undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-error=conversion"],
    [thread], [SANITIZER_CFLAGS="-fsanitize=thread -fno-omit-frame-pointer"],
    [AC_MSG_ERROR([--enable-sanitizer takes address, undefined or thread, not '$enable_sanitizer'])])
  AS_IF([test -n "$SANITIZER_CFLAGS"], [
    lull_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $SANITIZER_CFLAGS"
    AC_MSG_CHECKING([whether the $enable_sanitizer sanitizer links])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])], [
      AC_MSG_RESULT([no])
      AC_MSG_ERROR([$CC cannot link with $SANITIZER_CFLAGS; on Debian with clang: apt-get install libclang-rt-14-dev])])
    CFLAGS=$lull_save_CFLAGS
  ])
  AC_SUBST([SANITIZER_CFLAGS])
])

dnl LULL_VERSION_SCRIPT: the export list wants a linker that reads version scripts (GNU ld, gold, lld).
AC_DEFUN([LULL_VERSION_SCRIPT], [
  AC_CACHE_CHECK([whether the linker reads version scripts], [lull_cv_version_script], [
    lull_save_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS -shared -fPIC -Wl,--version-script=conftest.map"
    echo 'CONFTEST_0 { global: conftest_a; local: *; };' >conftest.map
    AC_LINK_IFELSE([AC_LANG_SOURCE([int conftest_a(void); int conftest_a(void) { return 0; }])],
      [lull_cv_version_script=yes], [lull_cv_version_script=no])
    rm -f conftest.map
    LDFLAGS=$lull_save_LDFLAGS
  ])
  AM_CONDITIONAL([HAVE_VERSION_SCRIPT], [test "x$lull_cv_version_script" = xyes])
])

dnl LULL_SYMBOLIC: sets SYMBOLIC_LDFLAGS. The library's calls of its own public functions go straight there, not through the table that
dnl lets a program replace them.
AC_DEFUN([LULL_SYMBOLIC], [
  AC_CACHE_CHECK([whether the linker takes -Bsymbolic-functions], [lull_cv_symbolic], [
    lull_save_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS -shared -fPIC -Wl,-Bsymbolic-functions"
    AC_LINK_IFELSE([AC_LANG_SOURCE([int conftest_a(void); int conftest_a(void) { return 0; }])],
      [lull_cv_symbolic=yes], [lull_cv_symbolic=no])
    LDFLAGS=$lull_save_LDFLAGS
  ])
  SYMBOLIC_LDFLAGS=
  AS_IF([test "x$lull_cv_symbolic" = xyes], [SYMBOLIC_LDFLAGS=-Wl,-Bsymbolic-functions])
  AC_SUBST([SYMBOLIC_LDFLAGS])
])

dnl LULL_LEAN: SIZE_CFLAGS and LEAN_LDFLAGS, for what an installed library need not carry: functions that only tests call, the padding
dnl before functions, loops and segments, second pieces of functions, which cost more to unwind than they save, and a jump of its own on the
dnl way to each function of another library: of the call path not an instruction comes from any of these (scripts/check-weight.sh,
dnl bench/guard.sh). Addresses that are only to be moved are packed where the C library is known to unpack them: glibc 2.36; an older one
dnl refuses such a library. COLD_CFLAGS is for the files on COLD of Makefile.am, and COLDEST_CFLAGS for those of
dnl them that are not on PASSED, in a build that is made quick otherwise: one for a debugger or a sanitizer stays what it is.
AC_DEFUN([LULL_LEAN], [
  SIZE_CFLAGS=
  COLD_CFLAGS=
  COLDEST_CFLAGS=
  LEAN_LDFLAGS=
  m4_foreach_w([lull_flag], [-ffunction-sections -fdata-sections -falign-functions=1 -falign-loops=1 -falign-jumps=1
      -fno-reorder-blocks-and-partition -fno-partial-inlining -fno-tree-vectorize -fno-plt],
    [LULL_TRY_CFLAG(lull_flag, [SIZE_CFLAGS])])
  AS_CASE([" $CFLAGS "], [*' -O2 '* | *' -O3 '*], [AS_IF([test "x$enable_sanitizer" = xno], [
    LULL_TRY_CFLAG([-Oz], [COLD_CFLAGS])
    AS_IF([test -z "$COLD_CFLAGS"], [LULL_TRY_CFLAG([-Os], [COLD_CFLAGS])])
    # A jump to the last function that is called wants the frame taken down twice, and told of twice.
    LULL_TRY_CFLAG([-fno-optimize-sibling-calls], [COLDEST_CFLAGS])])])
  m4_foreach_w([lull_flag], [-Wl,--gc-sections -Wl,-z,noseparate-code],
    [LULL_TRY_LEAN_LDFLAG([lull_flag], [AC_LANG_PROGRAM([], [])])])
  LULL_TRY_LEAN_LDFLAG([-Wl,-z,pack-relative-relocs], [AC_LANG_PROGRAM([
    #include <limits.h>
    #if !defined(__GLIBC__) || !__GLIBC_PREREQ(2, 36)
    #error "may not unpack them"
    #endif
    static const char *const moved = "moved";], [return *moved == 0;])])
  AC_SUBST([SIZE_CFLAGS])
  AC_SUBST([COLD_CFLAGS])
  AC_SUBST([COLDEST_CFLAGS])
  AC_SUBST([LEAN_LDFLAGS])
])

dnl LULL_TRY_LEAN_LDFLAG(FLAG, PROGRAM): adds FLAG to LEAN_LDFLAGS if PROGRAM links with it, and without a warning.
AC_DEFUN([LULL_TRY_LEAN_LDFLAG], [
  AC_MSG_CHECKING([whether the linker takes $1])
  lull_save_LDFLAGS=$LDFLAGS
  LDFLAGS="$LDFLAGS -Wl,--fatal-warnings $1"
  AC_LINK_IFELSE([$2],
    [LEAN_LDFLAGS="$LEAN_LDFLAGS $1"
     AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])])
  LDFLAGS=$lull_save_LDFLAGS
])

dnl LULL_ADAPTER(NAME, MODULE, PACKAGE): NAME_CFLAGS, NAME_LIBS and HAVE_NAME for the tests and examples of one adapter.
AC_DEFUN([LULL_ADAPTER], [
  PKG_CHECK_MODULES([$1], [$2], [lull_have=yes], [lull_have=no])
  AS_IF([test "x$lull_have" = xno], [
    AC_MSG_WARN([$2 was not found: the tests of its adapter are left out; on Debian: apt-get install $3])])
  AM_CONDITIONAL([HAVE_$1], [test "x$lull_have" = xyes])
])
