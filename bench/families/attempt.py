# SPDX-License-Identifier: MIT
"""The read timeout and the deadline of one attempt, armed and cancelled, with 1 to 100 000 others."""
from lib.model import Family, Plot, Run

SUBJECTS = [("lull", "timers_lull", "lull"), ("lull-timerq", "timers_lullq", "rival"), ("libev", "timers_libev", "rival"),
            ("libevent", "timers_libevent", "rival"), ("libuv", "timers_libuv", "rival"), ("timerfd", "timers_timerfd", "rival"),
            ("grpc-alarm", "timers_grpc", "rival"), ("go", "timers_go", "rival")]

FAMILY = Family(
    name="attempt",
    title="One attempt's two timeouts, armed and cancelled, N other timers",
    runs=[Run(variant=variant, argv=["micro/" + program, "attempt", "{seconds}"], role=role, quick=variant in ("lull", "libev"),
              rounds=2 if role == "rival" and variant != "libev" else 0)
          for variant, program, role in SUBJECTS],
    metrics=["ns", "mid_ns", "empty_ns", "queue_ops"],
    plots=[Plot(kind="scale", metric="ns", rows=["one"], log=True, title="one timeout value in use, ns"),
           Plot(kind="scale", metric="ns", rows=["64-values"], log=True, title="64 timeout values in use, ns")],
    order=61,
)
