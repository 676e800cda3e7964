"""Operations on one of several definitions, and in a module of another encoding, through the commands."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from support.environment import Environment
from support.overlays import write_overlay
from support.upstreams import METADATA, make_upstream

pytestmark = pytest.mark.slow

PATH = "box/core.py"
CORE = """\
# -*- coding: latin-1 -*-
import sys

NAME = "é"


class Box:
    def __init__(self):
        self._size = 1

    @property
    def size(self):
        return self._size

    @size.setter
    def size(self, new):
        self._size = [check(new), *self.others]


if sys.version_info >= (3, 0):
    def name(x):
        return NAME + x
else:
    def name(x):
        return x
"""
OVERLAY = """\
from npu_overlays.markers import edited, upstream, wrapped


class Box:
    size = property()

    @wrapped(why="One is enough.")
    @size.setter
    def size(self, new):
        self._size = new if new == 1 else upstream(self, new)


@edited(("NAME + x", "NAME + 'ü' + x"), why="Longer.", where="if sys.version_info >= (3, 0)")
def name(x): ...
"""
TARGETS = ["box/core.py:Box.size[@size.setter]", "box/core.py:name[if sys.version_info >= (3, 0)]"]
TRIED = "from box.core import Box, name\nbox = Box()\nbox.size = 1\nprint(box.size, ascii(name('x')))\n"


def test_they_are_locked_built_told_checked_out_refreshed_found_and_ported(
    environment: Environment, tmp_path: Path
) -> None:
    metadata = b"Metadata-Version: 2.1\nName: box\nVersion: 1.0\n"
    files = {METADATA: metadata, "LICENSE": b"Free.\n", "box/__init__.py": b"", PATH: CORE.encode("latin-1")}
    upstream, commit = make_upstream(tmp_path / "upstream", environment, files)
    overlays = tmp_path / "overlays"
    folder = write_overlay(
        overlays,
        project="box",
        commit=commit,
        repository=upstream.url,
        packages=["box"],
        files={"LICENSE": b"Free.\n", f"tree/{PATH}": OVERLAY.encode()},
    )
    at = ("--overlays", str(overlays))

    def npu(command: str, *arguments: str) -> str:
        return environment.ok(command, *at, *arguments).out

    npu("lock", folder.name)
    npu("build", folder.name, "--out", str(tmp_path / "wheels"))
    (wheel,) = (tmp_path / "wheels").glob("box_npu-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    here = str(tmp_path / "site")
    assert environment.succeed("python3", "-c", TRIED, PYTHONPATH=here).out == "1 '\\xe9\\xfcx'\n"
    summary = json.loads(environment.succeed("python3", "-m", "box_npu_summary", "--json", PYTHONPATH=here).out)
    (file,) = summary["distributions"][0]["files"]
    changes = [*file["class_changes"][0]["changes"], *file["module_changes"]]
    assert [(one["name"], one["where"], one["operation"]) for one in changes] == [
        ("size", "@size.setter", "wrapped"),
        ("name", "if sys.version_info >= (3, 0)", "edited"),
    ]
    work = tmp_path / "work"
    npu("checkout", folder.name, str(work))
    log = environment.succeed(
        "git", "-C", work, "log", "--reverse", "--format=%(trailers:key=Overlay-Target,valueonly)"
    )
    assert [line for line in log.out.splitlines() if line] == TARGETS
    fails = "from box.core import Box\ntry: Box().size = 1\nexcept NameError: pass\nelse: raise SystemExit(1)"
    found = npu("bisect", folder.name, "--", "python3", "-c", fails)
    assert f"wrapped   {TARGETS[0]}" in found
    content = (work / PATH).read_bytes().decode("latin-1")
    (work / PATH).write_bytes(content.replace("new == 1", "new in (1, 2)").replace("'ü'", "'ä'").encode("latin-1"))
    npu("refresh", folder.name, str(work))
    expected = OVERLAY.replace("new == 1", "new in (1, 2)").replace("'ü'", "'ä'")
    assert (folder / "tree" / PATH).read_text("utf-8") == expected
    npu("lock", folder.name)
    renamed = CORE.replace("def size", "def width").replace("@size", "@width").replace("(3, 0)", "(3, 1)")
    later = upstream.commit({PATH: renamed.encode("latin-1")})
    npu("port", folder.name, "--to", later, "--accept", "renamed", "--drop", f"{TARGETS[1]}=Nobody needs it.")
    ported = (overlays / f"box@{later[:7]}" / "tree" / PATH).read_text("utf-8")
    kept = expected[: expected.index("\n\n@edited")].replace("edited, ", "")
    assert ported == kept.replace("size", "width").replace("_width", "_size")
