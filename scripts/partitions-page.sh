#!/bin/sh
# SPDX-License-Identifier: MIT
#
# partitions-page.sh BUILD: writes doc/PARTITIONS.md from what the last `make check-net` in BUILD measured.
set -eu
build=${1:?partitions-page: which build?}
log=$build/tests/net/partitions_test.log
cd "$(dirname "$0")/.."

# An incomplete or a red run makes no page.
grep -q '^Checks: [1-9][0-9]*, Failures: 0, Errors: 0$' "$log" || {
    echo "partitions-page: $log is not of a run in which all passed" >&2
    exit 1
}
{
    cat <<'PAGE'
# When the network is cut

What lull promises when a network stops carrying packets, and what it measured on real cables between network namespaces. The tables are
written by `scripts/partitions-page.sh` from a run of `make check-net` (as root); each row is a case of `tests/net/`, which fails
when the measured time is before the promised one, or more than a second after it.

## The promises

They do not depend on the machine. "Found" means: the calls on the connection end, each with one line that says why, and the next
call dials.

| what | found after | option |
|---|---|---|
| a peer that does not answer, with calls or `keepalive_without_calls` | keepalive time + timeout since the last byte read | `keepalive_time_ns`, off by default; `keepalive_timeout_ns`, 20 s |
| the same, when a call starts after a quiet of more than the keepalive time | keepalive timeout: the PING goes before the call | the same |
| what we write is not acknowledged, or the peer's machine takes none of it | write timeout: the keepalive timeout, or 20 s while keepalive is off; plus the system's first resend (200 ms, three round trips on a way not known yet) | `keepalive_timeout_ns` |
| a connection on which nobody writes, keepalive off | TCP keepalive: 45 s + 3 × 15 s = 90 s since the last byte; the system's timers may be 3 s late | `tcp_keepalive`, on by default |
| a connection attempt: TCP, TLS and the first SETTINGS together | connect timeout, 20 s | `min_connect_timeout_ns` |
| one of several addresses that does not answer | 250 ms: the next one is tried beside it | |
| a question to a name server | 10 s, or the connect timeout if that is shorter | |
| a call with a deadline, wherever it is stuck | its deadline | `timeout_ns`, `deadline_at` |
| a call whose server says nothing | its read timeout | `read_timeout_ns`, off by default |
| an application that closes the channel | nothing is waited for | |

A network that says it is unreachable is believed at once where there is no connection yet. On one that stands it may be back in a moment
(RFC 1122, section 4.2.3.9), so the limits above decide; the line then has the network's own reason.

And what does *not* end a connection:

* a cut under a quiet connection that is over before the PING, or that far into its timeout as the third point says;
* one lost probe of TCP keepalive, or two: the write timeout is taken back while a connection is quiet, for else the system would end
  it at the first;
* a cut of up to half the write timeout under one that is written to, or of up to seven eighths of it on Linux 6.15 and later. The system
  doubles its wait from resend to resend and may try nothing in the second half; lull limits that wait to an eighth where it can
  (TCP_RTO_MAX_MS);
* a way that is long, uneven or loses packets.

Behind a box that forgets quiet connections without a word (a NAT, a balancer) three things keep calls from being lost: PINGs
more often than it forgets, where the server bears them; TCP keepalive more often than that, which no server counts (the default's 45 s
is below the usual minutes); or an idle timeout shorter than its memory.

PAGE
    sed -n 's/^row \{0,1\}//p' "$log"
} >doc/PARTITIONS.md
