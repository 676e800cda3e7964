"""Entries of a lock that differ in nothing but whose they are stand there once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from npu_overlays.contracts.lockfile import each, grouped


def contract(path: str, owner: str, **other: str) -> dict[str, Any]:
    symbol = f"{owner}.forward" if owner else "forward"
    declared = {"owner": f"@hub({owner!r}) {owner}(Module)"} if owner else {}
    return {"path": path, "symbol": symbol, "operation": "wrapped", **declared, "body": "68ae", **other}


def test_three_that_are_alike_become_one_where_the_first_stands() -> None:
    alone = contract("a.py", "A", body="0")
    entries = [contract("a.py", "ANorm"), alone, contract("b.py", "BNorm"), contract("c.py", "CNorm")]
    for entry in entries:
        entry["owner"] = entry["owner"].rpartition(" ")[2]
    assert grouped(entries) == [
        {
            "each": ["a.py:ANorm", "b.py:BNorm", "c.py:CNorm"],
            "symbol": "*.forward",
            "operation": "wrapped",
            "owner": "*(Module)",
            "body": "68ae",
        },
        alone,
    ]


def test_two_that_are_alike_and_others_that_say_their_own_name_stay_as_they_are() -> None:
    two = [contract("a.py", "", body="1"), contract("b.py", "", body="1")]
    named = [contract(f"{name}.py", name) for name in "ABC"]
    assert grouped([*two, *named]) == [*two, *named]


def test_functions_are_told_by_their_files_and_reads_by_who_reads() -> None:
    entries = [
        {"path": path, "symbol": "rotate", "by": [f"wrapped {path}:rotate upstream", "file other.py rotate"]}
        for path in ("a.py", "b.py", "c.py")
    ]
    assert grouped(entries) == [
        {
            "each": ["a.py", "b.py", "c.py"],
            "symbol": "*rotate",
            "by": ["wrapped *:rotate upstream", "file other.py rotate"],
        }
    ]


WORDS = st.sampled_from(
    ["P:O.f self.x", "O(Module)", "O(O(", "*(Module)", "*", "wrapped P:O.f * x", "P:", "P", "other"]
)
TEXTS = st.fixed_dictionaries(
    {"symbol": st.sampled_from(["O.f", "f", "O.O.f", "O.*", "*"])},
    optional={"owner": WORDS, "by": st.lists(WORDS, max_size=2), "body": WORDS},
)


@given(st.lists(TEXTS, max_size=3))
def test_a_lock_says_the_same_in_groups(texts: list[dict[str, Any]]) -> None:
    entries = []
    for one in texts:
        entries += [of("a.py", "A", one), of("b.py", "B", one), of("c.py", "C", one)]
    assert in_words(each(grouped(entries))) == in_words(entries)


def of(path: str, owner: str, texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry in whose texts P stands for its path and O for its class."""
    entry: dict[str, Any] = {"path": path}
    for key, value in texts.items():
        listed = [value] if isinstance(value, str) else value
        named = [one.replace("P", path).replace("O", owner) for one in listed]
        entry[key] = named[0] if isinstance(value, str) else named
    return entry


def in_words(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted(repr(sorted(one.items())) for one in entries)
