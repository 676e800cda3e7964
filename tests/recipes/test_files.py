"""Files: what is written appears whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from npu_recipes.errors import RecipeError
from npu_recipes.files import make_folder, replacing, write_whole


def test_a_file_takes_the_place_of_another_with_the_rights_of_a_new_one(tmp_path: Path) -> None:
    file, usual = tmp_path / "page.html", tmp_path / "usual"
    usual.touch()
    for content in (b"one", b"two"):
        write_whole(file, content, option="--html")
    assert file.read_bytes() == b"two"
    assert file.stat().st_mode == usual.stat().st_mode
    assert sorted(one.name for one in tmp_path.iterdir()) == ["page.html", "usual"]


def test_what_fails_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_bytes(b"before")

    def fail() -> None:
        with replacing(file, option="--html") as stream:
            stream.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert (file.read_bytes(), [one.name for one in tmp_path.iterdir()]) == (b"before", ["page.html"])


def test_a_folder_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"page\.html: cannot be written: .*\n    fix: .*--html"):
        write_whole(tmp_path / "no" / "page.html", b"", option="--html")


def test_a_folder_that_cannot_be_made_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecipeError, match=r"data: cannot be written: Not a directory\n    fix: .*--output"):
        make_folder(tmp_path / "file" / "data", option="--output")


def test_a_link_stays_one_and_what_is_no_file_stays_what_it_is(tmp_path: Path) -> None:
    file, link, folder, pipe = (tmp_path / name for name in ("page.html", "link", "folder", "pipe"))
    file.touch()
    link.symlink_to(file.name)
    folder.mkdir()
    os.mkfifo(pipe)
    write_whole(link, b"one", option="--html")
    assert (link.is_symlink(), file.read_bytes()) == (True, b"one")
    for other in (folder, pipe):
        with pytest.raises(RecipeError, match=rf"{other.name}: is no file\n    fix: name one \(--html\)"):
            write_whole(other, b"", option="--html")
    assert (folder.is_dir(), pipe.is_fifo()) == (True, True)


def test_of_processes_that_end_together_none_takes_the_place_of_another(tmp_path: Path) -> None:
    program = """
import os, sys, time
from pathlib import Path
from npu_recipes.dumps.request import spared
from npu_recipes.files import replacing
def last(file):
    chosen = spared(file, 0)
    time.sleep(0.05)
    return chosen
for _ in range(3):
    os.fork()
with replacing(Path("a.npz"), option="--out", last=last) as stream:
    stream.write(b"own")
"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    until = time.monotonic() + 60
    while len(list(tmp_path.glob("a*.npz"))) < 8 and time.monotonic() < until:
        time.sleep(0.05)
    names = sorted(one.name for one in tmp_path.iterdir())
    assert (len(names), names[-1]) == (8, "a.npz")
