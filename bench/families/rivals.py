# SPDX-License-Identifier: MIT
"""Other people's clients in the families of calls.py, and Netty's timers in those of timers.

Three rounds of each: their distance is large. They have a deadline on every call as lull has, and neither idle mode nor keepalive.
"""
from lib.model import Family, Run

BOTH = ("same", "two")
CXX, GO, JAVA, JS, PY, H2LOAD = ("rivals/" + name for name in ("grpcxx", "grpcgo", "grpcjava", "grpcjs", "grpcpy", "h2load"))


def rival(row, variant, program, mode, *more, tls=False, time="{seconds}", **options):
    """One that is not in --quick unless it says so."""
    options = {"places": ("same",), "quick": False, "rounds": 3, **options}
    port, tail = ("{tls_port}", ["tls={ca}"]) if tls else ("{port}", [])
    return Run(row=row, variant=variant, server="ng", argv=[program, mode, port, time] + list(more) + tail, **options)


def each(row, clients, *more, **options):
    return [rival(row, variant, program, mode, *more, **options) for variant, program, mode in clients]


ASYNC = [("grpc-c++-cq", CXX, "unary-cq"), ("grpc-c++-callback", CXX, "unary-callback"), ("grpc-go", GO, "unary"), ("grpc-java", JAVA, "unary"),
         ("grpc-js", JS, "unary"), ("grpc-python-aio", PY, "unary")]
BLOCKING = [("grpc-c++-sync", CXX, "unary-sync"), ("grpc-go", GO, "unary"), ("grpc-java", JAVA, "unary-block"), ("grpc-python", PY, "unary-block")]
BIDI = [("grpc-c++-sync", CXX, "bidi-sync"), ("grpc-c++-cq", CXX, "bidi-cq"), ("grpc-c++-callback", CXX, "bidi-callback"), ("grpc-go", GO, "bidi"),
        ("grpc-java", JAVA, "bidi"), ("grpc-js", JS, "bidi"), ("grpc-python", PY, "bidi"), ("grpc-python-aio", PY, "bidi-async")]
SIX = [("grpc-c++-sync", CXX), ("grpc-go", GO), ("grpc-java", JAVA), ("grpc-js", JS), ("grpc-python", PY)]
LOAD = [("h2load", H2LOAD, "unary")]
MANY = ASYNC + [("grpc-c++-sync", CXX, "threads")]


def same_mode(mode, without=()):
    return [(variant, program, mode) for variant, program in SIX if variant not in without]


def no_deadline():
    """The row many again, without deadlines."""
    pair = [Run(row="many-no-deadline", variant=variant, role=role, server="ng", rounds=3, quick=False,
                argv=[program, "unary", "{port}", "{seconds}", "n=100", "deadline=0"])
            for variant, role, program in (("nghttp2", "floor", "ngclient"), ("lull", "lull", "callbench"))]
    return pair + each("many-no-deadline", MANY, "n=100", "deadline=0")


TIMERS = [Run(variant="netty", argv=["rivals/nettytimers", family, "{seconds}"], quick=False, rounds=3) for family in ("push", "attempt")]

FAMILIES = [
    Family(name="unary", runs=each("ping-async", ASYNC + LOAD, places=BOTH) + each("ping-block", BLOCKING, places=BOTH)),
    Family(name="many", runs=each("many", MANY + LOAD, "n=100", places=BOTH) + no_deadline()),
    Family(name="bidi", runs=each("bidi", BIDI)),
    Family(name="stream", runs=each("recv-frames", same_mode("recv-frames")) + each("recv-packed", same_mode("recv-packed")) +
           each("send-frames", same_mode("send")) + [rival("send-packed", "grpc-c++-sync", CXX, "send-hinted")] +
           each("send-packed", same_mode("send", without=("grpc-c++-sync",)))),
    # grpc-java needs a native library of its own for TLS.
    Family(name="connect", runs=each("connect", same_mode("connect")) + each("connect-tls", same_mode("connect", without=("grpc-java",)), tls=True)),
    Family(name="tls", runs=[rival("tls-ping-block", "grpc-c++-sync", CXX, "unary-sync", tls=True), rival("tls-ping-async", "grpc-go", GO, "unary", tls=True),
                             rival("tls-ping-async", "grpc-js", JS, "unary", tls=True), rival("tls-ping-block", "grpc-python", PY, "unary-block", tls=True),
                             rival("tls-many", "grpc-c++-cq", CXX, "unary-cq", "n=100", tls=True), rival("tls-many", "grpc-go", GO, "unary", "n=100", tls=True)]),
    # The one that a target compares with is in --quick.
    Family(name="threads", runs=[rival("threads8", "grpc-c++-sync", CXX, "threads", "n=8", places=BOTH, quick=True, rounds=0),
                                 rival("threads1", "grpc-c++-sync", CXX, "threads", "n=1", places=BOTH)] +
           each("threads8", [("grpc-go", GO, "unary"), ("grpc-java", JAVA, "unary-block")], "n=8", places=BOTH)),
    Family(name="memory", runs=each("ready", same_mode("memory"), "n=1000")),
    Family(name="wakeups", runs=each("keepalive@1000", same_mode("keepalive"), "n=1000", places=("free",), time="{keepalive}", rounds=1) +
           each("quiet@1000", same_mode("quiet"), "n=1000", places=("free",), time="{quiet}", rounds=1)),
    Family(name="push", runs=TIMERS[:1]),
    Family(name="attempt", runs=TIMERS[1:]),
]
