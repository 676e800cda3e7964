"""Files: what is written appears whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_recipes.errors import RecipeError
from npu_recipes.files import replacing, write_whole


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
