#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A gRPC server on Python's grpcio for the peer tests: raw bytes, no generated code.

Service lull.test.Peer, every method unary:
  Echo   answers the request
  Meta   sends each "x-..." pair back as initial metadata and, with a t before its name, as a trailer;
         answers with the pairs as it saw them, a line "name hex" each
  Who    answers with :authority, user-agent and peer, a line each
  Fail   ends with the code in the request's first byte and the rest of it as the message
  FailLate  the same, with a response message sent all the same
  Slow   waits as many ms as the request says, or until the call is ended under it
  Big    answers with as many bytes as the request says
  Size   answers with the request's length and SHA-256
  Stats  answers with what Slow has seen: "begun N cancelled N ended_at_ns WALL remaining_us N"
"""
import argparse
import concurrent.futures
import hashlib
import sys
import threading
import time

import grpc

SERVICE = "/lull.test.Peer/"
CODES = {code.value[0]: code for code in grpc.StatusCode}
PATTERN = bytes(range(256))

lock = threading.Lock()
slow = {"begun": 0, "cancelled": 0, "ended_at_ns": 0, "remaining_us": 0}


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
        return (" ".join(f"{name} {value}" for name, value in slow.items()) + "\n").encode()


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
}


class Handlers(grpc.GenericRpcHandler):
    """Raw bytes in, raw bytes out; what is not in the table is UNIMPLEMENTED."""

    def service(self, handler_call_details):
        path = handler_call_details.method
        behaviour = METHODS.get(path[len(SERVICE):]) if path.startswith(SERVICE) else None
        return None if behaviour is None else grpc.unary_unary_rpc_method_handler(behaviour)


def main():
    """Serves until it is killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", default="127.0.0.1:0", help="address:port or unix:path")
    parser.add_argument("--max-streams", type=int, help="MAX_CONCURRENT_STREAMS")
    args = parser.parse_args()

    options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    if args.max_streams is not None:
        options.append(("grpc.max_concurrent_streams", args.max_streams))
    server = grpc.server(
        concurrent.futures.ThreadPoolExecutor(max_workers=16),
        handlers=(Handlers(),),
        options=options,
    )
    port = server.add_insecure_port(args.listen)
    if port == 0:
        sys.exit(f"cannot listen on {args.listen}")
    server.start()
    print(f"port {port}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
