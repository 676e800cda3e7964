"""Likes: ``targets=like(…)`` of a mark → models, the files to search for their forms, exceptions and versions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from npu_overlays.errors import Problem
from npu_overlays.model.attribute_chains import chains
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.functions import first_parameter
from npu_overlays.model.tokens import significant
from npu_overlays.overlay.bounds import SINCE_UNTIL, Bounds
from npu_overlays.overlay.operations import Like
from npu_overlays.overlay.parser.marks import Mark
from npu_overlays.overlay.parser.parsed_file import ParsedFile

_SELF = "self"
_TARGET = '"path/of/file.py:Class.method"'
_HOW = f'write like({_TARGET}, within="path/*/file_*.py")'


@dataclass(frozen=True, kw_only=True)
class Likes:
    """The forms that one definition serves, each with the versions of upstream that it does so for.

    Args:
        bounds: by form; where they are `ALWAYS`, those of the definition count.
    """

    bounds: Mapping[Like, Bounds]


def read_likes(parsed: ParsedFile, mark: Mark, calls: Iterable[ast.Call], problems: list[Problem]) -> Likes:
    """Return the ``like(…)`` of a mark; notes what is wrong with them."""
    keywords = {keyword.arg for keyword in mark.call.keywords}
    reads = tuple(sorted(set(_reads(mark))))
    found: dict[Like, Bounds] = {}
    for call in calls:
        if mark.action == "added":
            fix = "name each class or module that it is added to: targets=[…]"
            problems.append(parsed.problem(call, "like(…) finds what upstream has, and this is added", fix))
        if "where" in keywords:
            problems.append(parsed.problem(call, "`where` does not go with like(…)", "name the targets: targets=[…]"))
        values = _values(parsed, call, problems)
        models = [*_models(parsed, call, problems)]
        value = values.get("within")
        if not isinstance(value, str) or not value.strip():
            problems.append(parsed.problem(call, "like(…) does not say in which files", _HOW))
        within = str(value)
        but = tuple(_but(parsed, call, values.get("but", {}), problems))
        bounds = _bounds(parsed, call, values, problems)
        if bounds and keywords & {*SINCE_UNTIL}:
            what = "`since` or `until` stands at like(…) and at the marker"
            problems.append(parsed.problem(call, what, "say it at each like(…), or for all of them at the marker"))
        found.update((Like(model=model, within=within, but=but, reads=reads), bounds) for model in models)
    return Likes(bounds=found)


def _bounds(parsed: ParsedFile, call: ast.Call, values: Mapping[str, object], problems: list[Problem]) -> Bounds:
    """Return the versions that a ``like(…)`` is for."""
    given = {name: values.get(name, "") for name in SINCE_UNTIL}
    for name, value in given.items():
        if not isinstance(value, str):
            problems.append(parsed.problem(call, f"`{name}` is not a text", f'write {name}="0.6.0", for example'))
    bounds = Bounds(**{name: str(value) for name, value in given.items()})
    problems += (parsed.problem(call, what, fix) for _, what, fix in bounds.faults())
    return bounds


def _values(parsed: ParsedFile, call: ast.Call, problems: list[Problem]) -> dict[str, object]:
    """Return the values of the keywords; notes each that is unknown or cannot be read."""
    values: dict[str, object] = {}
    for keyword in call.keywords:
        if keyword.arg not in ("within", "but", *SINCE_UNTIL):
            what = f"like(…) has no argument `{keyword.arg or '**'}`"
            problems.append(parsed.problem(keyword.value, what, "use within, but, since or until"))
            continue
        try:
            values[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError:
            fix = "write it out: nothing is executed at build time"
            problems.append(parsed.problem(keyword.value, f"`{keyword.arg}` is not a literal", fix))
            values[keyword.arg] = {} if keyword.arg == "but" else "*"
    return values


def _models(parsed: ParsedFile, call: ast.Call, problems: list[Problem]) -> Iterator[str]:
    """Yield the models of a ``like(…)``; notes invalid ones, or that there is none."""
    if not call.args:
        problems.append(parsed.problem(call, "like(…) names no model", _HOW))
    for one in call.args:
        value = one.value if isinstance(one, ast.Constant) else None
        if not _is_target(value):
            problems.append(parsed.problem(one, f"`{ast.unparse(one)}` of like(…) is no model", _HOW))
        yield str(value)


def _but(parsed: ParsedFile, call: ast.Call, value: object, problems: list[Problem]) -> Iterator[str]:
    """Yield the excepted targets; notes invalid ones, and those without a reason."""
    listed = value if isinstance(value, dict) else {"": ""}
    for name, reason in listed.items():
        if not _is_target(name) or not isinstance(reason, str) or not reason.strip():
            what = f"`but` holds {name!r} without a target or a reason" if name else "`but` is no table of targets"
            problems.append(parsed.problem(call, what, f'write but={{{_TARGET}: "why it is not meant"}}'))
        else:
            yield name


def _is_target(value: object) -> bool:
    path, _, symbol = value.partition(":") if isinstance(value, str) else ("", "", "")
    return path.endswith(".py") and all(map(str.isidentifier, symbol.split(".")))


def _reads(mark: Mark) -> Iterator[str]:
    """Yield the attributes of ``self`` that a definition's own text, or an edit's replacements, read."""
    node = mark.node
    if mark.action == "edited":
        for argument in mark.call.args:
            replacement = argument.elts[1] if isinstance(argument, ast.Tuple) and argument.elts[1:] else None
            text = replacement.value if isinstance(replacement, ast.Constant) else ""
            words = [token.text for token in significant(text)] if isinstance(text, str) else []
            for start in range(len(words) - 2):
                if words[start : start + 2] == [_SELF, "."]:
                    yield words[start + 2]
    elif isinstance(node, FUNCTIONS) and (first := first_parameter(node)):
        for chain, _ in chains(*node.body):
            if chain[0] == first and chain[1:]:
                yield chain[1]
