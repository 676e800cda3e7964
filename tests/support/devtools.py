"""Devtools: a browser without a window, driven by its own protocol through a pipe → what a person does, and sees.

Unlike `support.browser` it clicks for real, reads the clipboard, and tells every request that a page makes.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from .browser import find_browser

_QUIET = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    # Nothing but what is served here can be reached.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
)
# The browser reads what it is told from descriptor 3 and answers on 4.
_START = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execvp(sys.argv[3], sys.argv[3:])"
)
_ABOVE = 10
# Pages that are opened at an anchor scroll there softly: an element is where it is once it is there twice.
_REACHED = """
(() => {{
  const one = {chosen};
  const before = self.reached || {{}};
  const {{ x, y, width, height }} = one.getBoundingClientRect();
  self.reached = {{ x: x + width / 2, y: y + height / 2 }};
  if (document.readyState !== "complete") return false;
  if (!one.contains(document.elementFromPoint(self.reached.x, self.reached.y))) {{
    one.scrollIntoView({{ block: "center", behavior: "instant" }});
    return false;
  }}
  return before.x === self.reached.x && before.y === self.reached.y;
}})()
"""
_PATIENCE = 60


@dataclass(kw_only=True)
class Tab:
    """A page of a browser.

    Args:
        write: where commands go.
        answers: what came back, whole messages.
        requested: addresses that pages asked for.
        complaints: what the console said, and exceptions that nobody caught.
    """

    write: BinaryIO
    answers: queue.Queue[dict[str, Any]]
    requested: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    session: str = ""
    _number: int = 0

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.write.write(json.dumps(message).encode() + b"\0")
        self.write.flush()
        answer = self._until(lambda one: one.get("id") == self._number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def open(self, url: str) -> None:
        """Open an address and wait until all of it is there."""
        self.call("Page.navigate", url=url)
        self._until(lambda one: one.get("method") == "Page.loadEventFired")

    def find(self, script: str) -> Any:
        """Return the value of an expression."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def wait(self, script: str) -> None:
        """Wait until an expression is true."""
        for _ in range(10 * _PATIENCE):
            if self.find(f"Boolean({script})"):
                return
            time.sleep(0.1)
        pytest.fail(f"never so: {script}; {self.complaints}")

    def click(self, selector: str, *, leads_away: bool = False) -> None:
        """Click on the middle of the first element that is chosen, as with a mouse."""
        chosen = f"document.querySelector({json.dumps(selector)})"
        self.wait(_REACHED.format(chosen=chosen))
        at = self.find("self.reached")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **at)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)
        if leads_away:
            self._until(lambda one: one.get("method") == "Page.loadEventFired")

    def look(self, *, width: int, dark: bool = False, paper: bool = False) -> None:
        """Have a window so wide, and colours that a user asked for; or a sheet of paper so wide."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="print" if paper else "", features=[scheme])

    def picture(self) -> bytes:
        """Return what is seen, a PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])

    def sheets(self) -> int:
        """Print the page on A4 and return how many sheets it takes."""
        pdf = base64.b64decode(self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])
        return len(re.findall(rb"/Type /Page\b", pdf))

    def _until(self, wanted: Any) -> dict[str, Any]:
        while True:
            answer = self.answers.get(timeout=_PATIENCE)
            self._note(answer)
            if wanted(answer):
                return answer

    def _note(self, answer: dict[str, Any]) -> None:
        said = answer.get("params", {})
        match answer.get("method"):
            case "Network.requestWillBeSent":
                self.requested.append(said["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(said["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if said["type"] in {"error", "warning", "assert"}:
                self.complaints.append(str(said["args"]))
            case "Log.entryAdded" if said["entry"]["level"] in {"error", "warning"}:
                self.complaints.append(str(said["entry"]))


@contextmanager
def open_tab(folder: Path) -> Iterator[Tab]:
    """Open a page in a browser of its own; skips the test where there is none.

    Args:
        folder: an empty folder to work in.
    """
    program = find_browser()
    if program is None:
        pytest.skip("no browser on PATH: Debian's is in the package chromium")
    ours, theirs = _pipe(), _pipe()
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    start = [sys.executable, "-c", _START, str(ours[0]), str(theirs[1]), program]
    options = [*_QUIET, *sandbox, f"--user-data-dir={folder / 'profile'}", "about:blank"]
    log = (folder / "browser.log").open("wb")
    with log, subprocess.Popen([*start, *options], pass_fds=(ours[0], theirs[1]), stdout=log, stderr=log) as browser:
        os.close(ours[0])
        os.close(theirs[1])
        with os.fdopen(ours[1], "wb") as write:
            try:
                yield _attached(write, theirs[0])
            finally:
                browser.kill()


def _pipe() -> tuple[int, int]:
    """Return both ends of a pipe, by numbers that the browser does not use."""
    import fcntl  # noqa: PLC0415  # not on Windows, where these tests are not run

    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _ABOVE) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]


def _attached(write: BinaryIO, read: int) -> Tab:
    tab = Tab(write=write, answers=queue.Queue())
    threading.Thread(target=_listen, args=(read, tab.answers), daemon=True).start()
    target = tab.call("Target.createTarget", url="about:blank")["targetId"]
    tab.session = tab.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Network", "Runtime", "Log"):
        tab.call(f"{domain}.enable")
    return tab


def _listen(end: int, answers: queue.Queue[dict[str, Any]]) -> None:
    """Put what a browser sends into a queue, and close the pipe where that ends; nobody else may, while it is read."""
    rest = b""
    with os.fdopen(end, "rb", buffering=0) as read:
        while part := read.read(1 << 16):
            *whole, rest = (rest + part).split(b"\0")
            for message in whole:
                answers.put(json.loads(message))
