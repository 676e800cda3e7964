"""Arguments: a mark → the arguments of its marker."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from npu_overlays.errors import Problem
from npu_overlays.model.code_blocks import names_in
from npu_overlays.model.selectors import plain
from npu_overlays.model.tokens import significant
from npu_overlays.overlay.acceptances import Acceptance, faults, read_acceptances
from npu_overlays.overlay.bounds import SINCE_UNTIL, Bounds
from npu_overlays.overlay.conditions import fault
from npu_overlays.overlay.operations import Edit, Reason, unwritable
from npu_overlays.overlay.parser.likes import read_likes
from npu_overlays.overlay.parser.marks import Mark, selecting
from npu_overlays.overlay.parser.parsed_file import ParsedFile

_HALF = re.compile("[\ud800-\udfff]")
_REASON = ("why", "forwarded", "drop_when")
_TEXTS = (*_REASON, *SINCE_UNTIL, "unproven")
_LISTS = ("accept", "depends", "where", "targets")


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The arguments of a marker."""

    reason: Reason  # why
    bounds: Bounds  # to which versions of upstream it applies
    targets: object  # its ``targets``, `Likes` where it names models; None where it names none
    depends: tuple[str, ...]  # what it says that it depends on upstream
    unproven: str  # why no test can show that it calls the operators it is there for
    accept: tuple[Acceptance, ...]  # the dangers in it that its author lets stand
    edits: tuple[Edit, ...]  # the substitutions of ``edited``
    problems: tuple[Problem, ...]  # what is wrong with what it says


def read_arguments(parsed: ParsedFile, mark: Mark) -> Arguments:
    """Return the arguments of a marker."""
    values, problems = _read_keywords(parsed, mark)
    problems = [*_half_characters(parsed, mark), *problems]
    bounds = Bounds(**{name: str(values.get(name, "")) for name in SINCE_UNTIL})
    problems += _text_problems(parsed, mark, values)
    problems += _where_problems(parsed, mark, values.get("where"))
    for _, what, fix in bounds.faults():
        problems.append(parsed.problem(mark.call, what, fix))
    depends = _read_depends(parsed, mark, values.get("depends", ()), problems)
    accept = _read_accept(parsed, mark, values.get("accept", ()), problems)
    edits: tuple[Edit, ...] = ()
    if mark.action == "edited":
        edits = _read_edits(parsed, mark, problems)
        problems += _uses_problems(parsed, mark, edits)
    reason = {name: str(values.get(name, "")) for name in _REASON}
    reason["drop_when"] = reason["drop_when"] or bounds.drop_when
    return Arguments(
        reason=Reason(**reason),
        bounds=bounds,
        targets=values.get("targets"),
        depends=depends,
        unproven=str(values.get("unproven", "")),
        accept=accept,
        edits=edits,
        problems=tuple(problems),
    )


