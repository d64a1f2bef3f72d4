# SPDX-License-Identifier: MIT
"""An object claimed and released: on one thread, 64 in flight, and claimed here and released there."""
from lib.model import Family, Plot, Run

MALLOCS = [("glibc", ""), ("jemalloc", "libjemalloc.so.2"), ("mimalloc", "libmimalloc.so.2.0"),
           ("tcmalloc", "libtcmalloc_minimal.so.4")]

FAMILY = Family(
    name="recycler",
    title="An object claimed and released, by its size in bytes",
    # Each prints rows for one CPU, and one for two: it settles its threads itself.
    runs=[Run(variant="lull-" + kind, argv=["micro/" + program, "{seconds}"], role="lull", places=("free",), quick=kind == "inline")
          for kind, program in (("inline", "objects_lull"), ("so", "objects_lull_so"), ("off", "objects_lull_off"))] +
         [Run(variant=variant, argv=["micro/objects_malloc", "{seconds}"], env={"LD_PRELOAD": library} if library else {},
              places=("free",)) for variant, library in MALLOCS],
    metrics=["ns", "mid_ns", "empty_ns", "local_share", "port_share", "allocated_share"],
    plots=[Plot(kind="scale", metric="ns", rows=["flight"], log=True, title="64 in flight, ns a pair", place="free"),
           Plot(kind="scale", metric="ns", rows=["cross"], log=True, title="claimed here, released there, ns an object", place="free")],
    order=62,
)
