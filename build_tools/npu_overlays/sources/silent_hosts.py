"""Silent hosts: how long to wait for a connection, and the addresses that recently did not answer.

Only silence is remembered, because only silence costs time: a refusal or an unknown host is reported at once, so it is
tried each time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from pathlib import Path
from urllib.parse import urlsplit

from npu_overlays import git
from npu_overlays.errors import Problem, UsageError
from npu_overlays.process import ProcessError
from npu_overlays.sources import cache as caching

VARIABLE = "NPU_OVERLAYS_PATIENCE"
DEFAULT = 20.0
REMEMBERED = 10 * 60.0
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def patience() -> float:
    """Return how many seconds to wait for an answer; raises `UsageError` for an invalid number."""
    text = os.environ.get(VARIABLE) or str(DEFAULT)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise UsageError(
            Problem(where=VARIABLE, what=f"`{text}` is no number of seconds", fix=f"set {VARIABLE}=60, for example")
        )
    return seconds


def wait_for(url: str) -> float:
    """Return how many seconds of silence to accept from the repository at `url`; a folder needs no connection."""
    return patience() if _host(_real(url)) else float("inf")


def longer() -> str:
    """Return the advice to wait longer."""
    return f"{VARIABLE}={3 * patience():.0f} waits longer"


def silent_for(url: str, cache: Path) -> float | None:
    """Return how many seconds ago the repository at `url` was last silent, or None if it may be asked."""
    note = _note(url, cache)
    try:
        age = time.time() - note.stat().st_mtime if note else REMEMBERED
    except (FileNotFoundError, NotADirectoryError):
        return None
    return age if 0 <= age < REMEMBERED else None


def remember(url: str, cache: Path) -> None:
    """Record that the repository at `url` is silent now."""
    note = _note(url, cache)
    if note:
        caching.room(cache, note.parent.name)
        note.touch()


def forget(cache: Path) -> None:
    """Forget every silent host, so that the next request tries all."""
    shutil.rmtree(cache / "silent", ignore_errors=True)


def _note(url: str, cache: Path) -> Path | None:
    """Return the record's path for an address as git reaches it, so that another proxy or ``insteadOf`` is tried."""
    real = _real(url)
    host = _host(real)
    if not host:
        return None
    proxy = _answer("config", "--get-urlmatch", "http.proxy", real)
    how = [host, proxy, *(os.environ.get(name, "") for name in _PROXIES)]
    return cache / "silent" / hashlib.sha256("\0".join(how).encode()).hexdigest()[:32]


def _real(url: str) -> str:
    return _answer("ls-remote", "--get-url", url) or url


def _host(url: str) -> str:
    """Return the host of a URL or of ``host:path``, empty for a folder."""
    if "://" in url:
        return "" if url.startswith("file:") else urlsplit(url).netloc
    host, colon, _ = url.partition(":")
    return host if colon and "/" not in host else ""


def _answer(*arguments: str) -> str:
    """Return git's answer with the user's configuration, without contacting a server."""
    try:
        return git.configured(*arguments, cwd=Path(os.sep)).decode(errors="replace").strip()
    except ProcessError:  # for a setting that is not set as well
        return ""
