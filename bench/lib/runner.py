# SPDX-License-Identifier: MIT
"""Starts servers and programs where they belong, in rounds, and reads what they print."""
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor


class Missing(Exception):
    """This run cannot be: why."""


class Failed(Exception):
    """A program broke the contract."""


class Builds:
    """Where programs are."""

    def __init__(self, source, build):
        self.source = source
        self.build = build

    def find(self, name):
        """A program of the build directory, past libtool's wrapper, or a file of the source tree."""
        at, base = os.path.split(name)
        for path in (os.path.join(self.build, "bench", at, ".libs", base), os.path.join(self.build, "bench", name),
                     os.path.join(self.source, "bench", name)):
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
        raise Missing(f"bench/{name} is not built")

    def environment(self):
        env = dict(os.environ)
        libraries = os.path.join(self.build, ".libs")
        env["LD_LIBRARY_PATH"] = libraries + (":" + env["LD_LIBRARY_PATH"] if env.get("LD_LIBRARY_PATH") else "")
        env.setdefault("ASAN_OPTIONS", "detect_leaks=0")  # a program that measures does not tidy up behind itself
        return env


def cpus():
    return sorted(os.sched_getaffinity(0))


def pin(place, is_server):
    """The CPUs of one side, None for all; raises Missing where there are too few."""
    have = cpus()
    if place == "free":
        return None
    if place == "same":
        return {have[0]}
    if len(have) < 2:
        raise Missing("one CPU is not enough for client and server on a CPU each")
    return {have[1]} if is_server else {have[0]}


def start(argv, place, is_server, **more):
    wanted = pin(place, is_server)

    def settle():
        if wanted:
            os.sched_setaffinity(0, wanted)

    return subprocess.Popen(argv, preexec_fn=settle if wanted else None, **more)


class Server:
    """bench/ngserver in one place: prints its ports on a line, ends when its standard input does."""

    def __init__(self, builds, place, directory):
        self.ca = os.path.join(directory, f"ca-{place}.pem")
        self.process = start([builds.find("ngserver"), self.ca], place, True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True, env=builds.environment())
        line = self.process.stdout.readline().split()
        if len(line) != 3:
            raise Failed("ngserver did not start")
        self.port, self.tls_port, self.raw_port = line

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


BESIDE_ROUNDS = 2   # of what no target judges: shown beside it


class Runner:
    def __init__(self, builds, results, seconds, waits=(31, 10, 300), once=False, log=None):
        self.builds = builds
        self.results = results
        self.seconds = seconds
        self.waits = waits
        self.once = once
        self.log = log or (lambda text: None)
        self.dropped = {}
        self.servers = {}
        self.processes = set()
        self.directory = tempfile.TemporaryDirectory(prefix="lull-bench-")

    def close(self):
        for process in list(self.processes):
            os.killpg(process.pid, signal.SIGKILL)
        for server in self.servers.values():
            server.stop()
        self.directory.cleanup()

    def server(self, place):
        if place not in self.servers:
            self.servers[place] = Server(self.builds, place, self.directory.name)
        return self.servers[place]

    def command(self, run, place):
        """The argv, with the placeholders filled in."""
        fill = {"seconds": f"{self.seconds:g}", "keepalive": f"{self.waits[0]:g}", "quiet": f"{self.waits[1]:g}", "alive": f"{self.waits[2]:g}",
                "build": self.builds.build, "src": self.builds.source,
                "tmp": self.directory.name, "port": "", "tls_port": "", "raw_port": "", "ca": ""}
        program = self.builds.find(run.argv[0])
        if run.server:
            server = self.server(place)
            fill.update(port=server.port, tls_port=server.tls_port, raw_port=server.raw_port, ca=server.ca)
            if fill["tls_port"] == "0" and any("{tls_port}" in one for one in run.argv):
                raise Missing("built without OpenSSL")
        return [program] + [one.format(**fill) for one in run.argv[1:]]

    def measure(self, run, place, number):
        key = (run.family, run.row, run.variant, place)
        if key in self.dropped:
            return
        try:
            argv = self.command(run, place)
            self.read(run, place, number, self.call(argv, run, place))
        except Missing as why:
            self.dropped[key] = str(why)
            self.log(f"left out: {run.family} {run.row} {run.variant} ({place}): {why}")

    def begin_together(self, runs, number):
        """Starts them at once; what it returns waits for them."""
        for run, place in runs:
            if run.server:
                self.server(place)
        pool = ThreadPoolExecutor(max(len(runs), 1))
        under_way = [pool.submit(self.measure, run, place, number) for run, place in runs]

        def wait():
            for one in under_way:
                one.result()
        return wait

    def call(self, argv, run, place):
        env = self.builds.environment()
        env.update(BENCH_ROW=run.row, BENCH_FAMILY=run.family, BENCH_VARIANT=run.variant)
        if self.once:
            env["BENCH_ONCE"] = "1"
        env.update(run.env)
        process = start(argv, place, False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                        text=True, env=env, start_new_session=True)
        self.processes.add(process)
        try:
            out, err = process.communicate(timeout=60 + 60 * self.seconds + max(self.waits))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Failed(f"{run.family} {run.row} {run.variant}: no end in sight: {' '.join(argv)}") from None
        finally:
            self.processes.discard(process)
        if process.returncode == 77:
            raise Missing((err.strip().splitlines() or ["cannot run here"])[-1])
        if process.returncode != 0:
            raise Failed(f"{run.family} {run.row} {run.variant}: status {process.returncode}: {' '.join(argv)}\n{err}")
        return out

    def read(self, run, place, number, out):
        lines = out.splitlines()
        if not lines:
            raise Failed(f"{run.family} {run.row} {run.variant}: printed nothing")
        for line in lines:
            columns = line.split("\t")
            if len(columns) != 5:
                raise Failed(f"{run.family} {run.row} {run.variant}: not five columns: {line!r}")
            row, family, variant, metric, text = columns
            try:
                value = float(text)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                raise Failed(f"{run.family} {run.row} {run.variant}: no number: {line!r}")
            if family != run.family:
                raise Failed(f"{run.family} {run.row} {run.variant}: of another family: {line!r}")
            self.results.add(family, row, place, variant, metric, number, value)
            self.results.roles.setdefault((family, variant), run.role)

    def rounds(self, families, count, quick, wanted=()):
        """Families one after another; within one, all runs of a round forwards, then backwards. `wanted`: (family, row, place) of
        targets: other rows on two CPUs have few rounds, and none in a quick run."""
        rest = self.begin_together([(run, place) for family in families for run in family.runs for place in run.places
                                    if run.rests == "run" and (run.quick or not quick)], 0)
        for family in families:
            runs = [run for run in family.runs if run.rests != "run" and (run.quick or not quick)]
            began = time.monotonic()
            for number in range(count):
                resting = []
                for run in (runs if number % 2 == 0 else reversed(runs)):
                    limit = (run.quick_rounds if quick else 0) or run.rounds or count
                    for place in run.places:
                        is_beside = place == "two" and (family.name, run.row, place) not in wanted
                        if is_beside and (self.once or quick) or number >= (min(limit, BESIDE_ROUNDS) if is_beside else limit):
                            continue
                        if run.rests:
                            resting.append((run, place))
                        else:
                            self.measure(run, place, number)
                self.begin_together(resting, number)()
            self.log(f"{family.name}: {time.monotonic() - began:.0f} s")
        rest()


def complain(text):
    print(text, file=sys.stderr, flush=True)
