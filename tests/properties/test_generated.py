"""Over generated modules, through the overlay language itself."""

from __future__ import annotations

import ast
import warnings

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from npu_overlays.changes.module_comparison import compare_modules
from npu_overlays.changes.tree_comparison import compare_file
from npu_overlays.errors import MergeError
from npu_overlays.merge.module_merge import merge
from npu_overlays.model.code_blocks import reindent
from npu_overlays.model.definitions import Definition
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import selector
from npu_overlays.overlay.merge_modules import read_operations

from . import checks
from .generated import modules
from .often import examples

pytestmark = pytest.mark.slow

PATH = "pkg/a.py"
_MARKERS = "from npu_overlays.markers import added, deleted, replaced\n"
thorough = settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)


def _valid(content: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(content, PATH, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True


python = modules().filter(_valid)


@thorough
@given(python)
def test_merging_nothing_changes_nothing(content: bytes) -> None:
    checks.unchanged(PATH, content)
    assert compare_file(PATH, content, content) is None
    assert compare_modules(Module(PATH, content), Module(PATH, content)) == ((), ())


@thorough
@given(python)
def test_replacing_functions_by_themselves_keeps_the_syntax(content: bytes) -> None:
    checks.replaced_by_itself(PATH, content)


@thorough
@given(python)
def test_wrapping_functions_can_be_undone_byte_for_byte(content: bytes) -> None:
    checks.wrapped(PATH, content)


@thorough
@given(python)
def test_an_overlay_file_of_upstreams_own_functions_keeps_the_syntax(content: bytes) -> None:
    before = Module(PATH, content)
    found = checks.functions(before)
    assume(found)
    overlay = _MARKERS + "".join(_in_containers(before, *one) for one in found)
    operations = read_operations("o.py", overlay.encode(), layer="o", target=PATH)
    assert [operation.name for operation in operations] == [definition.name for _, definition in found]
    after = Module(PATH, merge(PATH, content, operations, distribution="pkg-npu", purpose="NPU")[0])
    assert checks.same(after.tree, before.tree)


def _in_containers(module: Module, symbol: str, definition: Definition) -> str:
    """Return the overlay text that replaces a function by itself, in empty classes for those around it."""
    node = definition.node
    own = module.indentation(node)
    text = module.lines(definition.first_line, node.end_lineno or node.lineno)
    parents = definition.parent.split(".") if definition.parent else []
    # One space a level is enough for the classes; the function keeps upstream's indentation behind them.
    heads = "".join(f"{' ' * depth}class {name}:\n" for depth, name in enumerate(parents))
    where = "".join(f", where={one!r}" for one in selector(symbol))
    body = reindent(f"{own}@replaced(why='w'{where})\n{text}", old=own, new=" " * len(parents))
    return heads + (body if body.endswith("\n") else body + "\n")


@thorough
@given(python, st.data())
def test_additions_and_deletions_are_all_that_changes(content: bytes, data: st.DataObject) -> None:
    before = Module(PATH, content)
    once = [known[0] for known in before.definitions.values() if checks.is_there(before, known[0])]
    assume(once)
    gone = data.draw(st.sampled_from(once))
    container = gone.name if gone.kind == "class" else ""
    overlay = f"{_MARKERS}@added(why='w')\ndef brand_new(): pass\n"
    if container and data.draw(st.booleans()):
        heads = [f"{' ' * depth}class {name}:\n" for depth, name in enumerate(container.split("."))]
        overlay += "".join(heads) + f"{' ' * len(heads)}brand_new = added([\n1], why='w')\n"
        expected = {"brand_new", f"{container}.brand_new"}
    else:
        overlay += f"deleted({gone.name!r}, why='w')\n"
        expected = {"brand_new", gone.name}
    operations = read_operations("o.py", overlay.encode(), layer="o", target=PATH)
    try:
        result, _ = merge(PATH, content, operations, distribution="pkg-npu", purpose="NPU")
    except MergeError as error:
        refusals = [problem.what for problem in error.problems]
        event("refused")
    else:
        refusals = []
    for refusal in refusals:
        assert "shares its line" in refusal or "binds other names" in refusal
    assume(not refusals)
    after = Module(PATH, result)
    differing = {
        name for name in {*before.definitions, *after.definitions} if _texts(before, name) != _texts(after, name)
    }
    inside = tuple(f"{one}." for one in expected)
    for name in differing:
        is_around = any(one.startswith(f"{name}.") for one in inside)
        assert f"{name}.".startswith(inside) or is_around, name
    assert expected <= differing


def _texts(module: Module, name: str) -> list[str]:
    return [ast.dump(definition.node) for definition in module.definitions.get(name, [])]
