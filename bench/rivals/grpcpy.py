# SPDX-License-Identifier: MIT
"""The client on grpcio: `grpcpy MODE PORT SECONDS [n=] [size=] [tls=] [deadline=]`, as the C programs.

Messages are raw bytes. A channel has its own connection, a call its deadline, and the rest is the library's default.
"""
import asyncio
import os
import resource
import struct
import sys
import threading
import time

try:
    import grpc
    from grpc import aio
except ImportError:
    sys.stderr.write("grpcio is not installed (bench/setup)\n")
    sys.exit(77)

AT_A_TIME = 1000000     # messages of one response
CLOCK_EACH = 64         # messages between two looks at the clock
ONCE = os.environ.get("BENCH_ONCE") == "1"


class Args:
    mode, port, seconds, n, size, tls, deadline = "", 0, 1.0, 1, 64, "", 1


def arguments():
    Args.mode, Args.port, Args.seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    for one in sys.argv[4:]:
        name, value = one.split("=", 1)
        setattr(Args, name, value if name == "tls" else int(value))
    if ONCE:
        Args.n = min(Args.n, 8)


def line(metric, value):
    names = [os.environ.get("BENCH_" + one, "none") for one in ("ROW", "FAMILY", "VARIANT")]
    print("\t".join(names + [metric, f"{value:.9g}"]), flush=True)


class Meter:
    def __init__(self):
        self.samples = []
        self.ops = 0
        self.is_warm = False
        self.warm_until = time.monotonic() + Args.seconds / 5
        self.until = self.warm_until + Args.seconds

    def count(self, ops, now):
        if not self.is_warm:
            if now < self.warm_until and not ONCE:
                return True
            self.is_warm = True
            self.began, self.began_at = resource.getrusage(resource.RUSAGE_SELF), now
            if not ONCE:
                return True     # this one began before
        self.ops += ops
        if now < self.until if not ONCE else self.ops < 2:
            return True
        self.ended, self.ended_at = resource.getrusage(resource.RUSAGE_SELF), now
        return False

    def sample(self, begun, now):
        if self.is_warm:
            self.samples.append(now - begun)
        return self.count(1, now)

    def show(self):
        self.samples.sort()
        if self.samples:
            for metric, share in (("p50_us", .5), ("p90_us", .9), ("p95_us", .95), ("p99_us", .99), ("p999_us", .999), ("max_us", 1)):
                line(metric, self.samples[int((len(self.samples) - 1) * share + .5)] * 1e6)
        line("rate", self.ops / max(self.ended_at - self.began_at, 1e-6))
        cpu = self.ended.ru_utime + self.ended.ru_stime - self.began.ru_utime - self.began.ru_stime
        line("cpu_us", cpu * 1e6 / self.ops)
        switches = self.ended.ru_nvcsw + self.ended.ru_nivcsw - self.began.ru_nvcsw - self.began.ru_nivcsw
        line("ctx", switches / self.ops)


def channel(keepalive=False, module=grpc):
    options = [("grpc.use_local_subchannel_pool", 1)]
    if keepalive:
        options += [("grpc.keepalive_time_ms", 10000), ("grpc.keepalive_permit_without_calls", 1), ("grpc.http2.max_pings_without_data", 0)]
    target = f"127.0.0.1:{Args.port}"
    if not Args.tls:
        return module.insecure_channel(target, options)
    with open(Args.tls, "rb") as file:
        return module.secure_channel(target, grpc.ssl_channel_credentials(file.read()), options)


def timeout():
    return 10 if Args.deadline else None


def must_be(answer):
    if len(answer) != Args.size:
        raise SystemExit("call: an answer of another length")


def unary_block():
    call = channel().unary_unary("/bench/Unary")
    request = bytes(Args.size)
    call(request)
    meter = Meter()
    goes_on = True
    while goes_on:
        begun = time.monotonic()
        must_be(call(request, timeout=timeout()))
        goes_on = meter.sample(begun, time.monotonic())
    meter.show()


