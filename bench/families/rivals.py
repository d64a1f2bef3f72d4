# SPDX-License-Identifier: MIT
"""Other people's clients in the families of calls.py, and Netty's timers in those of timers.

Two rounds of each, one of those that warm up for seconds: their distance is large. They have a deadline on every call as lull has, and neither idle mode nor keepalive.
"""
from lib.model import Family, Run

BOTH = ("same", "two")
MIB = "size=1048576"
CXX, GO, JAVA, JS, PY, H2LOAD = ("rivals/" + name for name in ("grpcxx", "grpcgo", "grpcjava", "grpcjs", "grpcpy", "h2load"))


def rival(row, variant, program, mode, *more, tls=False, time="{seconds}", **options):
    """One that is not in --quick unless it says so."""
    options = {"places": ("same",), "quick": False, "rounds": 1 if program in (JAVA, JS) else 2, **options}
    if program in (JAVA, JS):
        options["places"] = options["places"][:1]
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
THREE = [("grpc-c++-sync", CXX), ("grpc-go", GO), ("grpc-java", JAVA)]
LOAD = [("h2load", H2LOAD, "unary")]
MANY = ASYNC + [("grpc-c++-sync", CXX, "threads")]


def same_mode(mode, without=()):
    return [(variant, program, mode) for variant, program in SIX if variant not in without]


def no_deadline():
    """The row many again, without deadlines."""
    pair = [Run(row="many-no-deadline", variant=variant, role=role, server="ng", rounds=2, quick=False,
                argv=[program, "unary", "{port}", "{seconds}", "n=100", "deadline=0"])
            for variant, role, program in (("nghttp2", "floor", "ngclient"), ("lull", "lull", "callbench"))]
    return pair + each("many-no-deadline", MANY, "n=100", "deadline=0")


def encrypted():
    """The rows of the family tls, by those that a program would choose among."""
    rows = each("tls-ping-async", [("grpc-go", GO, "unary"), ("grpc-java", JAVA, "unary"), ("grpc-js", JS, "unary")], tls=True)
    rows += each("tls-ping-block", [("grpc-c++-sync", CXX, "unary-sync"), ("grpc-java", JAVA, "unary-block"), ("grpc-python", PY, "unary-block")], tls=True)
    rows += each("tls-many", [("grpc-c++-cq", CXX, "unary-cq"), ("grpc-go", GO, "unary"), ("grpc-java", JAVA, "unary")], "n=100", tls=True)
    rows += each("tls-bidi", [("grpc-c++-sync", CXX, "bidi-sync"), ("grpc-go", GO, "bidi"), ("grpc-java", JAVA, "bidi")], tls=True)
    for row, modes in (("tls-recv-frames", ("recv-frames", "recv-frames")), ("tls-send-packed", ("send-hinted", "send")),
                       ("tls-big-recv", ("big-recv", "big-recv")), ("tls-big-send", ("big-send", "big-send"))):
        more = [MIB] if "big" in row else []
        rows += [rival(row, variant, program, modes[program != CXX], *more, tls=True) for variant, program in THREE]
    return rows


def counted():
    """System calls by strace; what a machine that compiles as it goes does beside the calls is no property of them, so without Java and JavaScript."""
    return [Run(row=row, variant=variant, server="ng", rounds=1, quick=False, argv=["syscalls", "{build}", program, mode, "{port}", f"n={n}"])
            for row, variant, program, mode, n in (
                ("ping-async", "grpc-c++-cq", CXX, "unary-cq", 1), ("ping-async", "grpc-go", GO, "unary", 1), ("ping-block", "grpc-c++-sync", CXX, "unary-sync", 1),
                ("many", "grpc-c++-cq", CXX, "unary-cq", 100), ("many", "grpc-go", GO, "unary", 100))]


TIMERS = [Run(variant="netty", argv=["rivals/nettytimers", family, "{seconds}"], quick=False, rounds=2) for family in ("push", "attempt")]

FAMILIES = [
    Family(name="unary", runs=each("ping-async", ASYNC + LOAD, places=BOTH) + each("ping-block", BLOCKING, places=BOTH)),
    Family(name="many", runs=each("many", MANY + LOAD, "n=100", places=BOTH) + no_deadline()),
    Family(name="syscalls", runs=counted()),
    Family(name="bidi", runs=each("bidi", BIDI)),
    Family(name="stream", runs=each("recv-frames", same_mode("recv-frames")) + each("recv-packed", same_mode("recv-packed")) +
           each("send-frames", same_mode("send")) + [rival("send-packed", "grpc-c++-sync", CXX, "send-hinted")] +
           each("send-packed", same_mode("send", without=("grpc-c++-sync",)))),
    Family(name="connect", runs=each("connect", same_mode("connect")) + each("connect-tls", same_mode("connect"), tls=True)),
    Family(name="big", runs=[rival(row, variant, program, row, MIB) for row in ("big-recv", "big-send") for variant, program in THREE]),
    Family(name="tls", runs=encrypted()),
    # The one that a target compares with is in --quick.
    Family(name="threads", runs=[rival("threads8", "grpc-c++-sync", CXX, "threads", "n=8", places=BOTH, quick=True, rounds=0),
                                 rival("threads1", "grpc-c++-sync", CXX, "threads", "n=1", places=BOTH)] +
           each("threads8", [("grpc-go", GO, "unary"), ("grpc-java", JAVA, "unary-block")], "n=8", places=BOTH)),
    Family(name="memory", runs=each("ready", same_mode("memory"), "n=1000")),
    Family(name="wakeups", runs=each("keepalive@1000", same_mode("keepalive"), "n=1000", places=("free",), time="{keepalive}", rounds=1, rests="family") +
           each("quiet@1000", same_mode("quiet"), "n=1000", places=("free",), time="{quiet}", rounds=1, rests="family")),
    Family(name="push", runs=TIMERS[:1]),
    Family(name="attempt", runs=TIMERS[1:]),
]
