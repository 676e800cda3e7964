"""A browser without a window: pages → what a reader of them would see and can do."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_QUIET = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
    # Nothing a page could ask for is there, and what it asked for is told.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr",
)
_AROUND = """\
<!DOCTYPE html><meta charset="utf-8">
<iframe src="{source}" style="width:{width}px;height:900px;border:0"></iframe><pre id="seen"></pre>
<script>
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {{
  const look = (page, view) => {{ {script} }};
  let seen;
  try {{ seen = look(frame.contentDocument, frame.contentWindow); }} catch (error) {{ seen = `failed: ${{error}}`; }}
  document.querySelector("#seen").textContent = JSON.stringify(seen);
}});
</script>
"""


class Browser:
    """A browser that opens files.

    Args:
        program: which.
        folder: an empty folder to work in.
    """

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._folder = folder

    def look(self, page: Path, script: str, *, query: str = "", width: int = 1300, dark: bool = False) -> Any:
        """Open a page and return what a script finds there; its variables are ``page`` and ``view``, its window."""
        around = page.with_name(f"around-{page.name}")
        around.write_text(_AROUND.format(source=f"{page.name}{query}", width=width, script=script), encoding="utf-8")
        # The script has to see into another file.
        seeing = ("--allow-file-access-from-files", "--dump-dom", f"--window-size={width + 50},1000")
        done = self._run(around, *seeing, dark=dark)
        found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout.decode(), re.DOTALL)
        assert found, done.stderr.decode()
        assert found[1], done.stderr.decode()
        # What its own policy forbids, it says of itself; so is a script that failed.
        assert b"CONSOLE" not in done.stderr, done.stderr.decode()
        return json.loads(html.unescape(found[1]))

    def picture(self, page: Path, *, width: int, dark: bool = False) -> bytes:
        """Return a picture of the beginning of a page, a PNG."""
        file = self._folder / "picture.png"
        self._run(page, f"--screenshot={file}", f"--window-size={width},1000", dark=dark)
        return file.read_bytes()

    def _run(self, page: Path, *options: str, dark: bool) -> subprocess.CompletedProcess[bytes]:
        profile = self._folder / "profile"
        shutil.rmtree(profile, ignore_errors=True)
        scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
        # The kernel's sandboxes are not there for root, nor in most containers.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [self._program, *_QUIET, *sandbox, scheme, f"--user-data-dir={profile}", *options]
        for patience in (60, 180):  # on a busy machine a browser may wait for a part of itself for ever
            with suppress(subprocess.TimeoutExpired):
                return subprocess.run([*command, page.as_uri()], capture_output=True, check=True, timeout=patience)
        pytest.fail(f"{self._program} showed nothing of {page.name}, in one minute and in three more")


def open_browser(folder: Path) -> Browser:
    """Return a browser; skips the test where there is none."""
    program = find_browser()
    if program is None:
        pytest.skip("no browser on PATH: Debian's is in the package chromium")
    return Browser(program, folder)


def find_browser() -> str | None:
    """Return a browser's program, None where there is none."""
    return next(filter(None, map(shutil.which, _NAMES)), None)
