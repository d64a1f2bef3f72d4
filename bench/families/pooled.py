# SPDX-License-Identifier: MIT
"""Whole calls with recyclers and without: what they save where a call does everything else as well."""
from lib.model import Family, Plot, Run


def runs(row, mode, *more):
    return [Run(row=row, variant="lull", role="lull", server="ng", argv=["micro/calls_pool", mode, "{port}", "{seconds}", *more]),
            Run(row=row, variant="lull-no-pool", role="floor", server="ng", argv=["micro/calls_no_pool", mode, "{port}", "{seconds}", *more])]


FAMILY = Family(
    name="pooled",
    title="Whole calls with recyclers and without",
    runs=runs("ping", "unary") + runs("many", "unary", "n=100"),
    floor="lull-no-pool",
    metrics=["p50_us", "p99_us", "rate", "cpu_us"],
    plots=[Plot(kind="bars", metric="cpu_us", title="CPU of the client a call, µs")],
    order=64,
)
