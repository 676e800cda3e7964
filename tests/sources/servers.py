"""Loopback servers that misbehave: they take a connection and never answer, or stop in the middle of an answer."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def silent(first: bytes = b"") -> Iterator[int]:
    """Give the port of a server that says `first` on each connection, and then nothing more."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                held.append(connection)
                if first:
                    connection.recv(65536)
                    connection.sendall(first)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    for connection in held:
        connection.close()


@contextmanager
def files(root: Path, *, login: str = "", proxy_login: str = "") -> Iterator[int]:
    """Give the port of a server of the files below `root`, to those who know a login (as Basic sends it).

    Asked as a proxy, it gives the files of ``http://host/x`` from ``http:/host/x``.
    """
    wanted = {"Authorization": login, "Proxy-Authorization": proxy_login}

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(root))  # type: ignore[arg-type]  # what socketserver passes

        def do_GET(self) -> None:
            if any(known and self.headers.get(name) != f"Basic {known}" for name, known in wanted.items()):
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="index"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            super().do_GET()

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()
