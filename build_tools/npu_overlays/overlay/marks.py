"""Marks: calls of the overlay vocabulary in, what they ask for out; by syntax, nothing is executed."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from npu_overlays.errors import Problem
from npu_overlays.overlay.bounds import SINCE_UNTIL, Bounds
from npu_overlays.overlay.operations import ACTIONS, Action, Edit, ImportedName, Operation, Reason, unwritable
from npu_overlays.syntax.definitions import bound_name
from npu_overlays.syntax.symbols import Module
from npu_overlays.syntax.tokens import significant

MARKERS_MODULE = "npu_overlays.markers"
_TOOL = "npu_overlays"
_HALF = re.compile("[\ud800-\udfff]")
_REASON = ("why", "forwarded", "drop_when")
_TEXTS = (*_REASON, *SINCE_UNTIL)
MARKERS = (*ACTIONS, "upstream")


@dataclass(kw_only=True)
class Reader:
    """What is read of one overlay file so far: markers by local name, imports, operations and mistakes.

    Args:
        file: name of the file, for messages.
        overlay: name of the overlay it belongs to.
        module: the parsed file.
        target: repository path its operations apply to; empty for a file of ``shared/``.
    """

    file: str
    overlay: str
    module: Module
    target: str
    markers: dict[str, str] = field(default_factory=dict)
    imports: list[ImportedName] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def problem(self, node: ast.AST, what: str, fix: str = "") -> None:
        """Note a mistake."""
        self.problems.append(Problem(where=self.where(node), what=what, fix=fix))

    def where(self, node: ast.AST) -> str:
        """Return file and line of a node."""
        return f"{self.file}:{getattr(node, 'lineno', 1)}"

    @property
    def upstream_name(self) -> str:
        """The name by which wrappers call the original."""
        return next((name for name, marker in self.markers.items() if marker == "upstream"), "upstream")

    def marked(self, node: ast.expr | None) -> ast.Call | None:
        """Return `node` as a call where it calls an operation marker, otherwise None."""
        known = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        return node if known and self._action(node) else None  # type: ignore[return-value,arg-type]  # checked above

    def action(self, call: ast.Call) -> Action:
        """Return the operation a marker call asks for."""
        action = self._action(call)
        assert action  # noqa: S101  # `marked` found it
        return action

    def _action(self, call: ast.Call) -> Action | None:
        marker = self.markers.get(call.func.id) if isinstance(call.func, ast.Name) else None
        return next((action for action in ACTIONS if action == marker), None)


def uses_markers(content: bytes) -> bool:
    """Return whether a file imports the overlay vocabulary, that is, means to be merged."""
    if _TOOL.encode() not in content:
        return False
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return MARKERS_MODULE.encode() in content
    return any(name.partition(".")[0] == _TOOL for node in ast.walk(tree) for name in _modules(node))


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [node.module or ""]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def read_import(reader: Reader, node: ast.Import | ast.ImportFrom) -> None:
    """Note what an import brings in: markers, or names for the definitions below it."""
    module = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
    if module == MARKERS_MODULE and all(alias.name != "*" for alias in node.names):
        reader.markers.update({bound_name(node, alias): alias.name for alias in node.names})
        for alias in node.names:
            if alias.name not in MARKERS:
                fix = nearest_marker(alias.name) or f"it has {', '.join(MARKERS)}"
                reader.problem(node, f"{MARKERS_MODULE} has no `{alias.name}`", fix)
        return
    if module == "__future__":
        fix = "take it out: what upstream's module has of it holds for the overlay's text too"
        reader.problem(node, "a __future__ import would change all of the upstream module", fix)
        return
    if module.startswith(".") and not reader.target:
        reader.problem(node, "a relative import means something else in every target", "write the absolute import")
    for alias in node.names:
        if alias.name == "*" or _TOOL in (module.partition(".")[0], alias.name.partition(".")[0] if not module else ""):
            reader.problem(node, f"cannot merge this import of `{alias.name}`", f"from {MARKERS_MODULE} import NAME, …")
            continue
        as_name = f" as {alias.asname}" if alias.asname else ""
        statement = f"from {module} import {alias.name}{as_name}" if module else f"import {alias.name}{as_name}"
        reader.imports.append(ImportedName(name=bound_name(node, alias), statement=statement, line=node.lineno))


def nearest_marker(name: str) -> str:
    """Return the marker a name was probably meant as, as a fix; empty where none is near."""
    close = difflib.get_close_matches(name.lower(), MARKERS, n=1, cutoff=0.6)
    return f"nearest: `{close[0]}`" if close else ""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """What a marker says beside what it does.

    Args:
        reason: why.
        bounds: to which versions of upstream it applies.
        targets: its ``targets``, None where it names none.
    """

    reason: Reason
    bounds: Bounds
    targets: object


def read_arguments(reader: Reader, call: ast.Call) -> Arguments:
    """Return what a marker call says in its keywords."""
    _check_whole(reader, call)
    values: dict[str, object] = {}
    for keyword in call.keywords:
        if keyword.arg not in (*_TEXTS, "targets"):
            reader.problem(call, f"unknown argument `{keyword.arg or '**'}`", f"use {', '.join(_TEXTS)} or targets")
            continue
        try:
            values[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError:
            reader.problem(call, f"`{keyword.arg}` is not a literal", "nothing is executed at build time: write it out")
            values.setdefault("why", "unreadable")
    for name in _TEXTS:
        if not isinstance(values.get(name, ""), str):
            reader.problem(call, f"`{name}` is not a text", f'{name}="…"')
    for name in _TEXTS:
        if found := unwritable(str(values.get(name, ""))):
            reader.problem(call, f"`{name}` holds {found}", "write plain text")
    if not str(values.get("why", "")).strip():
        reader.problem(call, "`why` is missing", 'why="the reason, one sentence for a user of the wheel"')
    bounds = Bounds(**{name: str(values.get(name, "")) for name in SINCE_UNTIL})
    for _, what, fix in bounds.faults():
        reader.problem(call, what, fix)
    return Arguments(reason=_reason(values, bounds), bounds=bounds, targets=values.get("targets"))


def _reason(values: Mapping[str, object], bounds: Bounds) -> Reason:
    reason = {name: str(values.get(name, "")) for name in _REASON}
    return Reason(**{**reason, "drop_when": reason["drop_when"] or bounds.drop_when})


def _check_whole(reader: Reader, call: ast.Call) -> None:
    """Note halves of surrogate pairs in a marker's texts, which can be neither written to a file nor printed."""
    is_value = reader.action(call) in ("added", "replaced")
    texts = [*(() if is_value else call.args), *(one.value for one in call.keywords if one.arg not in _TEXTS)]
    for constant in (node for text in texts for node in ast.walk(text)):
        value = constant.value if isinstance(constant, ast.Constant) else ""
        if isinstance(value, str) and not value.isascii() and (half := _HALF.search(value)):
            reader.problem(constant, f"holds U+{ord(half.group()):04X}, half a character", "write the whole one")


def read_edits(reader: Reader, call: ast.Call) -> Iterator[Edit]:
    """Yield the substitutions an ``edited(…)`` lists."""
    if not call.args:
        reader.problem(call, "edited() without substitutions", 'edited(("find", "replace"), why=…)')
    for argument in call.args:
        try:
            values = ast.literal_eval(argument)
        except ValueError:
            values = None
        if not isinstance(values, tuple) or len(values) not in (2, 3):
            reader.problem(argument, "not a substitution", 'write ("find", "replace") or ("find", "replace", count)')
            continue
        find, replace, count = (*values, 1)[:3]
        if not isinstance(find, str) or not significant(find) or not isinstance(replace, str):
            reader.problem(argument, "find and replace must be texts, and find must hold code", "quote both")
        elif not isinstance(count, int) or isinstance(count, bool) or count < 1:
            reader.problem(argument, f"{count!r} is not how often `{find}` can occur", "a whole number from 1")
        elif not _HALF.search(find + replace):
            yield Edit(find=find, replace=replace, count=count)
