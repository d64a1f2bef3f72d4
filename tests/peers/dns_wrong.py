#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A name server that misbehaves by request, over UDP on the loopback. dnsmasq is asked for everything that is right.

The first label of the name says what it does: servfail, refused, formerr: that code; mute: nothing; garbage: bytes that are no
answer; slow6: A at once, AAAA after 400 ms; slow4: the other way round. Prints "port N".

    dns_wrong.py [ADDRESS PORT]
"""
import socket
import struct
import sys
import threading

CODES = {"formerr": 1, "servfail": 2, "refused": 5}
ADDRESSES = {1: socket.inet_aton("127.0.0.1"), 28: socket.inet_pton(socket.AF_INET6, "::1")}


def first_label(query):
    return query[13:13 + query[12]].decode("ascii", "replace").lower()


def question_end(query):
    at = 12
    while query[at] != 0:
        at += query[at] + 1
    return at + 5


def reply(query, code, data=None):
    end = question_end(query)
    head = query[:2] + struct.pack(">HHHHH", 0x8580 | code, 1, 0 if data is None else 1, 0, 0)
    record = b""
    if data is not None:
        kind = query[end - 4:end - 2]
        record = b"\xc0\x0c" + kind + struct.pack(">HIH", 1, 1, len(data)) + data
    return head + query[12:end] + record


def main():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((sys.argv[1], int(sys.argv[2])) if len(sys.argv) == 3 else ("127.0.0.1", 0))
    print("port", server.getsockname()[1], flush=True)
    while True:
        query, peer = server.recvfrom(4096)
        label = first_label(query)
        end = question_end(query)
        kind = struct.unpack(">H", query[end - 4:end - 2])[0]
        if label in CODES:
            server.sendto(reply(query, CODES[label]), peer)
        elif label == "garbage":
            server.sendto(query[:2] + b"\x85\x80\x00\x01\x00\x07\x00\x00\x00\x00" + query[12:end] + b"\xc0", peer)
        elif label in ("slow6", "slow4") and kind in ADDRESSES:
            answer = reply(query, 0, ADDRESSES[kind])
            delay = 0.4 if (label == "slow6") == (kind == 28) else 0
            threading.Timer(delay, server.sendto, (answer, peer)).start()


if __name__ == "__main__":
    sys.exit(main())
