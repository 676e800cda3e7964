"""Files and folders that the tool writes: files that replace only files, scratch folders that do not stay."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from npu_overlays.errors import OutputError
from npu_overlays.files import PREFIX, scratch, sweep, temporaries, write_atomically

_HOLD = """
import sys; from pathlib import Path; from npu_overlays.files import scratch
with scratch(Path(sys.argv[1])) as folder:
    (folder / "file").touch(); print(folder, flush=True); sys.stdin.read()
"""


def test_a_folder_is_gone_afterwards(tmp_path: Path) -> None:
    with scratch(tmp_path) as folder:
        (folder / "file").touch()
        assert folder.parent == tmp_path
    assert list(tmp_path.iterdir()) == []


_FILES = """
import os, sys; from npu_overlays.files import temporaries
opened = []
sys.addaudithook(lambda event, said: opened.append(said) if event == "open" and said[2] & os.O_CREAT else None)
with temporaries() as folder:
    print(folder.parent, opened)
"""


def test_no_file_is_tried_that_a_killed_process_would_leave(tmp_path: Path) -> None:
    for there in ({"TMPDIR": str(tmp_path)}, {"TMPDIR": str(tmp_path / "absent"), "TEMP": str(tmp_path)}):
        command = [sys.executable, "-c", _FILES]
        done = subprocess.run(command, env=os.environ | there, capture_output=True, text=True, check=True)
        assert done.stdout == f"{tmp_path} []\n"


def test_what_the_living_hold_is_kept_and_what_the_dead_left_is_swept(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    sweep(tmp_path)
    assert (folder / "file").exists()
    process.kill()
    process.communicate()
    assert (folder / "file").exists()
    sweep(tmp_path)
    assert not folder.exists()


def test_only_folders_of_ours_are_swept(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / f"{PREFIX}file").touch()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "mine")
    sweep(tmp_path)
    sweep(tmp_path / "absent")
    assert len(list(tmp_path.iterdir())) == 3


def test_temporary_files_are_made_in_one_place_and_then_elsewhere_again(tmp_path: Path) -> None:
    before = tempfile.gettempdir(), os.environ.get("TMPDIR")
    with temporaries(tmp_path) as folder:
        with tempfile.NamedTemporaryFile() as file:
            assert Path(file.name).parent == folder
        assert os.environ["TMPDIR"] == str(folder)
    assert (tempfile.gettempdir(), os.environ.get("TMPDIR")) == before
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_one_and_what_is_no_file_stays_what_it_is(tmp_path: Path) -> None:
    file, link, folder, pipe = (tmp_path / name for name in ("page.html", "link", "folder", "pipe"))
    link.symlink_to(file.name)
    folder.mkdir()
    os.mkfifo(pipe)
    write_atomically(link, b"one")
    write_atomically(link, b"two")
    assert (link.is_symlink(), file.read_bytes()) == (True, b"two")
    for other in (folder, pipe):
        with pytest.raises(OutputError, match=f"{other.name}: .*it is no file"):
            write_atomically(other, b"")
    assert (folder.is_dir(), pipe.is_fifo()) == (True, True)
    assert len(list(tmp_path.iterdir())) == 4
