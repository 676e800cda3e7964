"""Likes: ``targets=like(…)`` of a mark → the model, the files to search for its form, and the exceptions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.errors import Problem
from npu_overlays.model.attribute_chains import chains
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.functions import first_parameter
from npu_overlays.model.tokens import significant
from npu_overlays.overlay.operations import Like
from npu_overlays.overlay.parser.marks import Mark
from npu_overlays.overlay.parser.parsed_file import ParsedFile

_SELF = "self"
_TARGET = '"path/of/file.py:Class.method"'
_HOW = f'like({_TARGET}, within="path/*/file_*.py")'


def read_like(parsed: ParsedFile, mark: Mark, call: ast.Call, problems: list[Problem]) -> Like:
    """Return a ``like(…)``; notes what is wrong with it."""
    if mark.action == "added":
        fix = "name each class or module that gets it: targets=[…]"
        problems.append(parsed.problem(call, "upstream has nothing like what is added", fix))
    if any(keyword.arg == "where" for keyword in mark.call.keywords):
        problems.append(parsed.problem(call, "`where` does not go with like(…)", "name the targets: targets=[…]"))
    values = _values(parsed, call, problems)
    return Like(
        model=_model(parsed, call, problems),
        within=_within(parsed, call, values.get("within"), problems),
        but=tuple(_but(parsed, call, values.get("but", {}), problems)),
        reads=tuple(sorted(set(_reads(mark)))),
    )


def _values(parsed: ParsedFile, call: ast.Call, problems: list[Problem]) -> dict[str, object]:
    """Return the values of the keywords; notes each that is unknown or cannot be read."""
    values: dict[str, object] = {}
    for keyword in call.keywords:
        if keyword.arg not in ("within", "but"):
            what = f"like(…) has no argument `{keyword.arg or '**'}`"
            problems.append(parsed.problem(keyword.value, what, "use within or but"))
            continue
        try:
            values[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError:
            fix = "nothing is executed at build time: write it out"
            problems.append(parsed.problem(keyword.value, f"`{keyword.arg}` is not a literal", fix))
            values[keyword.arg] = {} if keyword.arg == "but" else "*"
    return values


def _model(parsed: ParsedFile, call: ast.Call, problems: list[Problem]) -> str:
    value = call.args[0].value if len(call.args) == 1 and isinstance(call.args[0], ast.Constant) else None
    if not _is_target(value):
        problems.append(parsed.problem(call, "like(…) names no model, or more than one", _HOW))
    return str(value)


def _within(parsed: ParsedFile, call: ast.Call, value: object, problems: list[Problem]) -> str:
    if not isinstance(value, str) or not value.strip():
        problems.append(parsed.problem(call, "like(…) does not say in which files", _HOW))
    return str(value)


def _but(parsed: ParsedFile, call: ast.Call, value: object, problems: list[Problem]) -> Iterator[str]:
    """Yield the excepted targets; notes invalid ones, and those without a reason."""
    listed = value if isinstance(value, dict) else {"": ""}
    for name, reason in listed.items():
        if not _is_target(name) or not isinstance(reason, str) or not reason.strip():
            what = f"`but` holds {name!r} without a target or a reason" if name else "`but` is no table of targets"
            problems.append(parsed.problem(call, what, f'but={{{_TARGET}: "why it is not meant"}}'))
        else:
            yield name


def _is_target(value: object) -> bool:
    path, _, symbol = value.partition(":") if isinstance(value, str) else ("", "", "")
    return path.endswith(".py") and all(map(str.isidentifier, symbol.split(".")))


def _reads(mark: Mark) -> Iterator[str]:
    """Yield the attributes of ``self`` that a definition's own text, or an edit's replacements, read."""
    node = mark.node
    if mark.action == "edited":
        yield from _of_edits(mark.call)
    elif isinstance(node, FUNCTIONS) and (first := first_parameter(node)):
        for chain, _ in chains(*node.body):
            if chain[0] == first and chain[1:]:
                yield chain[1]


def _of_edits(call: ast.Call) -> Iterator[str]:
    for argument in call.args:
        replacement = argument.elts[1] if isinstance(argument, ast.Tuple) and argument.elts[1:] else None
        text = replacement.value if isinstance(replacement, ast.Constant) else ""
        words = [token.text for token in significant(text)] if isinstance(text, str) else []
        for start in range(len(words) - 2):
            if words[start : start + 2] == [_SELF, "."]:
                yield words[start + 2]
