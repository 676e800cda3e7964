"""Over generated modules that are edited at random: what is derived of them gives them, through an overlay file."""

from __future__ import annotations

import dataclasses

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from npu_overlays.authoring.refresh.attempt import DerivedModule, EditedModule
from npu_overlays.authoring.refresh.equivalence import same_program
from npu_overlays.authoring.refresh.module_derivation import derive
from npu_overlays.authoring.writer.merge_module_text import blank, rewritten
from npu_overlays.merge.module_deletion import each_deletion
from npu_overlays.merge.module_merge import merge
from npu_overlays.model.module import Module
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.operations import EVERYTHING, Operation, Reason

from .generated import modules
from .often import examples
from .test_generated import PATH, _valid

thorough = settings(
    max_examples=examples(75), deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
FILE = "o/tree/pkg/a.py"
python = modules().filter(_valid)
_LINES = ["NEW = 1", "def new(a):\n    return a", "import json", "class New:\n    x = 1", "pass", "# c", "", "NEW()"]
_WORDS = [("x", "y"), ("1", "22"), ("pass", "go(1)"), ("'a'", "'b' + c"), ("x = ", "x = 0 or ")]


@st.composite
def edits(draw: st.DrawFn, content: bytes) -> bytes:
    """Draw what a person could make of a module: lines put in, taken out, moved, and words exchanged."""
    text = content.decode("utf-8-sig")
    for _ in range(draw(st.integers(1, 3))):
        lines = text.splitlines(keepends=True) or [""]
        at = draw(st.integers(0, len(lines) - 1))
        kind = draw(st.sampled_from(["put in", "take out", "exchange", "exchange", "exchange"]))
        if kind == "put in":
            margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())].strip("\r\n")
            new = draw(st.sampled_from(_LINES)).replace("\n", f"\n{margin}")
            lines.insert(at, f"{margin}{new}\n")
        elif kind == "take out":
            del lines[at : at + draw(st.integers(1, 2))]
        else:
            old, new = draw(st.sampled_from(_WORDS))
            lines[at] = lines[at].replace(old, new, 1)
        text = "".join(lines)
    bom = content[: len(content) - len(content.decode("utf-8-sig").encode())]
    return bom + text.encode()


def explained(derived: DerivedModule) -> DerivedModule:
    """Return changes of which the new have a reason."""
    changes = tuple(
        dataclasses.replace(one, wanted=dataclasses.replace(one.wanted, reason=Reason(why="w"))) if one.wanted else one
        for one in derived.changes
    )
    return dataclasses.replace(derived, changes=changes)


def written(
    content: bytes | None, derived: DerivedModule, order: list[str]
) -> tuple[bytes | None, tuple[Operation, ...]]:
    """Return the overlay file with changes written into it, and the operations that are read of it."""
    if not derived.changes:
        return content, operations(content)
    result = rewritten(FILE, content or blank(FILE), derived.changes, order)
    return result, operations(result)


def operations(content: bytes | None) -> tuple[Operation, ...]:
    return read_operations(FILE, content, layer="o", target=PATH) if content else ()


def given_by(upstream: bytes, listed: tuple[Operation, ...]) -> bytes:
    if not listed:
        return upstream
    module = Module(PATH, upstream)
    single: list[Operation] = []
    for each in listed:
        single += each_deletion(each, module) if each.symbol == EVERYTHING else [each]
    return merge(PATH, upstream, single, distribution="")[0]


@thorough
@given(python, st.data())
def test_what_is_derived_gives_what_was_edited_and_so_it_does_of_an_overlay(
    content: bytes, data: st.DataObject
) -> None:
    """Edited twice: first of upstream, then of what the overlay of the first time gives."""
    upstream, now, listed = content, content, operations(None)
    file: bytes | None = None
    for _ in range(2):
        wanted = data.draw(edits(now).filter(_valid))
        known = Module(PATH, upstream).definitions.keys()
        assume(not same_program(now, wanted, known))
        derived = explained(
            derive(EditedModule(path=PATH, upstream=upstream, operations=listed, now=now, wanted=wanted))
        )
        event("patch" if derived.before is not None else "operations alone")
        for change in derived.changes:
            event(f"{change.known and change.known.action} -> {change.wanted and change.wanted.action}")
        order = [name.partition(".")[0] for name in Module(PATH, wanted).definitions]
        file, listed = written(file, derived, order)
        upstream = derived.before if derived.before is not None else upstream
        now = given_by(upstream, listed)
        assert same_program(now, wanted, known)
        if any(one.symbol == EVERYTHING for one in listed):
            break  # what is emptied is not refreshed in part


def test_what_stands_inside_a_string_stays_where_it_is() -> None:
    upstream = b"class A: x = f'''\n{y}\n'''\n"
    wanted = b"class A: x = f'''\n{y}\n  z\n'''\n"
    derived = explained(derive(EditedModule(path=PATH, upstream=upstream, operations=(), now=upstream, wanted=wanted)))
    _, listed = written(None, derived, ["A"])
    assert [one.action for one in listed] == ["replaced"]
    assert given_by(upstream, listed) == wanted
