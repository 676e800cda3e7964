"""Contracts: what an operation depends on is compared with what upstream has."""

from __future__ import annotations

import pytest

from npu_overlays.errors import MergeError
from npu_overlays.lock.contracts import Contract, check_contracts, contract
from npu_overlays.syntax.symbols import Module

from .pairs import PATH, operations, worded

OVERLAY = """
    @replaced(why="w")
    def f(): pass
    @wrapped(why="w")
    def g(x): return upstream(x)
    @edited(("1", "2"), why="w")
    def h(): ...
    deleted("i", why="w")
    @added(why="w")
    def j(): pass
"""
BEFORE = "def f(): return 1\ndef g(x): return 1\ndef h(): return 1\ndef i(): return 1\n"


def _contracts(source: str) -> list[Contract]:
    module = Module(PATH, source.encode())
    return [contract(module, operation) for operation in operations(OVERLAY)]


def _compare(locked: list[Contract], now: list[Contract]) -> list[str]:
    try:
        return check_contracts(locked, now, operations(OVERLAY), overlay="o")
    except MergeError as error:
        return [worded(problem) for problem in error.problems]


def test_an_operation_depends_on_no_more_than_it_must() -> None:
    kept = {entry.symbol: (bool(entry.fingerprint), bool(entry.signature)) for entry in _contracts(BEFORE)}
    assert kept == {
        "f": (True, False),
        "g": (True, True),
        "h": (False, False),
        "i": (True, False),
        "j": (False, False),
    }


def test_an_unchanged_upstream_keeps_every_contract() -> None:
    assert _compare(_contracts(BEFORE), _contracts(BEFORE)) == []
    reworded = BEFORE.replace("return 1", "'''Doc.'''; return  1  # same")
    assert _compare(_contracts(BEFORE), _contracts(reworded)) == []


def test_changed_definitions_break_replacements_and_deletions_and_are_told_of_wrappers() -> None:
    notice = "o.py:5: the body of the wrapped `g` changed upstream"
    only_body = BEFORE.replace("def g(x): return 1", "def g(x: int) -> int: return 2")
    assert _compare(_contracts(BEFORE), _contracts(only_body)) == [notice]
    fix = "adapt the operation, then run `npu-overlays lock o`"
    changed = BEFORE.replace("return 1", "return 2").replace("g(x)", "g(x, y=1)")
    assert _compare(_contracts(BEFORE), _contracts(changed)) == [
        f"3: upstream's definition of `f` in pkg/module.py is not the one this was written for; {fix}",
        f"5: upstream's signature of `g` in pkg/module.py is not the one this was written for; {fix}",
        f"8: upstream's definition of `i` in pkg/module.py is not the one this was written for; {fix}",
    ]


def test_missing_and_superfluous_contracts_are_all_reported() -> None:
    locked = _contracts(BEFORE)
    other = Contract(path="a.py", symbol="b", operation="replaced")
    assert _compare([other, *locked[1:]], locked) == [
        "3: the replaced `f` of pkg/module.py is not in overlay.lock; review it, then run `npu-overlays lock o`",
        "o/overlay.lock: holds a contract for `b` of a.py, on which there is no operation; run `npu-overlays lock o`",
    ]


def test_another_operation_on_the_same_symbol_is_a_missing_contract() -> None:
    locked = _contracts(BEFORE)
    changed = [Contract(path=PATH, symbol="f", operation="wrapped"), *locked[1:]]
    assert _compare(changed, locked) == [
        "3: the replaced `f` of pkg/module.py is not in overlay.lock; review it, then run `npu-overlays lock o`",
    ]


def test_a_contract_on_what_is_not_there_is_refused() -> None:
    with pytest.raises(MergeError, match="has no `f`"):
        contract(Module(PATH, b"def h(): return 1\n"), operations(OVERLAY)[0])