async def unary():
    call = channel(module=aio).unary_unary("/bench/Unary")
    request = bytes(Args.size)
    await call(request)
    meter = Meter()
    is_over = False

    async def caller():
        nonlocal is_over
        while not is_over:
            begun = time.monotonic()
            must_be(await call(request, timeout=timeout()))
            if not is_over and not meter.sample(begun, time.monotonic()):
                is_over = True

    await asyncio.gather(*[caller() for _ in range(Args.n)])
    meter.show()


def bidi():
    semaphore = threading.Semaphore(1)      # a message goes out when the one before has come back
    request = bytes(Args.size)

    def requests():
        while True:
            semaphore.acquire()
            yield request

    stream = channel().stream_stream("/bench/Echo")(requests())
    meter = Meter()
    begun = time.monotonic()
    for answer in stream:
        must_be(answer)
        if not meter.sample(begun, time.monotonic()):
            break
        begun = time.monotonic()
        semaphore.release()
    meter.show()


async def bidi_async():
    one = channel(module=aio)
    stream = one.stream_stream("/bench/Echo")()
    request = bytes(Args.size)
    meter = Meter()
    goes_on = True
    while goes_on:
        begun = time.monotonic()
        await stream.write(request)
        must_be(await stream.read())
        goes_on = meter.sample(begun, time.monotonic())
    meter.show()


def receive(name):
    call = channel().unary_stream("/bench/" + name)
    each = 1 if ONCE else CLOCK_EACH
    meter = Meter()
    uncounted = 0
    while True:
        for answer in call(struct.pack(">II", 10 if ONCE else AT_A_TIME, Args.size)):
            must_be(answer)
            uncounted += 1
            if uncounted == each:
                uncounted = 0
                if not meter.count(each, time.monotonic()):
                    meter.show()
                    return


def send():
    each = 1 if ONCE else CLOCK_EACH
    request = bytes(Args.size)
    meter = Meter()

    def requests():
        while True:
            for _ in range(each):
                yield request
            if not meter.count(each, time.monotonic()):
                return

    channel().stream_unary("/bench/Sink")(requests())
    meter.show()


def connect():
    meter = Meter()
    request = bytes(Args.size)
    goes_on = True
    while goes_on:
        begun = time.monotonic()
        one = channel()
        must_be(one.unary_unary("/bench/Unary")(request, timeout=timeout()))
        goes_on = meter.sample(begun, time.monotonic())
        one.close()
    meter.show()


def make_channels(keepalive):
    channels = [channel(keepalive) for _ in range(Args.n)]
    for one in channels:
        one.unary_unary("/bench/Unary")(bytes(Args.size))
    return channels


def status(field):
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(one.split()[1]) for one in file if one.startswith(field + ":"))


def all_files():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def memory():
    all_files()
    first = channel()       # what is there once is no channel's
    first.unary_unary("/bench/Unary")(bytes(Args.size))
    rss = status("VmRSS")
    channels = make_channels(False)
    line("rss_kib", (status("VmRSS") - rss) / len(channels))
    line("threads", status("Threads"))


def alive():
    """Connections to the server's port that are established."""
    found = 0
    for path in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                found += sum(columns[2].endswith(f":{Args.port:04X}") and columns[3] == "01" for columns in map(str.split, file))
    return found


def wakeups(keepalive):
    all_files()
    channels = make_channels(keepalive)
    time.sleep(0.01 if ONCE else 1)     # what the connections still had to say
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    time.sleep(Args.seconds)
    woken = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before - 1  # less the one that ends the measurement
    line("wakeups_per_s", max(woken, 0) / Args.seconds)
    line("alive", alive() if channels else 0)


MODES = {"unary-block": unary_block, "unary": lambda: asyncio.run(unary()), "bidi": bidi, "bidi-async": lambda: asyncio.run(bidi_async()),
         "recv-frames": lambda: receive("Frames"), "recv-packed": lambda: receive("Source"), "send": send, "connect": connect,
         "memory": memory, "keepalive": lambda: wakeups(True), "quiet": lambda: wakeups(False)}

if __name__ == "__main__":
    arguments()
    if Args.mode not in MODES:
        raise SystemExit(f"no such mode: {Args.mode}")
    MODES[Args.mode]()
    sys.stdout.flush()
    os._exit(0)     # threads that wait for a stream's next message do not hold us up
