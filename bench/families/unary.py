# SPDX-License-Identifier: MIT
from lib.model import Family, Plot, Run

BOTH = ("same", "two")
FAMILY = Family(
    name="unary",
    order=10,
    title="one unary call at a time, 64 bytes each way; lull with a deadline, an idle timeout and keepalive",
    floor="nghttp2",
    metrics=["p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "max_us", "rate", "cpu_us", "ctx", "sys"],
    runs=[
        Run(row="ping-async", variant="raw", argv=["raw", "epoll", "{raw_port}", "{seconds}"], server="ng", role="floor", places=BOTH),
        Run(row="ping-async", variant="nghttp2", argv=["ngclient", "unary", "{port}", "{seconds}"], server="ng", role="floor", places=BOTH),
        Run(row="ping-block", variant="raw", argv=["raw", "block", "{raw_port}", "{seconds}"], server="ng", role="floor", places=BOTH),
        Run(row="ping-block", variant="nghttp2", argv=["ngclient", "unary-block", "{port}", "{seconds}"], server="ng", role="floor", places=BOTH),
    ],
    plots=[
        Plot(kind="bars", metric="p50_us", title="One unary call at a time: median"),
        Plot(kind="bars", metric="cpu_us", title="One unary call at a time: the client's CPU time a call"),
        Plot(kind="bars", metric="rate", title="One unary call at a time: calls a second"),
        Plot(kind="percentiles", rows=["ping-async"], title="One unary call at a time, asynchronous"),
        Plot(kind="percentiles", rows=["ping-block"], title="One unary call at a time, blocking"),
    ],
)
