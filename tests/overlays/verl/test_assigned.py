"""The wheel of verl lists what it patches in other packages at run time; the list matches the wheel's code.

Only assignments that the text shows are seen: to what an import names, one attribute after the other. The audit of a
running verl, in `cases/test_nothing_patched.py`, sees what became of the packages.
"""

from __future__ import annotations

import ast
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

import pytest

from environments import Installations, Unavailable
from npu_overlays.model.syntax import syntax_tree
from npu_summary.changes import Changes
from verl_stacks import STACKS, Stack

pytestmark = [pytest.mark.slow, pytest.mark.index]

OWN = ("verl", "recipe", "verl_npu_summary")
# Assignments that are not listed: file, target and reason.
NOT_LISTED = {
    ("*", "sys.*"): "what is imported, and where is printed to, is meant to be set",
    ("*", "signal.signal"): "signals are meant to be set; it is put back",
    ("*", "torch.backends.*"): "settings",
    (
        "verl/models/transformers/npu_patch.py",
        "transformers.*",
    ): "not called beside transformers-npu: the audit shows it",
    ("verl/utils/kernel/kernels.py", "triton.jit"): "of a stand-in, where there is no Triton",
    ("verl/utils/kernel/kernels.py", "triton.autotune"): "of a stand-in, where there is no Triton",
    (
        "verl/models/transformers/qwen3_vl.py",
        "*.Qwen3VLMoeTextSparseMoeBlock.forward",
    ): "up to transformers 4.57.3 only",
    (
        "verl/utils/vllm/npu_vllm_patch.py",
        "*.fused_moe.weight_loader",
    ): "of FusedMoE, which is listed; a parameter of that name",
    ("verl/__init__.py", "tensordict.base.TensorDictBase._sync_all"): "below tensordict 0.10 only, see the test for it",
}
# What is listed and is not in the wheels of upstream's releases, with the reason.
NOT_RELEASED = {"libero.*": "verl/experimental/vla is in the repository alone"}


@dataclass(frozen=True, kw_only=True)
class Wheel:
    """A wheel of verl: its summary, and the text of its modules by their paths."""

    summary: Changes
    modules: dict[str, bytes]

    @property
    def listed(self) -> set[str]:
        """Each symbol that is listed, ``module:symbol``."""
        return {name for entry in self.summary.get("assigned", []) for name in entry["what"]}

    @cached_property
    def assigned(self) -> set[tuple[str, str]]:
        """File and symbol, dotted, of all that is assigned in other packages."""
        return {(path, name) for path, text in self.modules.items() for name in _assigned(syntax_tree(text))}


def _read(path: Path) -> Wheel:
    with zipfile.ZipFile(path) as wheel:
        texts = {name: wheel.read(name) for name in wheel.namelist() if name.endswith(".py")}
        summary = json.loads(wheel.read("verl_npu_summary/changes.json"))
    return Wheel(summary=summary, modules={name: text for name, text in texts.items() if "_summary/" not in name})


def _assigned(tree: ast.Module) -> Iterator[str]:
    nodes = list(ast.walk(tree))
    imported = dict(meaning for node in nodes for meaning in _imports(node))
    for node in nodes:
        for target in _targets(node):
            name, *attributes = _chain(target)
            if name in imported and imported[name].partition(".")[0] not in (*OWN, ""):
                yield ".".join([imported[name], *attributes])


def _imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        yield from ((one.asname or one.name.partition(".")[0],) * 2 for one in node.names if not one.asname)
        yield from ((one.asname, one.name) for one in node.names if one.asname)
    elif isinstance(node, ast.ImportFrom):
        module = "" if node.level else node.module
        yield from ((one.asname or one.name, f"{module}.{one.name}") for one in node.names)


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    """Yield attributes that are assigned to, and what items are assigned to of."""
    for target in node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]:
        for one in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(one, ast.Subscript):
                yield one.value
            elif isinstance(one, ast.Attribute):
                yield one


def _chain(node: ast.expr) -> list[str]:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id if isinstance(node, ast.Name) else "", *reversed(parts)]


@pytest.fixture(scope="module", params=[pytest.param(one, id=one.verl, marks=one.marks) for one in STACKS])
def wheel(request: pytest.FixtureRequest, shared: Path) -> Wheel:
    stack: Stack = request.param
    try:
        wheels = Installations(shared / "npu").wheels(stack.verl)
    except Unavailable as reason:
        pytest.skip(str(reason))
    return next(_read(path) for path in wheels if path.name.startswith("verl_npu-"))


def test_the_list_matches_the_code(wheel: Wheel, subtests: pytest.Subtests) -> None:
    """One test, since each worker that takes one of several reads the whole wheel."""
    with subtests.test("every assignment is listed"):
        _every_assignment_is_listed(wheel)
    with subtests.test("every listed assignment is in the code"):
        _every_listed_assignment_is_in_the_code(wheel)
    with subtests.test("tensordict is patched only where listed"):
        _tensordict_is_patched_only_where_listed(wheel)


def _every_assignment_is_listed(wheel: Wheel) -> None:
    # Where others assign anything in whole packages, verl's own assignments are listed one by one all the same.
    listed = [name for name in wheel.listed if not name.endswith("*:*")]
    patterns = [*(("*", name.replace(":", ".")) for name in listed), *NOT_LISTED]
    missing = {
        (path, name)
        for path, name in wheel.assigned
        if not any(fnmatchcase(path, file) and fnmatchcase(name, pattern) for file, pattern in patterns)
    }
    assert missing == set()
    assert len(wheel.assigned) > 30


def _every_listed_assignment_is_in_the_code(wheel: Wheel) -> None:
    words = set(re.findall(r"\w+", b" ".join(wheel.modules.values()).decode()))
    names = {name for _, name in wheel.assigned}
    idle = {
        name
        for name in (listed.replace(":", ".") for listed in wheel.listed)
        if not any(fnmatchcase(one, name) for one in names)
        and not {part for part in name.split(".")[-2:] if "*" not in part} <= words
    }
    if wheel.summary["upstream"]["source"]["kind"] == "archive":
        idle = {name for name in idle if not any(fnmatchcase(name, pattern) for pattern in NOT_RELEASED)}
    assert idle == set()


def _tensordict_is_patched_only_where_listed(wheel: Wheel) -> None:
    assigned = any(name.startswith("tensordict.") for _, name in wheel.assigned)
    listed = any(name.startswith("tensordict.") for name in wheel.listed)
    version = wheel.summary["upstream"]["version"]
    assert listed == (assigned and version.startswith("0.6."))
