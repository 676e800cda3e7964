"""What is written takes the place of a file, and of nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from npu_overlays.errors import OutputError
from npu_overlays.files import write_atomically


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
