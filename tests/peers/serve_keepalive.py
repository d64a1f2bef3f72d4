#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Python's grpcio as a client that pings: serve_keepalive.py TARGET EVERY_MS FOR_MS.

Holds one call of /lull.Demo/Slow for FOR_MS and prints how it ended: "OK", or the status and its text.
"""
import sys

import grpc


def main():
    target, every_ms, for_ms = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    options = [("grpc.keepalive_time_ms", every_ms), ("grpc.keepalive_timeout_ms", 5000),
               ("grpc.keepalive_permit_without_calls", 1), ("grpc.http2.max_pings_without_data", 0)]
    with grpc.insecure_channel(target, options=options) as channel:
        try:
            channel.unary_unary("/lull.Demo/Slow")(b"%d" % for_ms, timeout=60)
            print("OK")
        except grpc.RpcError as error:
            print(error.code().name, error.details())


if __name__ == "__main__":
    main()
