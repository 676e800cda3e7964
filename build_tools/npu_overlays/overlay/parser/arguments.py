"""Arguments: a mark → what its marker says beside what it does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from npu_overlays.errors import Problem
from npu_overlays.model.selectors import plain
from npu_overlays.model.texts import names_in
from npu_overlays.model.tokens import significant
from npu_overlays.overlay.acceptances import Acceptance, faults, read_acceptances
from npu_overlays.overlay.bounds import SINCE_UNTIL, Bounds
from npu_overlays.overlay.conditions import fault
from npu_overlays.overlay.operations import Edit, Reason, unwritable
from npu_overlays.overlay.parser.marks import Mark, selecting
from npu_overlays.overlay.parser.parsed_file import ParsedFile

_HALF = re.compile("[\ud800-\udfff]")
_REASON = ("why", "forwarded", "drop_when")
_TEXTS = (*_REASON, *SINCE_UNTIL, "unproven")
_LISTS = ("accept", "depends", "where", "targets")


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """What a marker says beside what it does."""

    reason: Reason  # why
    bounds: Bounds  # to which versions of upstream it applies
    targets: object  # its ``targets``, None where it names none
    depends: tuple[str, ...]  # what it says that it depends on upstream
    unproven: str  # why no test can show that it calls the operators it is there for
    accept: tuple[Acceptance, ...]  # the dangers in it that its author lets stand
    edits: tuple[Edit, ...]  # the substitutions of ``edited``
    problems: tuple[Problem, ...]  # what is wrong with what it says


def read_arguments(parsed: ParsedFile, mark: Mark) -> Arguments:
    """Return what a marker says."""
    values, unread = _read_keywords(parsed, mark)
    bounds = Bounds(**{name: str(values.get(name, "")) for name in SINCE_UNTIL})
    depends = list(_read_depends(parsed, mark, values.get("depends", ())))
    accept = list(_read_accept(parsed, mark, values.get("accept", ())))
    listed = list(_read_edits(parsed, mark)) if mark.action == "edited" else []
    edits = tuple(one for one in listed if isinstance(one, Edit))
    problems = [
        *_half_characters(parsed, mark),
        *unread,
        *_text_problems(parsed, mark, values),
        *_where_problems(parsed, mark, values.get("where")),
        *(parsed.problem(mark.call, what, fix) for _, what, fix in bounds.faults()),
        *(one for one in (*depends, *accept, *listed) if isinstance(one, Problem)),
        *(_uses_problems(parsed, mark, edits) if mark.action == "edited" else ()),
    ]
    return Arguments(
        reason=_reason(values, bounds),
        bounds=bounds,
        targets=values.get("targets"),
        depends=tuple(one for one in depends if isinstance(one, str)),
        unproven=str(values.get("unproven", "")),
        accept=tuple(one for one in accept if isinstance(one, Acceptance)),
        edits=edits,
        problems=tuple(problems),
    )


def _read_keywords(parsed: ParsedFile, mark: Mark) -> tuple[dict[str, object], list[Problem]]:
    """Return the values of a marker's keywords, and a problem for each that cannot be read."""
    values: dict[str, object] = {}
    problems = []
    # What `uses` names is imported; it is read beside the substitutions.
    own = ("uses",) if mark.action == "edited" else ()
    for keyword in (one for one in mark.call.keywords if one.arg not in own):
        if keyword.arg not in (*_TEXTS, *_LISTS):
            what, fix = (
                f"unknown argument `{keyword.arg or '**'}`",
                f"use {', '.join((*_TEXTS, *_LISTS[:-1]))} or {_LISTS[-1]}",
            )
            problems.append(parsed.problem(mark.call, what, fix))
            continue
        try:
            values[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError:
            fix = "nothing is executed at build time: write it out"
            problems.append(parsed.problem(mark.call, f"`{keyword.arg}` is not a literal", fix))
            values.setdefault("why", "unreadable")
    return values, problems


def _where_problems(parsed: ParsedFile, mark: Mark, value: object) -> Iterator[Problem]:
    """Yield what is wrong with a ``where``; whether it leads to a definition, is seen when upstream is at hand."""
    texts = selecting(mark.call)
    listed = value if isinstance(value, (list, tuple)) else [value]
    if value is not None and (len(texts) != len(listed) or not all(text.strip() for text in texts)):
        fix = 'where="@value.setter", where="if sys.version_info >= (3, 11)" or where="#2"'
        yield parsed.problem(mark.call, "`where` does not say what leads to a definition", fix)


def _read_depends(parsed: ParsedFile, mark: Mark, value: object) -> Iterator[str | Problem]:
    """Yield what ``depends`` names; whether upstream has it, is seen when upstream is at hand."""
    for name in value if isinstance(value, (list, tuple)) else [value]:
        path, _, symbol = name.partition(":") if isinstance(name, str) else ("", "", "")
        if path.endswith(".py") and all(part.isidentifier() for part in plain(symbol).split(".")):
            yield f"{path}:{symbol}"
        else:
            fix = 'depends=["path/of/file.py:Class.method"]'
            yield parsed.problem(mark.call, f"`depends` holds {name!r}, no symbol", fix)


def _read_accept(parsed: ParsedFile, mark: Mark, value: object) -> Iterator[Acceptance | Problem]:
    """Yield the dangers that ``accept`` lets stand."""
    texts = [one for one in value if isinstance(one, str)] if isinstance(value, (list, tuple)) else []
    if not isinstance(value, (list, tuple)) or len(texts) != len(value):
        yield parsed.problem(mark.call, "`accept` is no list of texts", 'accept=("loss: why that is right",)')
    yield from (parsed.problem(mark.call, what, fix) for what, fix in faults(texts))
    yield from read_acceptances(texts)


def _text_problems(parsed: ParsedFile, mark: Mark, values: Mapping[str, object]) -> Iterator[Problem]:
    for name in _TEXTS:
        if not isinstance(values.get(name, ""), str):
            yield parsed.problem(mark.call, f"`{name}` is not a text", f'{name}="…"')
    for name in _TEXTS:
        if found := unwritable(str(values.get(name, ""))):
            yield parsed.problem(mark.call, f"`{name}` holds {found}", "write plain text")
    if meant := fault(str(values.get("drop_when", ""))):
        yield parsed.problem(mark.call, *meant)
    if not str(values.get("why", "")).strip():
        fix = 'why="the reason, one sentence for a user of the wheel"'
        yield parsed.problem(mark.call, "`why` is missing", fix)


def _reason(values: Mapping[str, object], bounds: Bounds) -> Reason:
    reason = {name: str(values.get(name, "")) for name in _REASON}
    return Reason(**{**reason, "drop_when": reason["drop_when"] or bounds.drop_when})


def _half_characters(parsed: ParsedFile, mark: Mark) -> Iterator[Problem]:
    """Yield halves of surrogate pairs in a marker's texts, which can be neither written to a file nor printed."""
    is_value = mark.action in ("added", "replaced")
    own = [one.value for one in mark.call.keywords if one.arg not in _TEXTS]
    for constant in (node for text in (*(() if is_value else mark.call.args), *own) for node in ast.walk(text)):
        value = constant.value if isinstance(constant, ast.Constant) else ""
        if isinstance(value, str) and not value.isascii() and (half := _HALF.search(value)):
            what = f"holds U+{ord(half.group()):04X}, half a character"
            yield parsed.problem(constant, what, "write the whole one")


def _read_edits(parsed: ParsedFile, mark: Mark) -> Iterator[Edit | Problem]:
    """Yield the substitutions an ``edited(…)`` lists."""
    if not mark.call.args:
        fix = 'edited(("find", "replace"), why=…)'
        yield parsed.problem(mark.call, "edited() without substitutions", fix)
    for argument in mark.call.args:
        try:
            values = ast.literal_eval(argument)
        except ValueError:
            values = None
        if not isinstance(values, tuple) or len(values) not in (2, 3):
            fix = 'write ("find", "replace") or ("find", "replace", count)'
            yield parsed.problem(argument, "not a substitution", fix)
            continue
        find, replace, count = (*values, 1)[:3]
        if not isinstance(find, str) or not significant(find) or not isinstance(replace, str):
            yield parsed.problem(argument, "find and replace must be texts, and find must hold code", "quote both")
        elif not isinstance(count, int) or isinstance(count, bool) or count < 1:
            what = f"{count!r} is not how often `{find}` can occur"
            yield parsed.problem(argument, what, "a whole number from 1")
        elif not _HALF.search(find + replace):
            yield Edit(find=find, replace=replace, count=count)


def _uses_problems(parsed: ParsedFile, mark: Mark, edits: Iterable[Edit]) -> Iterator[Problem]:
    """Yield what ``uses`` names and no substitution puts in; it only tells linters what an import is for."""
    node = next((keyword.value for keyword in mark.call.keywords if keyword.arg == "uses"), None)
    if node is None:
        return
    names = [one.id for one in getattr(node, "elts", []) if isinstance(one, ast.Name)]
    if not isinstance(node, (ast.List, ast.Tuple)) or len(names) != len(node.elts):
        yield parsed.problem(mark.call, "`uses` is not a list of imported names", "uses=[name, other_name]")
        return
    put_in = {name for edit in edits for name in names_in(edit.replace)}
    imported = {one.name for one in parsed.imports}
    for name in names:
        if name not in imported:
            what = f"`uses` names `{name}`, which this file does not import"
            yield parsed.problem(mark.call, what, "import it, or take it out")
        elif name not in put_in:
            yield parsed.problem(mark.call, f"`uses` names `{name}`, which no substitution puts in", "take it out")
