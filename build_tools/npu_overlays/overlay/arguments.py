"""Arguments: a marker call → what it says in its arguments, by syntax; nothing is executed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from npu_overlays.overlay.bounds import SINCE_UNTIL, Bounds
from npu_overlays.overlay.marks import Reader
from npu_overlays.overlay.operations import Edit, Reason, unwritable
from npu_overlays.syntax.texts import names_in
from npu_overlays.syntax.tokens import significant

_HALF = re.compile("[\ud800-\udfff]")
_REASON = ("why", "forwarded", "drop_when")
_TEXTS = (*_REASON, *SINCE_UNTIL)


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """What a marker says beside what it does.

    Args:
        reason: why.
        bounds: to which versions of upstream it applies.
        targets: its ``targets``, None where it names none.
        depends: what it says that it depends on upstream.
    """

    reason: Reason
    bounds: Bounds
    targets: object
    depends: tuple[str, ...]


def read_arguments(reader: Reader, call: ast.Call) -> Arguments:
    """Return what a marker call says in its keywords."""
    _check_whole(reader, call)
    values: dict[str, object] = {}
    # What `uses` names is imported; it is read beside the substitutions.
    own = ("uses",) if reader.action(call) == "edited" else ()
    for keyword in (one for one in call.keywords if one.arg not in own):
        if keyword.arg not in (*_TEXTS, "depends", "targets"):
            fix = f"use {', '.join(_TEXTS)}, depends or targets"
            reader.problem(call, f"unknown argument `{keyword.arg or '**'}`", fix)
            continue
        try:
            values[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError:
            reader.problem(call, f"`{keyword.arg}` is not a literal", "nothing is executed at build time: write it out")
            values.setdefault("why", "unreadable")
    _check_texts(reader, call, values)
    bounds = Bounds(**{name: str(values.get(name, "")) for name in SINCE_UNTIL})
    for _, what, fix in bounds.faults():
        reader.problem(call, what, fix)
    return Arguments(
        reason=_reason(values, bounds),
        bounds=bounds,
        targets=values.get("targets"),
        depends=tuple(_depends(reader, call, values.get("depends", ()))),
    )


def _depends(reader: Reader, call: ast.Call, value: object) -> Iterator[str]:
    """Yield what ``depends`` names; whether upstream has it, is seen when upstream is at hand."""
    for name in value if isinstance(value, (list, tuple)) else [value]:
        path, _, symbol = name.partition(":") if isinstance(name, str) else ("", "", "")
        if path.endswith(".py") and all(part.isidentifier() for part in symbol.split(".")):
            yield f"{path}:{symbol}"
        else:
            reader.problem(call, f"`depends` holds {name!r}, no symbol", 'depends=["path/of/file.py:Class.method"]')


def _check_texts(reader: Reader, call: ast.Call, values: Mapping[str, object]) -> None:
    for name in _TEXTS:
        if not isinstance(values.get(name, ""), str):
            reader.problem(call, f"`{name}` is not a text", f'{name}="…"')
    for name in _TEXTS:
        if found := unwritable(str(values.get(name, ""))):
            reader.problem(call, f"`{name}` holds {found}", "write plain text")
    if not str(values.get("why", "")).strip():
        reader.problem(call, "`why` is missing", 'why="the reason, one sentence for a user of the wheel"')


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


def check_uses(reader: Reader, call: ast.Call, edits: Iterable[Edit]) -> None:
    """Note what ``uses`` names and no substitution puts in; it only tells linters what an import is for."""
    node = next((keyword.value for keyword in call.keywords if keyword.arg == "uses"), None)
    if node is None or reader.action(call) != "edited":
        return
    names = [one.id for one in getattr(node, "elts", []) if isinstance(one, ast.Name)]
    if not isinstance(node, (ast.List, ast.Tuple)) or len(names) != len(node.elts):
        reader.problem(call, "`uses` is not a list of imported names", "uses=[name, other_name]")
        return
    put_in = {name for edit in edits for name in names_in(edit.replace)}
    imported = {one.name for one in reader.imports}
    for name in names:
        if name not in imported:
            reader.problem(call, f"`uses` names `{name}`, which this file does not import", "import it, or take it out")
        elif name not in put_in:
            reader.problem(call, f"`uses` names `{name}`, which no substitution puts in", "take it out")


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
