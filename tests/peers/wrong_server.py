#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Servers that a gRPC client meets by mistake: plain sockets, one kind of wrong a run.

wrong_server.py KIND [CERTIFICATE KEY] listens on the loopback, prints "port N" and goes on until it is killed.
"""
import contextlib
import socket
import ssl
import struct
import sys
import threading

DATA, HEADERS, SETTINGS, PING, GOAWAY = 0, 1, 4, 6, 7
ACK = END_STREAM = 1
END_HEADERS = 4


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


def read_exactly(conn, count):
    data = b""
    while len(data) < count:
        more = conn.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def read_frame(conn):
    head = read_exactly(conn, 9)
    return head[3], head[4], struct.unpack(">I", head[5:])[0], read_exactly(conn, int.from_bytes(head[:3], "big"))


def drain(conn):
    """Reads to the peer's end: closing over unread bytes would send RST instead of FIN."""
    while conn.recv(65536):
        pass


def say_and_end(conn, text):
    conn.sendall(text)
    conn.shutdown(socket.SHUT_WR)
    drain(conn)


def mute(conn):
    drain(conn)


def close(conn):
    say_and_end(conn, b"")


def reset(conn):
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def http11(conn):
    conn.recv(65536)
    body = b"<html>Bad Request</html>"
    say_and_end(
        conn,
        b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nConnection: close\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(body), body),
    )


def ssh(conn):
    conn.sendall(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")
    drain(conn)


def garbage(conn):
    conn.sendall(b"\xde\xad\xbe\xef" * 16)
    drain(conn)


def tls_alert(conn):
    """What a TLS server says to a client that does not speak TLS, when it says anything: a fatal protocol_version."""
    conn.recv(65536)
    say_and_end(conn, b"\x15\x03\x01\x00\x02\x02\x46")


def no_settings(conn):
    """HTTP/2 frames, but not SETTINGS first (RFC 9113 section 3.4)."""
    conn.sendall(frame(PING, 0, 0, b"12345678"))
    drain(conn)


def requests(conn):
    """Speaks HTTP/2 until a request is there, and gives its stream's id, again and again."""
    read_exactly(conn, 24)
    conn.sendall(frame(SETTINGS, 0, 0))
    while True:
        kind, flags, stream, _payload = read_frame(conn)
        if kind == SETTINGS and not flags & ACK:
            conn.sendall(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            conn.sendall(frame(PING, ACK, 0, _payload))
        elif kind in (HEADERS, DATA) and flags & END_STREAM:
            yield stream


def silent(conn):
    """Takes the request and never answers."""
    for _stream in requests(conn):
        pass


def http502(conn):
    """A proxy without its backend: :status 502, content-type text/html, an HTML page (HPACK by hand, RFC 7541)."""
    block = b"\x08\x03502" + b"\x0f\x10\x09text/html"
    for stream in requests(conn):
        conn.sendall(frame(HEADERS, END_HEADERS, stream, block))
        conn.sendall(frame(DATA, END_STREAM, stream, b"<html>\n<h1>502 Bad Gateway</h1>\n</html>\n"))


def goaway(conn):
    """Refuses the request with GOAWAY(ENHANCE_YOUR_CALM) and a reason, and closes."""
    for _stream in requests(conn):
        say_and_end(conn, frame(GOAWAY, 0, 0, struct.pack(">II", 0, 11) + b"come back later"))
        return


def die(conn):
    """Takes the request and closes without a word."""
    for _stream in requests(conn):
        close(conn)
        return


KINDS = {
    "mute": mute,
    "close": close,
    "reset": reset,
    "http11": http11,
    "ssh": ssh,
    "garbage": garbage,
    "no-settings": no_settings,
    "tls-alert": tls_alert,
    "silent": silent,
    "http502": http502,
    "goaway": goaway,
    "die": die,
}


def tls_kind(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["h2"])

    def tls(conn):
        try:
            with context.wrap_socket(conn.dup(), server_side=True) as secure:
                drain(secure)
        except ssl.SSLError:
            # OpenSSL sends no alert to what is no TLS record at all: it ends, and so does this server.
            conn.shutdown(socket.SHUT_WR)
            drain(conn)

    return tls


def handle(conn, kind):
    with contextlib.suppress(OSError, EOFError), conn:
        kind(conn)


def main():
    kind = tls_kind(*sys.argv[2:4]) if sys.argv[1] == "tls" else KINDS[sys.argv[1]]
    listener = socket.create_server(("127.0.0.1", 0), backlog=16)
    print(f"port {listener.getsockname()[1]}", flush=True)
    while True:
        conn, _peer = listener.accept()
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=handle, args=(conn, kind), daemon=True).start()


if __name__ == "__main__":
    main()
