# SPDX-License-Identifier: MIT
"""A deadline is pushed out far more often than it is reached: what a push costs with 1 to 100 000 other timers."""
from lib.model import Family, Plot, Run

SUBJECTS = [("lull", "timers_lull", "lull"), ("lull-so", "timers_lull_so", "lull"), ("lull-timerq", "timers_lullq", "rival"),
            ("libev", "timers_libev", "rival"), ("libevent", "timers_libevent", "rival"), ("libuv", "timers_libuv", "rival"),
            ("timerfd", "timers_timerfd", "rival"), ("grpc-alarm", "timers_grpc", "rival"), ("go", "timers_go", "rival")]

FAMILY = Family(
    name="push",
    title="A deadline pushed out, now at hand, N other timers",
    runs=[Run(variant=variant, argv=["micro/" + program, "push", "{seconds}"], role=role, quick=variant in ("lull", "libev"),
              rounds=2 if role == "rival" and variant != "libev" else 0)
          for variant, program, role in SUBJECTS],
    metrics=["ns", "mid_ns", "empty_ns", "queue_ops"],
    plots=[Plot(kind="scale", metric="ns", rows=["hot"], log=True, title="one timer pushed again and again, ns"),
           Plot(kind="scale", metric="ns", rows=["random"], log=True, title="any of N timers pushed, ns")],
    order=60,
)
