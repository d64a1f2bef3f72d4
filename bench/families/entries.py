# SPDX-License-Identifier: MIT
"""The deadline and the read timeout of an attempt on one entry, against an entry each, on the same lanes."""
from lib.model import Family, Plot, Run

FAMILY = Family(
    name="entries",
    title="An attempt's timeouts on one entry against two, by threads with an executor each",
    # It pins nothing: 32 threads take turns, and each counts its own CPU time. Both variants take turns inside.
    runs=[Run(variant="lull", role="lull", argv=["micro/entries"], places=("free",))],
    floor="lull",
    metrics=["ns", "least_ns", "most_ns", "empty_ns", "bytes", "allocations", "shared_lines", "queue_ops"],
    plots=[Plot(kind="bars", metric="ns", rows=["armed@1", "equal@1", "fires-once@1", "fires-5@1"], title="ns an attempt", place="free")],
    order=63,
)
