# SPDX-License-Identifier: MIT
"""Calls and streams against the floor: lull with a deadline on every call, an idle timeout and keepalive on every channel."""
from lib.model import Family, Plot, Run

BOTH = ("same", "two")
LATENCY = ["p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "max_us", "rate", "cpu_us", "ctx", "sys"]
MIB = "size=1048576"


def pair(row, floor, lull, *more, tls=False, places=BOTH, **options):
    """The floor's run and lull's of the same row."""
    port, tail = ("{tls_port}", ["tls={ca}"]) if tls else ("{port}", [])
    return [
        Run(row=row, variant="nghttp2", role="floor", server="ng", places=places,
            argv=["ngclient", floor, port, "{seconds}"] + list(more) + tail, **options),
        Run(row=row, variant="lull", role="lull", server="ng", places=places,
            argv=["callbench", lull, port, "{seconds}"] + list(more) + tail, **options),
    ]


def raw(row, how):
    return Run(row=row, variant="raw", role="floor", server="ng", places=BOTH, argv=["raw", how, "{raw_port}", "{seconds}"], quick=False)


def lull(row, mode, *more, port="{port}", tail=(), **options):
    return Run(row=row, variant="lull", role="lull", server="ng", argv=["callbench", mode, port, "{seconds}"] + list(more) + list(tail), **options)


UNARY = Family(
    name="unary", order=10, title="one unary call at a time, 64 bytes each way", floor="nghttp2", metrics=LATENCY,
    runs=[raw("ping-async", "epoll"), *pair("ping-async", "unary", "unary"),
          raw("ping-block", "block"), *pair("ping-block", "unary-block", "unary-block")],
    plots=[
        Plot(kind="bars", metric="p50_us", title="One unary call at a time: median"),
        Plot(kind="bars", metric="cpu_us", title="One unary call at a time: the client's CPU time a call"),
        Plot(kind="bars", metric="rate", title="One unary call at a time: calls a second"),
        Plot(kind="percentiles", rows=["ping-async"], title="One unary call at a time, asynchronous"),
        Plot(kind="percentiles", rows=["ping-block"], title="One unary call at a time, blocking"),
    ])

MANY = Family(
    name="many", order=11, title="100 unary calls at a time on one connection", floor="nghttp2", metrics=LATENCY,
    runs=[*pair("many", "unary", "unary", "n=100")],
    plots=[Plot(kind="bars", metric="cpu_us", title="100 calls at a time: the client's CPU time a call"),
           Plot(kind="bars", metric="rate", title="100 calls at a time, a CPU each: calls a second", place="two"),
           Plot(kind="percentiles", rows=["many"], title="100 calls at a time")])



def traced(row, variant, role, program, mode, *more, **options):
    return Run(row=row, variant=variant, role=role, server="ng", rounds=3, quick_rounds=1,
               argv=["syscalls", "{build}", program, mode, "{port}", *more], **options)


SYSCALLS = Family(
    name="syscalls", order=12, title="system calls a call, all that the process makes, by strace", floor="nghttp2", metrics=["sys", "sys_io", "sys_wait", "sys_other"],
    runs=[run for row, mode, n in (("ping-async", "unary", 1), ("ping-block", "unary-block", 1), ("many", "unary", 100))
          for run in (traced(row, "nghttp2", "floor", "ngclient", mode, f"n={n}"), traced(row, "lull", "lull", "callbench", mode, f"n={n}"))],
    plots=[Plot(kind="bars", metric="sys", title="System calls a call", log=True)])

BIDI = Family(
    name="bidi", order=12, title="one 64 byte message there and back on a stream", floor="nghttp2", metrics=LATENCY,
    runs=[*pair("bidi", "bidi", "bidi")],
    plots=[Plot(kind="bars", metric="p50_us", title="A message there and back: median"),
           Plot(kind="percentiles", rows=["bidi"], title="A message there and back"),
           Plot(kind="bars", metric="cpu_us", title="A message there and back: the client's CPU time"),
           Plot(kind="bars", metric="rate", title="A message there and back: messages a second")])

STREAM = Family(
    name="stream", order=13, title="64 byte messages one way; lull packs what it sends in both rows, its messages of a turn share frames",
    floor="nghttp2", metrics=["rate", "cpu_us", "sys"],
    runs=[*pair("recv-frames", "recv-frames", "recv-frames"), *pair("recv-packed", "recv-packed", "recv-packed"),
          *pair("send-frames", "send-frames", "send"), *pair("send-packed", "send-packed", "send")],
    plots=[Plot(kind="bars", metric="rate", title="Messages a second, one way"),
           Plot(kind="bars", metric="cpu_us", title="The client's CPU time a message, one way")])

BIG = Family(
    name="big", order=14, title="unary calls with 1 MiB one way; the floor, too, hands a message over in one piece", floor="nghttp2",
    metrics=["mb_per_s", "p50_us", "p99_us", "cpu_us", "sys"],
    runs=[*pair("big-recv", "big-recv", "big-recv", MIB), *pair("big-send", "big-send", "big-send", MIB)],
    plots=[Plot(kind="bars", metric="mb_per_s", title="1 MiB a call: MB/s"), Plot(kind="bars", metric="cpu_us", title="1 MiB a call: the client's CPU time")])

TLS = Family(
    name="tls", order=15, title="the same rows over TLS 1.3", floor="nghttp2", metrics=LATENCY + ["mb_per_s"],
    runs=[*pair("tls-ping-async", "unary", "unary", tls=True), *pair("tls-ping-block", "unary-block", "unary-block", tls=True),
          *pair("tls-many", "unary", "unary", "n=100", tls=True), *pair("tls-bidi", "bidi", "bidi", tls=True),
          *pair("tls-recv-frames", "recv-frames", "recv-frames", tls=True), *pair("tls-send-packed", "send-packed", "send", tls=True),
          *pair("tls-big-recv", "big-recv", "big-recv", MIB, tls=True), *pair("tls-big-send", "big-send", "big-send", MIB, tls=True)],
    plots=[Plot(kind="bars", metric="p50_us", title="Over TLS: median", rows=["tls-ping-async", "tls-ping-block", "tls-bidi"]),
           Plot(kind="bars", metric="cpu_us", title="Over TLS: the client's CPU time an operation", log=True),
           Plot(kind="bars", metric="rate", title="Over TLS: calls and messages a second", log=True),
           Plot(kind="percentiles", rows=["tls-ping-async"], title="One unary call at a time over TLS, asynchronous")])

CONNECT = Family(
    name="connect", order=16, title="from nothing to the first answer; the floor waits for the server's SETTINGS too", floor="nghttp2", metrics=LATENCY,
    runs=[*pair("connect", "connect-block", "connect"), *pair("connect-tls", "connect-block", "connect", tls=True),
          Run(row="wake-tls", variant="nghttp2", role="floor", server="ng", places=BOTH,
              argv=["ngclient", "connect-block-resume", "{tls_port}", "{seconds}", "tls={ca}"]),
          lull("wake", "wake", places=BOTH), lull("wake-tls", "wake", port="{tls_port}", tail=["tls={ca}"], places=BOTH)],
    plots=[Plot(kind="bars", metric="p50_us", title="Connect to first answer: median"),
           Plot(kind="bars", metric="cpu_us", title="Connect to first answer: the client's CPU time"),
           Plot(kind="percentiles", rows=["connect"], title="Connect to first answer"),
           Plot(kind="percentiles", rows=["connect-tls"], title="Connect to first answer, TLS")])

THREADS = Family(
    name="threads", order=17, title="blocking calls of 8 threads on one channel", metrics=["rate", "cpu_us", "ctx"],
    runs=[lull("threads8", "threads", "n=8", places=BOTH), lull("threads1", "threads", "n=1", places=BOTH)],
    plots=[Plot(kind="bars", metric="rate", title="Blocking threads on one channel: calls a second"),
           Plot(kind="bars", metric="cpu_us", title="Blocking threads on one channel: the client's CPU time a call")])

DEADLINE = Family(
    name="deadline", order=18, title="what a deadline costs a call beyond its field in the request, which costs the floor the same: instructions, by callgrind", metrics=["instructions", "whole", "field", "with", "without"],
    runs=[Run(row="deadline", variant="lull", role="lull", server="ng", argv=["instructions", "{build}", "{port}"], rounds=1, places=("free",))])

MEMORY = Family(
    name="memory", order=19, title="1000 channels that have made a call each: KiB each", metrics=["heap_kib", "rss_kib", "threads"],
    runs=[Run(row="ready", variant="nghttp2", role="floor", server="ng", argv=["ngclient", "memory", "{port}", "{seconds}", "n=1000"], rounds=3, quick_rounds=1),
          lull("ready", "memory", "n=1000", rounds=3, quick_rounds=1)],
    plots=[Plot(kind="bars", metric="rss_kib", title="Memory a channel: resident, KiB"), Plot(kind="bars", metric="heap_kib", title="Memory a channel: asked of the allocator, KiB")])

WAKEUPS = Family(
    name="wakeups", order=20, title="1000 READY channels without calls", metrics=["wakeups_per_s", "alive", "pings"],
    runs=[Run(row="keepalive@1000", variant="lull", role="lull", server="ng", places=("free",), rounds=1, argv=["callbench", "keepalive", "{port}", "{keepalive}", "n=1000"]),
          Run(row="alive@1000", variant="lull", role="lull", server="ng", places=("free",), rounds=1, quick=False, rests="run",
              argv=["callbench", "keepalive", "{port}", "{alive}", "n=1000"]),
          Run(row="quiet@1000", variant="lull", role="lull", server="ng", places=("free",), rounds=1, argv=["callbench", "quiet", "{port}", "{quiet}", "n=1000"])],
    plots=[Plot(kind="bars", metric="wakeups_per_s", title="1000 resting channels: wake-ups a second", log=True, place="free"),
           Plot(kind="bars", metric="alive", title="1000 resting channels: connections alive after the rest", place="free")])

GROWTH = Family(
    name="growth", order=21, title="cost a call with N calls under way at once, and with N channels used in turn", floor="nghttp2",
    metrics=["cpu_us", "rate", "p50_us", "p99_us"],
    runs=[run for n in (1, 10, 100, 1000, 10000, 100000)
          for run in pair(f"calls@{n}", "unary", "unary", f"n={n}", places=("same",), rounds=3, quick_rounds=1, quick=n in (100, 100000))] +
         [run for n in (1, 10, 100, 1000, 10000)
          for run in pair(f"channels@{n}", "channels", "channels", f"n={n}", places=("same",), rounds=3, quick_rounds=1, quick=n in (1, 10000))],
    plots=[Plot(kind="scale", metric="cpu_us", rows=["calls"], title="CPU a call against calls under way", log=True),
           Plot(kind="scale", metric="cpu_us", rows=["channels"], title="CPU a call against channels, one call at a time", log=True)])

FAMILIES = [UNARY, MANY, SYSCALLS, BIDI, STREAM, BIG, TLS, CONNECT, THREADS, DEADLINE, MEMORY, WAKEUPS, GROWTH]