def _read_keywords(parsed: ParsedFile, mark: Mark) -> tuple[dict[str, object], list[Problem]]:
    """Return the values of a marker's keywords, and a problem for each that cannot be read."""
    values: dict[str, object] = {}
    problems: list[Problem] = []
    for keyword in mark.call.keywords:
        if keyword.arg == "uses" and mark.action == "edited":
            continue  # it names imports; it is read beside the substitutions
        if keyword.arg not in (*_TEXTS, *_LISTS):
            what = f"unknown argument `{keyword.arg or '**'}`"
            fix = f"use {', '.join((*_TEXTS, *_LISTS[:-1]))} or {_LISTS[-1]}"
            problems.append(parsed.problem(mark.call, what, fix))
            continue
        if keyword.arg == "targets" and (calls := parsed.like_calls(keyword.value)):
            if len(calls) < len(getattr(keyword.value, "elts", calls)):
                what = "`targets` lists like(…) beside something else"
                problems.append(parsed.problem(mark.call, what, "write two definitions, or only like(…)"))
            values[keyword.arg] = read_likes(parsed, mark, calls, problems)
            continue
        try:
            values[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError:
            fix = "write it out: nothing is executed at build time"
            problems.append(parsed.problem(mark.call, f"`{keyword.arg}` is not a literal", fix))
            values.setdefault("why", "unreadable")
    return values, problems


def _where_problems(parsed: ParsedFile, mark: Mark, value: object) -> Iterator[Problem]:
    """Yield what is wrong with a ``where``; whether it selects a definition is checked against upstream later."""
    texts = selecting(mark.call)
    listed = value if isinstance(value, (list, tuple)) else [value]
    if value is not None and (len(texts) != len(listed) or not all(text.strip() for text in texts)):
        fix = 'write where="@value.setter", where="if sys.version_info >= (3, 11)" or where="#2"'
        yield parsed.problem(mark.call, "`where` does not tell which definition is meant", fix)


def _read_depends(parsed: ParsedFile, mark: Mark, value: object, problems: list[Problem]) -> tuple[str, ...]:
    """Return the symbols that ``depends`` names; whether upstream has them is checked later."""
    found: list[str] = []
    names = value if isinstance(value, (list, tuple)) else [value]
    for name in names:
        path, _, symbol = name.partition(":") if isinstance(name, str) else ("", "", "")
        if path.endswith(".py") and all(map(str.isidentifier, plain(symbol).split("."))):
            found.append(f"{path}:{symbol}")
        else:
            fix = 'write depends=["path/of/file.py:Class.method"]'
            problems.append(parsed.problem(mark.call, f"`depends` holds {name!r}, which is no symbol", fix))
    return tuple(found)


def _read_accept(parsed: ParsedFile, mark: Mark, value: object, problems: list[Problem]) -> tuple[Acceptance, ...]:
    """Return the dangers in ``accept``."""
    listed = value if isinstance(value, (list, tuple)) else [None]
    texts = [one for one in listed if isinstance(one, str)]
    if len(texts) != len(listed):
        fix = 'write accept=("loss: why that is right",)'
        problems.append(parsed.problem(mark.call, "`accept` is no list of texts", fix))
    for what, fix in faults(texts):
        problems.append(parsed.problem(mark.call, what, fix))
    return read_acceptances(texts)


def _text_problems(parsed: ParsedFile, mark: Mark, values: Mapping[str, object]) -> Iterator[Problem]:
    for name in _TEXTS:
        if not isinstance(values.get(name, ""), str):
            yield parsed.problem(mark.call, f"`{name}` is not a text", f'write {name}="…"')
    for name in _TEXTS:
        if found := unwritable(str(values.get(name, ""))):
            yield parsed.problem(mark.call, f"`{name}` holds {found}", "write plain text")
    if meant := fault(str(values.get("drop_when", ""))):
        yield parsed.problem(mark.call, *meant)
    if not str(values.get("why", "")).strip():
        fix = 'write why="the reason, one sentence for a user of the wheel"'
        yield parsed.problem(mark.call, "`why` is missing", fix)


def _half_characters(parsed: ParsedFile, mark: Mark) -> Iterator[Problem]:
    """Yield halves of surrogate pairs in a marker's texts, which cannot be written or printed."""
    checked = [] if mark.action in ("added", "replaced") else [*mark.call.args]
    checked += [one.value for one in mark.call.keywords if one.arg not in _TEXTS]
    for argument in checked:
        for node in ast.walk(argument):
            value = node.value if isinstance(node, ast.Constant) else ""
            if isinstance(value, str) and not value.isascii() and (half := _HALF.search(value)):
                what = f"holds half a character (U+{ord(half.group()):04X})"
                yield parsed.problem(node, what, "write the whole character")


def _read_edits(parsed: ParsedFile, mark: Mark, problems: list[Problem]) -> tuple[Edit, ...]:
    """Return the substitutions an ``edited(…)`` lists."""
    found: list[Edit] = []
    if not mark.call.args:
        fix = 'write edited(("find", "replace"), why=…)'
        problems.append(parsed.problem(mark.call, "edited() without substitutions", fix))
    for argument in mark.call.args:
        try:
            values = ast.literal_eval(argument)
        except ValueError:
            values = None
        if not isinstance(values, tuple) or len(values) not in (2, 3):
            fix = 'write ("find", "replace") or ("find", "replace", count)'
            problems.append(parsed.problem(argument, "not a substitution", fix))
            continue
        find, replace, count = (*values, 1)[:3]
        if not isinstance(find, str) or not significant(find) or not isinstance(replace, str):
            what = "find and replace must be texts, and find must hold code"
            problems.append(parsed.problem(argument, what, "write both in quotes"))
        elif not isinstance(count, int) or isinstance(count, bool) or count < 1:
            what = f"the count of `{find}` is {count!r}"
            problems.append(parsed.problem(argument, what, "write a whole number from 1 on"))
        elif not _HALF.search(find + replace):
            found.append(Edit(find=find, replace=replace, count=count))
    return tuple(found)


def _uses_problems(parsed: ParsedFile, mark: Mark, edits: Iterable[Edit]) -> Iterator[Problem]:
    """Yield names in ``uses`` that no replacement contains; the argument only informs linters."""
    node = next((keyword.value for keyword in mark.call.keywords if keyword.arg == "uses"), None)
    if node is None:
        return
    names = [one.id for one in getattr(node, "elts", []) if isinstance(one, ast.Name)]
    if not isinstance(node, (ast.List, ast.Tuple)) or len(names) != len(node.elts):
        yield parsed.problem(mark.call, "`uses` is not a list of imported names", "write uses=[name, other_name]")
        return
    put_in: set[str] = set()
    for edit in edits:
        put_in |= set(names_in(edit.replace))
    imported = [one.name for one in parsed.imports]
    for name in names:
        if name not in imported:
            what = f"`uses` names `{name}`, which this file does not import"
            yield parsed.problem(mark.call, what, "import it, or take it out of `uses`")
        elif name not in put_in:
            yield parsed.problem(
                mark.call, f"`uses` names `{name}`, which no substitution puts in", "take it out of `uses`"
            )
