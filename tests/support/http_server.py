"""A folder → a web server on this machine alone that serves its files, as `python -m http.server` does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Served:
    """A folder that is served.

    Args:
        url: of the folder.
        asked: the paths that clients asked for.
    """

    url: str
    asked: list[str] = field(default_factory=list)


class _Handler(SimpleHTTPRequestHandler):
    """Notes in what is asked for, and prints nothing."""

    def __init__(self, *given: object, asked: list[str], directory: str) -> None:
        self._asked = asked
        super().__init__(*given, directory=directory)  # type: ignore[arg-type]  # what the server hands over

    def log_message(self, *_: object) -> None:
        self._asked.append(self.path)


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """Serve a folder over loopback HTTP while the block runs."""
    asked: list[str] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, asked=asked, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield Served(url=f"http://127.0.0.1:{server.server_port}/", asked=asked)
        finally:
            server.shutdown()
            thread.join()
