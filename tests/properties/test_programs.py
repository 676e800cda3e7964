"""Overlays of generated programs, executed beside upstream: untouched code behaves as before, operated as written."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator
from itertools import chain

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from npu_overlays.errors import MergeError
from npu_overlays.merge.module_merge import merge
from npu_overlays.model.scope_reader import read_scopes
from npu_overlays.overlay.merge_modules import read_operations

from .often import examples
from .programs import OverlayProgram, outcome, overlays, programs
from .test_generated import python

PATH = "pkg/a.py"


@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
@given(programs(), overlays())
def test_untouched_code_behaves_as_before_and_operated_code_as_written(program: str, overlay: OverlayProgram) -> None:
    operations = read_operations("o.py", overlay.text.encode(), layer="o", target=PATH)
    try:
        content, _ = merge(PATH, program.encode(), operations, distribution="pkg-npu", purpose="NPU")
    except MergeError:
        event("refused")
        return
    event("merged")
    before, after = outcome(program.encode()), outcome(content)
    for symbol, seen in before.items():
        if symbol.partition(" ")[0] not in overlay.touched:
            assert after[symbol] == seen, symbol
    for symbol in overlay.touched - {name for name, meant in overlay.meant.items() if meant.startswith("added")}:
        assert set(overlay.meant.values()) <= set(_texts(after[symbol])), symbol
    for name, meant in overlay.meant.items():
        if meant.startswith("added"):
            assert after[name] == (meant, [])


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, str):
        yield from (
            part for part in value.replace("'", " ").replace("[", " ").replace("]", " ").replace(",", " ").split()
        )


@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
@given(st.one_of(programs(), python.map(lambda content: content.decode("utf-8-sig"))))
def test_scopes_are_the_compilers(program: str) -> None:
    scopes = read_scopes(ast.parse(program))
    bound, read = set(), set()
    tables = [(symtable.symtable(program, PATH, "exec"), True)]
    while tables:
        table, is_module = tables.pop()
        tables += [(inner, False) for inner in table.get_children()]
        for symbol in table.get_symbols():
            if is_module or symbol.is_declared_global():
                bound |= {symbol.get_name()} if symbol.is_assigned() or symbol.is_imported() else set()
            if symbol.is_referenced() and (is_module or symbol.is_global()):
                read.add(symbol.get_name())
    assert {name for name in scopes.module.bindings if "." not in name} == bound
    loads = chain.from_iterable(scope.loads for scope in scopes.all if scope.kind == "class")
    in_classes = {load.name for load in loads}
    assert read - {"__class__"} <= set(scopes.global_loads)
    assert set(scopes.global_loads) - read <= in_classes | {"__class__"}
