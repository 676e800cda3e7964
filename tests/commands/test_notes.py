"""Notes on the source: whether it is bad, and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from npu_overlays.commands.notes import count_of, folded, source_notes
from npu_summary.plurals import plural

LACKS = (
    "lib@0123456: it lacks 3 files of the commit, in a, b, so 1 operation on them is left out; the rest is whole. "
    "To have those too, where the repository can be reached: npu-overlays build --source git lib@0123456"
)


COMMIT = "0123456" + "0" * 33


def record(
    kind: str = "archive", *, commit: str = COMMIT, compared: bool = True, missing: tuple[str, ...] = (), left: int = 0
) -> Any:
    return {
        "overlay": {"name": "lib@0123456"},
        "upstream": {
            "commit": commit,
            "source": {"kind": kind, "archive": "lib.whl"},
            "compared": compared,
            "missing": list(missing),
        },
        "not_applied": [{}] * left,
        "files": [],
    }


@pytest.mark.parametrize(
    ("given", "notes"),
    [
        (record("git"), []),
        (record(commit=""), []),
        (
            record(),
            [
                "lib@0123456: built from the release archive lib.whl, not from git",
                "lib@0123456: it holds every file of the commit, so nothing is lost",
            ],
        ),
        (
            record(missing=("a/x", "b/y", "a/z"), left=1),
            [
                "lib@0123456: built from the release archive lib.whl, not from git",
                LACKS,
            ],
        ),
    ],
)
def test_notes_say_what_a_source_means(given: Any, notes: list[str]) -> None:
    assert list(source_notes(given, "lib@0123456", verb="built")) == notes


def test_notes_of_an_archive_nobody_compared_say_what_would() -> None:
    first, second = source_notes(record(compared=False), "elsewhere/lib", verb="would be built")
    assert first == "lib@0123456: would be built from the release archive lib.whl, not from git"
    assert second.startswith("lib@0123456: the archive has the pinned sha256, and was not compared with the commit; ")
    assert "npu-overlays lock --source git elsewhere/lib`" in second


def test_a_record_without_files_counts_none() -> None:
    assert count_of(record()) == "0 changes in 0 files"


def test_one_is_not_many() -> None:
    assert [plural(number, "operation") for number in (0, 1, 2)] == ["0 operations", "1 operation", "2 operations"]
    assert [plural(number, "entry", "entries") for number in (1, 2)] == ["1 entry", "2 entries"]


def look(name: str, cause: str = "changed its body") -> str:
    return f"lib@2: look at the edited `{name}`: since lib@1 upstream {cause}"


@pytest.mark.parametrize(
    ("notices", "shown"),
    [
        ([look("a.py:f"), "other", look("b.py:f")], [look("a.py:f` and `b.py:f"), "other"]),
        ([look(f"{name}.py:f") for name in "abc"], [look("a.py:f`, `b.py:f` and `c.py:f")]),
        (
            [look(f"{name}.py:f") for name in "abcd"],
            ["lib@2: look at the edited `a.py:f`, `b.py:f` and 2 more: since lib@1 upstream changed its body"],
        ),
        (
            [look("a.py:f"), look("a.py:f", "changed its decorators")],
            [look("a.py:f"), look("a.py:f", "changed its decorators")],
        ),
        (
            [look("a.py:A.f", "renamed `A`"), look("b.py:B.f", "renamed `B`")],
            [look("a.py:A.f` and `b.py:B.f", "renamed `A`")],
        ),
        (["no name", "no name", "another"], ["no name", "another"]),
    ],
)
def test_notices_that_differ_in_a_name_alone_become_one(notices: list[str], shown: list[str]) -> None:
    assert list(folded(notices)) == shown
