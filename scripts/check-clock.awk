# SPDX-License-Identifier: MIT
#
# The judgement of check-clock.sh. Reads from standard input the lines of all sources as strip-c.awk gives them with keep and where:
# "file:line:", a tab, the line. What may be and why comes in the environment, as MAY.
#
# A statement is judged whole, its lines put together, so that a name and its parenthesis need not stand on one line.
function fault(row, text) {
    printf "%s:%d: %s\n", path, row, text
    if (!(path in bad))
        faults++
    bad[path] = 1
}

# Each place where pattern matches in the statement is a fault, unless name is let through. In a pattern ~ stands for space of any kind.
function refuse(pattern, text, name,    rest, row, before, gone) {
    if (name != "" && (path, name) in allowed)
        return
    gsub(/~/, "[ \t\n]*", pattern)
    rest = statement
    row = first
    while (match(rest, pattern)) {
        before = substr(rest, 1, RSTART + RLENGTH - 1)
        # The line of the name: the last line of what matched before its trailing space and parenthesis.
        sub(/[^A-Za-z0-9_]*[A-Za-z0-9_]*[^A-Za-z0-9_]*$/, "", before)
        gone = substr(rest, 1, RSTART + RLENGTH - 1)
        fault(row + gsub(/\n/, "", before), text)
        row += gsub(/\n/, "", gone)
        rest = substr(rest, RSTART + RLENGTH)
    }
}

# The same for names: a call, a pointer to the function, a name in parentheses, all the same.
function refuse_names(list, text,    n, w, i, any) {
    n = split(list, w, " ")
    any = ""
    for (i = 1; i <= n; i++)
        if (index(statement, w[i]) && !((path, w[i]) in allowed))
            any = any (any == "" ? "" : "|") w[i]
    if (any != "")
        refuse("(^|[^A-Za-z0-9_])(" any ")([^A-Za-z0-9_]|$)", text)
}

# The same for names that are good ones for a variable or a member too: only what must be the function.
function refuse_calls(names, text) {
    refuse("(^|[^A-Za-z0-9_.>])(" names ")~[(]", text)
    refuse("[(]~&?~(" names ")~[)]~[(]", text)
}

# Every call of name must have the value 0 as its last argument, or end here with it: the others wait.
function refuse_waits(name, text,    rest, i, depth, c, start, row, gone) {
    if ((path, name) in allowed || !index(statement, name))
        return
    rest = statement
    row = first
    while (match(rest, "(^|[^A-Za-z0-9_])" name "([^A-Za-z0-9_]|$)")) {
        gone = substr(rest, 1, RSTART + length(name))
        row += gsub(/\n/, "", gone)
        i = RSTART + RLENGTH - 1
        if (!match(substr(rest, RSTART), "^[^A-Za-z0-9_]?" name "[ \t\n]*\\(")) {
            fault(row, text)
            rest = substr(rest, i)
            continue
        }
        while (substr(rest, i, 1) != "(")
            i++
        start = ++i
        depth = 1
        for (; i <= length(rest); i++) {
            c = substr(rest, i, 1)
            if (c == "(")
                depth++
            else if (c == ")" && --depth == 0)
                break
            else if (c == "," && depth == 1)
                start = i + 1
        }
        c = depth > 0 ? "" : substr(rest, start, i - start)
        gsub(/[ \t\n]/, "", c)
        if (c != "0")
            fault(row, text)
        rest = substr(rest, start)
    }
}

