"""Installed distributions, as their metadata folders describe them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npu_summary.verify.distributions import scan


@pytest.mark.parametrize(
    ("record", "folder"),
    [
        ({"url": "file:///src/my%20clone", "dir_info": {"editable": True}}, "/src/my clone"),
        ({"url": "file:///src/clone", "dir_info": {}}, ""),
        ({"url": "file://[/src", "dir_info": {"editable": True}}, ""),
        ({"url": 1, "dir_info": {"editable": True}}, ""),
        ({"dir_info": []}, ""),
        ([], ""),
    ],
)
def test_an_editable_install_names_the_folder_of_its_source(tmp_path: Path, record: object, folder: str) -> None:
    info = tmp_path / "demo-1.0.dist-info"
    info.mkdir()
    (info / "direct_url.json").write_text(json.dumps(record), "utf-8")
    assert [one.editable for one in scan([str(tmp_path)])] == [folder]


def test_a_path_that_no_file_system_can_hold_has_no_distributions(tmp_path: Path) -> None:
    (tmp_path / "demo-1.0.dist-info").mkdir()
    assert [one.name for one in scan(["a\0b", str(tmp_path)])] == ["demo"]
