# SPDX-License-Identifier: MIT
"""The idle timer of a channel pushed lazily, against one that is cancelled and armed on every call, end to end.

The gain is small beside lull's own queue and libuv's, and has to be: on the thread that makes the call, with the time at hand and few
timers in the heap, a cancel and an arm cost 10 to 40 ns of a call of 20 µs. Where arming is a system call it is 1.5 µs a call. grpc-java,
which gained 6 to 10 %, scheduled its timer on another thread and left cancelled ones in that thread's queue.
"""
from lib.model import Family, Plot, Run

FAMILY = Family(
    name="idle",
    title="An idle timer pushed lazily, and one cancelled and armed on every call; they take turns within one run",
    runs=[Run(variant="lull", row="ping", role="lull", server="ng", argv=["micro/idle", "{port}", "{seconds}"])],
    floor="eager",
    metrics=["p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "max_us", "rate", "cpu_us"],
    plots=[Plot(kind="percentiles", title="a call with the idle timer pushed, or cancelled and armed"),
           Plot(kind="bars", metric="cpu_us", title="CPU of the client a call, µs")],
    order=65,
)
