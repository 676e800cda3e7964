"""What a person is shown of a file, and how many changes that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from npu_summary import outline

from .samples import Json, change, file, klass

if TYPE_CHECKING:
    from npu_summary.changes import FileChange

NEW = {"operation": "file", "why": "fused operators"}


def outlined(entry: Json) -> FileChange:
    return outline.outline(cast("FileChange", entry))


def count(entry: Json) -> int:
    return outline.count(cast("FileChange", entry))


def shown(entry: Json) -> list[str]:
    return [f"{one['action']} {one['kind']} {one['name']}" for one in outlined(entry)["module_changes"]]


@pytest.mark.parametrize("action", ["added", "deleted"])
def test_of_a_file_that_came_or_went_imports_attributes_and_members_are_left_to_the_diff(action: str) -> None:
    kinds = ("import", "attribute", "method", "class", "statement")
    module = [change(action, kind, f"a_{kind}", **NEW) for kind in kinds]
    entry = file("verl/x.py", [klass("A", module, action)], module, action)
    assert shown(entry) == [f"{action} file x.py", f"{action} method a_method", f"{action} class a_class"]
    assert outlined(entry)["class_changes"][0]["changes"] == []
    assert count(entry) == 4


def test_a_file_of_which_parts_differ_is_shown_as_it_is() -> None:
    new = klass("A", [change("added", "attribute", "x")], "added")
    entry = file("verl/x.py", [new], [change("added", "import", "y")])
    assert count(entry) == 3
    assert outlined(entry) == entry


def test_a_data_file_and_an_empty_module_are_one_line() -> None:
    whole = change("added", "file", "x.json", operation="file")
    assert shown(file("x.json", [], [whole], "added")) == ["added file x.json"]
    assert count(file("x.json", [], [], "added")) == 1


def test_a_whole_file_has_the_reason_it_came_for_and_its_parts_keep_theirs() -> None:
    module = [change("added", "method", "f", operation="added", why="f's"), change("added", "method", "g", **NEW)]
    whole, first, second = outlined(file("verl/x.py", [], module, "added"))["module_changes"]
    assert [one.get("why") for one in (whole, first, second)] == ["fused operators", "f's", "fused operators"]
