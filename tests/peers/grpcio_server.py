#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A gRPC server on Python's grpcio for the peer tests: raw bytes, no generated code.

Service lull.test.Peer; the unary methods:
  Echo   answers the request
  Meta   sends each "x-..." pair back as initial metadata and, with a t before its name, as a trailer;
         answers with the pairs as it saw them, a line "name hex" each
  Who    answers with :authority, user-agent and peer, a line each
  Fail   ends with the code in the request's first byte and the rest of it as the message
  FailLate  the same, with a response message sent all the same
  Slow   waits as many ms as the request says, or until the call is ended under it
  Big    answers with as many bytes as the request says
  Size   answers with the request's length and SHA-256
  Stats  answers with what Slow and the streams have seen: "begun N cancelled N ended_at_ns WALL remaining_us N cut N yielded N"
  Go     lets Late go on

Streams, of messages that make_message makes:
  Collect    takes messages to the end; says how many, or which was not the one expected
  Late       the same, but reads nothing before Go
  Count      sends as many messages as the request says
  Chat       sends each message back, and "bye" behind the last one
  Drip       sends a message every 20 ms until the call is ended under it
  Enough     sends five messages back, then ends with an error whatever else comes
  FailAfter  sends three messages, then ends with an error
"""
import argparse
import concurrent.futures
import hashlib
import pathlib
import sys
import threading
import time

import grpc

SERVICE = "/lull.test.Peer/"
CODES = {code.value[0]: code for code in grpc.StatusCode}
PATTERN = bytes(range(256))

lock = threading.Lock()
slow = {"begun": 0, "cancelled": 0, "ended_at_ns": 0, "remaining_us": 0}
streams = {"cut": 0, "yielded": 0}
may_go = threading.Event()


def echo(request, _context):
    return request


def as_bytes(value):
    return value if isinstance(value, bytes) else value.encode("ascii")


def meta(_request, context):
    pairs = [(k, v) for k, v in context.invocation_metadata() if k.startswith("x-")]
    context.send_initial_metadata(tuple(pairs))
    context.set_trailing_metadata(tuple(("t" + k, v) for k, v in pairs))
    return "".join(f"{k} {as_bytes(v).hex()}\n" for k, v in pairs).encode()


def who(_request, context):
    agent = "".join(v for k, v in context.invocation_metadata() if k == "user-agent")
    # grpcio tells the authority to itself only.
    host = context._rpc_event.call_details.host.decode()  # pylint: disable=protected-access
    return f"{host}\n{agent}\n{context.peer()}\n".encode()


def fail(request, context):
    context.set_trailing_metadata((("x-why", "because"),))
    context.abort(CODES[request[0]], request[1:].decode())


def fail_late(request, context):
    context.set_code(CODES[request[0]])
    context.set_details(request[1:].decode())
    return b"a message that comes with an error"


def wait_slowly(request, context):
    ended = threading.Event()
    left = context.time_remaining()
    with lock:
        slow["begun"] += 1
        slow["remaining_us"] = -1 if left is None else int(left * 1e6)
    context.add_callback(ended.set)
    if ended.wait(int(request) / 1000):
        with lock:
            slow["cancelled"] += 1
            slow["ended_at_ns"] = time.time_ns()
    return b"slow"


def big(request, _context):
    size = int(request)
    return (PATTERN * (size // 256 + 1))[:size]


def size_of(request, _context):
    return f"{len(request)} {hashlib.sha256(request).hexdigest()}\n".encode()


def stats(_request, _context):
    with lock:
        return (" ".join(f"{name} {value}" for name, value in (slow | streams).items()) + "\n").encode()


def go(_request, _context):
    may_go.set()
    return b""


# ---- streams


def make_message(number):
    """The number, and as many bytes as the number makes up."""
    size = number * 37 % 5992
    period = bytes((i * 31 + number) & 255 for i in range(8, 264))
    return b"%08d" % number + (period * (size // 256 + 1))[:size]


def watch(context):
    """Counts the call as cut unless the returned event is set before it ends."""
    done = threading.Event()

    def ended():
        with lock:
            streams["cut"] += not done.is_set()

    context.add_callback(ended)
    return done


def collect(requests, context):
    number = 0
    for request in requests:
        if request != make_message(number):
            context.abort(grpc.StatusCode.DATA_LOSS, f"message {number} is another one")
        number += 1
    context.set_trailing_metadata((("x-count", str(number)),))
    return f"{number} in order".encode()


def late(requests, context):
    may_go.wait(50)
    may_go.clear()
    return collect(requests, context)


def count(request, context):
    for number in range(int(request)):
        with lock:
            streams["yielded"] = number + 1
        yield make_message(number)
    context.set_trailing_metadata((("x-count", request.decode()),))
    context.set_details("all of them")


def chat(requests, context):
    done = watch(context)
    number = 0
    for request in requests:
        number += 1
        yield request
    context.set_trailing_metadata((("x-count", str(number)),))
    done.set()
    yield b"bye"


def drip(_request, context):
    watch(context)
    number = 0
    while context.is_active():
        yield make_message(number)
        number += 1
        time.sleep(0.02)


def enough(requests, context):
    for _ in range(5):
        yield next(requests)
    context.set_trailing_metadata((("x-count", "5"),))
    context.abort(grpc.StatusCode.FAILED_PRECONDITION, "five are enough")


def fail_after(_request, context):
    for number in range(3):
        yield make_message(number)
    context.set_trailing_metadata((("x-count", "3"),))
    context.abort(grpc.StatusCode.ABORTED, "after three")


METHODS = {
    "Echo": echo,
    "Meta": meta,
    "Who": who,
    "Fail": fail,
    "FailLate": fail_late,
    "Slow": wait_slowly,
    "Big": big,
    "Size": size_of,
    "Stats": stats,
    "Go": go,
}

STREAMS = {
    "Collect": grpc.stream_unary_rpc_method_handler(collect),
    "Late": grpc.stream_unary_rpc_method_handler(late),
    "Count": grpc.unary_stream_rpc_method_handler(count),
    "Chat": grpc.stream_stream_rpc_method_handler(chat),
    "Drip": grpc.unary_stream_rpc_method_handler(drip),
    "Enough": grpc.stream_stream_rpc_method_handler(enough),
    "FailAfter": grpc.unary_stream_rpc_method_handler(fail_after),
}


class Handlers(grpc.GenericRpcHandler):
    """Raw bytes in, raw bytes out; what is not in the table is UNIMPLEMENTED."""

    def service(self, handler_call_details):
        path = handler_call_details.method
        name = path[len(SERVICE):] if path.startswith(SERVICE) else ""
        if name in METHODS:
            return grpc.unary_unary_rpc_method_handler(METHODS[name])
        return STREAMS.get(name)


def credentials(directory, mutual):
    """What a server shows, and whom it lets in."""
    def read(name):
        return pathlib.Path(directory, name).read_bytes()
    roots = read("ca.pem") if mutual else None
    return grpc.ssl_server_credentials([(read("leaf.key"), read("leaf.pem"))], roots, mutual)


def main():
    """Serves until it is killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", default="127.0.0.1:0", help="address:port or unix:path")
    parser.add_argument("--max-streams", type=int, help="MAX_CONCURRENT_STREAMS")
    parser.add_argument("--window", type=int, help="a stream's window in bytes, which then stays so; else grpcio's 4 MiB")
    parser.add_argument("--certs", help="TLS with the leaf.pem and leaf.key of this directory")
    parser.add_argument("--mutual", action="store_true", help="and for clients of its ca.pem only")
    args = parser.parse_args()

    options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    if args.max_streams is not None:
        options.append(("grpc.max_concurrent_streams", args.max_streams))
    if args.window is not None:
        options += [("grpc.http2.lookahead_bytes", args.window), ("grpc.http2.bdp_probe", 0)]
    server = grpc.server(
        concurrent.futures.ThreadPoolExecutor(max_workers=16),
        handlers=(Handlers(),),
        options=options,
    )
    if args.certs is None:
        port = server.add_insecure_port(args.listen)
    else:
        port = server.add_secure_port(args.listen, credentials(args.certs, args.mutual))
    if port == 0:
        sys.exit(f"cannot listen on {args.listen}")
    server.start()
    print(f"port {port}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
