"""A hub on this machine: what the library `datasets` asks for, answered as huggingface.co does, from a dictionary."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

Repositories = Mapping[str, Mapping[str, bytes]]
_COMMIT = "0" * 40


@contextmanager
def hub(repositories: Repositories) -> Iterator[str]:
    """Yield the address of a hub that has these data sets, each with its files by their paths."""

    class Handler(_Answers):
        has = repositories

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


class _Answers(BaseHTTPRequestHandler):
    has: ClassVar[Repositories]
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        parts = unquote(urlsplit(self.path).path).strip("/").split("/")
        api = parts[0] == "api"
        if parts[api : api + 1] != ["datasets"] or len(parts) < api + 3:
            self._send(404, b"{}")
            return
        owner, name, *rest = parts[api + 1 :]
        files = self.has.get(f"{owner}/{name}")
        if files is None:
            self._send(404, b"{}", **{"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"})
        elif api:
            self._send(
                200, json.dumps(_of_api(f"{owner}/{name}", files, rest, body or urlsplit(self.path).query)).encode()
            )
        else:
            self._file(files, "/".join(rest[2:]))

    def _file(self, files: Mapping[str, bytes], path: str) -> None:
        if path not in files:
            self._send(404, b"", **{"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"})
            return
        self._send(200, files[path], **{"ETag": f'"{_digest(files[path])}"', "X-Repo-Commit": _COMMIT})

    def _send(self, code: int, content: bytes, **headers: str) -> None:
        self.send_response(code)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _of_api(name: str, files: Mapping[str, bytes], rest: list[str], query: str) -> Any:
    entries: dict[str, dict[str, Any]] = {}
    for path, content in files.items():
        entries |= {folder: {"type": "directory", "oid": _COMMIT, "size": 0, "path": folder} for folder in _above(path)}
        entries[path] = {"type": "file", "oid": _digest(content), "size": len(content), "path": path}
    asked = parse_qs(query)
    if rest[:1] == ["tree"]:
        folder = "/".join(rest[2:])
        below = [one for path, one in entries.items() if folder in {"", *_above(path)}]
        return [one for one in below if asked.get("recursive") == ["true"] or _parent(one["path"]) == folder]
    if rest[:1] == ["paths-info"]:
        return [entries[path] for path in asked.get("paths", []) if path in entries]
    siblings = [{"rfilename": path} for path in files]
    return {"_id": "1", "id": name, "sha": _COMMIT, "private": False, "tags": [], "downloads": 0, "siblings": siblings}


def _above(path: str) -> list[str]:
    """Return the folders that something lies in."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: length + 1]) for length in range(len(parts))]


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:40]
