#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Python's grpcio as a client of `lull serve --echo`: raw bytes, no generated code.

Prints "ok - name" or "not ok - name: why" for each check, in the form of lib.sh, and exits with 1 when one failed.
"""
import queue
import sys
import threading
import time

import grpc

DEMO = "/lull.Demo/"
failed = 0


def check(name, holds, why=""):
    global failed  # pylint: disable=global-statement
    if holds:
        print(f"ok - {name}", flush=True)
    else:
        failed += 1
        print(f"not ok - {name}: {why}", flush=True)


def equal(name, expected, actual):
    check(name, expected == actual, f"expected {expected!r:.200}, got {actual!r:.200}")


def status_of(call, *args, **kwargs):
    try:
        answer = call(*args, **kwargs)
        if not isinstance(answer, bytes):
            answer = list(answer)
        return grpc.StatusCode.OK, answer
    except grpc.RpcError as error:
        return error.code(), error.details()


def unary(channel):
    echo = channel.unary_unary(DEMO + "Echo")
    equal("unary echo", b"hello", echo(b"hello", timeout=20))
    equal("an empty message", b"", echo(b"", timeout=20))
    equal("any byte", bytes(range(256)), echo(bytes(range(256)), timeout=20))
    large = bytes(range(256)) * 12000
    equal("3 MB there and back", large, echo(large, timeout=20))
    answer, call = channel.unary_unary("/any.Service/Method").with_call(
        b"x", metadata=(("x-a", "1"), ("x-b-bin", b"\x00\xff"), ("x-a", "2"), ("y-c", "3")), timeout=20)
    equal("any method", b"x", answer)
    got = [(k, v) for k, v in call.initial_metadata() if k.startswith(("x-", "y-"))]
    equal("metadata both ways", [("x-a", "1"), ("x-b-bin", b"\x00\xff"), ("x-a", "2")], got)
    equal("a status and its text", (grpc.StatusCode.NOT_FOUND, "n\u00e4h, 100% \U0001f98a"),
          status_of(channel.unary_unary(DEMO + "Status"), "5 n\u00e4h, 100% \U0001f98a".encode(), timeout=20))
    for code in grpc.StatusCode:
        number = code.value[0]
        if number:
            equal(f"status {number}", code, status_of(channel.unary_unary(DEMO + "Status"), b"%d x" % number, timeout=20)[0])
    code, _ = status_of(echo, b"\0" * (4 * 1024 * 1024 + 1), timeout=20)
    check("a message above 4 MiB is refused", code in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INTERNAL), code)
    equal("and the connection goes on", b"after", echo(b"after", timeout=20))


def deadlines(channel):
    start = time.monotonic()
    code, _ = status_of(channel.unary_unary(DEMO + "Slow"), b"10000", timeout=0.3)
    took = time.monotonic() - start
    equal("a deadline", grpc.StatusCode.DEADLINE_EXCEEDED, code)
    check("in time", 0.25 < took < 5, took)
    equal("a deadline that is not reached", b"50", channel.unary_unary(DEMO + "Slow")(b"50", timeout=20))


def many(channel):
    echo = channel.unary_unary(DEMO + "Echo")
    calls = [echo.future(b"call %d" % i, timeout=60) for i in range(1000)]
    wrong = [i for i, call in enumerate(calls) if call.result() != b"call %d" % i]
    equal("1000 calls at a time", [], wrong)


def streams(channel):
    ticks = list(channel.unary_stream(DEMO + "Ticks")(b"20 10", timeout=20))
    equal("a server stream", [b"tick %d of 20" % (i + 1) for i in range(20)], ticks)
    equal("1000 messages one way", 1000, len(list(channel.unary_stream(DEMO + "Ticks")(b"1000 0", timeout=60))))
    count = channel.stream_unary(DEMO + "Count")
    equal("a client stream", b"1000 messages, 499500 bytes", count((b"x" * i for i in range(1000)), timeout=60))
    equal("a client stream of nothing", b"0 messages, 0 bytes", count(iter(()), timeout=20))
    echo = channel.stream_stream(DEMO + "Echo")
    sent = [b"%d" % i * (i % 300) for i in range(1000)]
    equal("1000 messages each way", sent, list(echo(iter(sent), timeout=60)))
    equal("a stream of nothing", [], list(echo(iter(()), timeout=20)))
    big = [bytes([i]) * 1000000 for i in range(20)]
    equal("20 MB each way", big, list(echo(iter(big), timeout=60)))


def ping_pong(channel):
    outgoing = queue.Queue()
    answers = channel.stream_stream(DEMO + "Echo")(iter(outgoing.get, None), timeout=60)
    wrong = 0
    for i in range(200):
        outgoing.put(b"ball %d" % i)
        wrong += next(answers) != b"ball %d" % i
    outgoing.put(None)
    equal("a ping-pong of 200", (0, []), (wrong, list(answers)))


def cancels(channel):
    outgoing = queue.Queue()
    answers = channel.stream_stream(DEMO + "Echo")(iter(outgoing.get, None), timeout=60)
    outgoing.put(b"first")
    equal("a stream's first answer", b"first", next(answers))
    answers.cancel()
    equal("and its cancel", grpc.StatusCode.CANCELLED, status_of(list, answers)[0])
    outgoing.put(None)
    slow = channel.unary_unary(DEMO + "Slow").future(b"20000", timeout=60)
    threading.Timer(0.2, slow.cancel).start()
    try:
        slow.result()
        check("a unary cancel", False, "it was answered")
    except grpc.FutureCancelledError:
        check("a unary cancel", True)


def main():
    with grpc.insecure_channel(sys.argv[1], options=[("grpc.max_send_message_length", -1),
                                                     ("grpc.max_receive_message_length", -1)]) as channel:
        for part in unary, deadlines, many, streams, ping_pong, cancels:
            part(channel)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
