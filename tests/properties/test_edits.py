"""Edits of generated functions: a statement that is exchanged or goes is all that differs, or the edit is refused."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from npu_overlays.errors import MergeError
from npu_overlays.merge.module_merge import merge
from npu_overlays.overlay.merge_modules import read_operations

from .often import examples

PATH = "pkg/a.py"
_MARKERS = "from npu_overlays.markers import edited\n"
_REASONS = ("times in `f`", "would stand for a part of a line")
_BLOCKS = ("body", "orelse", "finalbody")
_SIMPLE = ["{}", "{}  # c", "{}; y(x)", "x = (\n  {},\n    y)", "'''\n s\n'''.{}", "# c\n{}"]
_HEADS = ["if {}:", "for i in {}:", "while {}:", "with {}:", "try:"]
_TAILS = {"if": ["", "elif {}:", "else:"], "try:": ["finally:", "except E:"], "with": [""]}
thorough = settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def bodies(draw: st.DrawFn, depth: int = 3) -> str:
    """Draw the statements of a block, at no indentation: branches, one-liners, semicolons, brackets, comments."""
    return "".join(draw(_statement(depth)) for _ in range(draw(st.integers(1, 3))))


@st.composite
def _statement(draw: st.DrawFn, depth: int) -> str:
    call = f"{draw(st.sampled_from('abcdefgh'))}({draw(st.integers(0, 9))})"
    head = draw(st.sampled_from([*_SIMPLE, *_HEADS] if depth else _SIMPLE)).format(call)
    if not head.endswith(":"):
        return f"{head}\n"
    if head != "try:" and draw(st.booleans()):
        return f"{head} z(z); y = {call}\n"
    unit = draw(st.sampled_from(["    ", "  ", "\t"]))
    tail = draw(st.sampled_from(_TAILS.get(head.partition(" ")[0], ["", "else:"]))).format(call)
    return f"{head}\n{_block(draw, unit, depth)}" + (f"{tail}\n{_block(draw, unit, depth)}" if tail else "")


def _block(draw: st.DrawFn, unit: str, depth: int) -> str:
    lines = []
    in_string = False
    for line in draw(bodies(depth - 1)).splitlines(keepends=True):
        lines.append(line if in_string else unit + line)
        in_string ^= "'''" in line
    return "".join(lines)


def _statements(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    for node in ast.walk(tree):
        for name in _BLOCKS:
            block = getattr(node, name, None)
            yield from ((block, number) for number in range(len(block))) if isinstance(block, list) else ()


@thorough
@given(bodies(), st.data(), st.sampled_from(["", "new(1)", "new(1)\nif new:\n    newer(2)"]))
def test_a_statement_is_exchanged_and_nothing_else(body: str, data: st.DataObject, replacement: str) -> None:
    upstream = "def f():\n" + "".join(f"    {line}" for line in body.splitlines(keepends=True))
    tree = ast.parse(upstream)
    block, number = data.draw(st.sampled_from([*_statements(tree.body[0])]))
    find = ast.get_source_segment(upstream, block[number], padded=True) or ""
    find = textwrap.dedent(find) if "'''" not in find else find
    # A branch that goes is no empty branch.
    assume(not find.strip().startswith("elif"))
    overlay = f"{_MARKERS}@edited(({find!r}, {replacement!r}), why='w')\ndef f(): ...\n"
    operations = read_operations("o.py", overlay.encode(), layer="o", target=PATH)
    block[number : number + 1] = ast.parse(replacement).body or ([] if len(block) > 1 else [ast.Pass()])
    refused = ""
    try:
        content, _ = merge(PATH, upstream.encode(), operations, distribution="pkg-npu")
    except MergeError as error:
        refused = str(error)
    event("refused" if refused else "made")
    assert not refused or any(reason in refused for reason in _REASONS)
    assert refused or ast.unparse(ast.parse(content)) == ast.unparse(ast.fix_missing_locations(tree))