# A system call that is let through by its SYS_ name may stand as the first argument of syscall().
function judge_system_calls(    whole, name, known) {
    whole = statement
    known = ""
    while (match(statement, /syscall\(SYS_[a-z0-9_]+/)) {
        name = substr(statement, RSTART + 8, RLENGTH - 8)
        known = known substr(statement, 1, RSTART - 1) ((path, name) in allowed ? "" : "syscall (" name)
        statement = substr(statement, RSTART + RLENGTH)
    }
    statement = known statement
    refuse_names("syscall asm __asm __asm__", "goes past the C library; a clock could be read there")
    refuse("(^|[^A-Za-z0-9_])(SYS|__NR)_[a-z]", "goes past the C library; a clock could be read there")
    statement = whole
}

function judge() {
    if (statement ~ /^[ \t\n]*$/ || path == "src/time/clock_monotonic.c") {
        statement = ""
        return
    }
    refuse_names("clock_gettime clock_getres gettimeofday ftime timespec_get timespec_getres getrusage adjtimex " \
        "clock_adjtime ntp_gettime __rdtsc __rdtscp __builtin_ia32_rdtsc __builtin_ia32_rdtscp __builtin_readcyclecounter " \
        "CLOCKS_PER_SEC", "reads a real clock; take now by value or ask the clock seam")
    if (statement !~ /^[ \t\n]*#[ \t]*include/)
        judge_system_calls()
    refuse_calls("time|clock|times", "calls time(), clock() or times(); take now by value or ask the clock seam")
    refuse("[(]~[*]~(time|clock)~[)]~[(]", "calls time() or clock(); take now by value or ask the clock seam")
    refuse("[=,(?:]~&?~time~[;,)]", "takes time() as a pointer; take now by value or ask the clock seam")
    if (path !~ /^src\/loop\// || statement !~ /timerfd_create[ \t\n]*\([ \t\n]*CLOCK_(BOOTTIME|MONOTONIC)[^A-Za-z0-9_]/)
        refuse("(^|[^A-Za-z0-9_])CLOCK_(REALTIME|MONOTONIC|BOOTTIME|TAI|PROCESS_CPUTIME_ID|THREAD_CPUTIME_ID)[A-Z_]*([^A-Za-z0-9_]|$)",
            "names a real clock; only src/time/clock_monotonic.c may")
    if (statement ~ /^[ \t\n]*#[ \t]*include/)
        refuse("[<\"](time|threads|sys/time|sys/times|sys/timeb|sys/timex|sys/timerfd|x86intrin|immintrin)[.]h",
            "includes a header of real clocks", path ~ /^src\/loop\/loop_alarm\.[ch]$/ ? "time.h" : "")
    if (path ~ /^(src|include|tests\/unit|tests\/sim|testkit)\//)
        refuse("(^|[^A-Za-z0-9_])lull_clock_system([^A-Za-z0-9_]|$)",
            "takes the system clock; the clock comes with the executor, in a test it is a fake one", "lull_clock_system")
    if (path ~ /^tests\/(unit|sim)\// && statement !~ /^[ \t\n]*#[ \t]*include/)
        judge_test()
    statement = ""
}

function judge_test() {
    refuse_names("sleep usleep nanosleep clock_nanosleep thrd_sleep g_usleep", "a unit or sim test does not sleep; advance the fake clock")
    refuse_names("pthread_cond_timedwait pthread_cond_clockwait pthread_mutex_timedlock pthread_mutex_clocklock " \
        "pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_timedjoin_np pthread_clockjoin_np sem_timedwait " \
        "sem_clockwait mq_timedreceive mq_timedsend cnd_timedwait mtx_timedlock sigtimedwait semtimedop recvmmsg io_getevents " \
        "ualarm setitimer timer_create timer_settime timerfd_create timerfd_settime SO_RCVTIMEO SO_SNDTIMEO",
        "a unit or sim test does not wait for a real clock; advance the fake one")
    refuse_calls("alarm|pause", "a unit or sim test does not wait for a real clock; advance the fake one")
    refuse_calls("select", "a unit or sim test does not wait in select; use poll with a timeout of 0")
    refuse_names("pselect ppoll epoll_pwait epoll_pwait2", "a unit or sim test does not wait in select; use poll with a timeout of 0")
    refuse_waits("poll", "a unit or sim test does not wait in poll; give it a timeout of 0")
    refuse_waits("epoll_wait", "a unit or sim test does not wait in poll; give it a timeout of 0")
    refuse_waits("lull_loop_run_once", "a unit or sim test does not wait in a loop; give it a timeout of 0")
    refuse("(^|[^A-Za-z0-9_])lull_loop_run([^A-Za-z0-9_]|$)", "a unit or sim test does not wait in a loop; use a fake one, or run_once with 0",
        "lull_loop_run")
}

BEGIN {
    n = split(ENVIRON["MAY"], line, "\n")
    for (i = 1; i <= n; i++) {
        split(line[i], w, " ")
        allowed[w[1], w[2]] = 1
    }
}

{
    tab = index($0, "\t")
    text = substr($0, tab + 1)
    split(substr($0, 1, tab - 1), part, ":")
    if (part[1] != path) {
        judge()
        path = part[1]
        files++
    }
    if (text ~ /^[ \t]*(#|%:)/)
        judge()
    if (statement ~ /^[ \t\n]*$/) {
        statement = ""
        first = part[2]
    }
    statement = statement == "" ? text : statement "\n" text
    if (text ~ /[;{}][ \t\r]*$/ || text ~ /^[ \t]*(#|%:)/)
        judge()
}

END {
    judge()
    if (faults > 0) {
        print "check-clock: " faults " file(s) with a clock of their own"
        exit 1
    }
    print "check-clock: " files " files, one clock"
}
