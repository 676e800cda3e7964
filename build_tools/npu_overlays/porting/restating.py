"""Restating: operations whose targets have moved → the merge modules that say the same of the new targets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from npu_overlays.overlay.operations import Operation
from npu_overlays.syntax.texts import reindent, renamed

_STEP = "    "
_LONG = 90


@dataclass(frozen=True, kw_only=True)
class Move:
    """An operation, and where its target stands now: a path and a qualified name."""

    operation: Operation
    path: str
    symbol: str

    @property
    def obstacle(self) -> str:
        """Why it cannot be stated there as it is, or an empty text."""
        relative = [one.statement for one in self.operation.imports if one.statement.startswith("from .")]
        here, there = (path.rpartition("/")[0] for path in (self.operation.path, self.path))
        if relative and here != there:
            return f"it imports relatively, `{relative[0]}`, and its file moved"
        return ""


def restated(moves: Iterable[Move]) -> dict[str, str]:
    """Return, by repository path, the text of a merge module for the moved operations on each file."""
    by_path: dict[str, list[Move]] = {}
    for move in moves:
        by_path.setdefault(move.path, []).append(move)
    return {path: _module(path, listed) for path, listed in by_path.items()}


def _module(path: str, moves: list[Move]) -> str:
    markers: set[str] = {move.operation.action for move in moves}
    markers |= {_upstream(move.operation) for move in moves if move.operation.action == "wrapped"}
    imports = dict.fromkeys(one.statement for move in moves for one in move.operation.imports)
    lines = [f'"""What changes in {path}: stated anew where upstream moved it."""', ""]
    lines += [*imports, *([""] if imports else []), f"from npu_overlays.markers import {', '.join(sorted(markers))}"]
    blocks = [_nested(move) for move in moves]
    return "\n".join(lines) + "\n\n\n" + "\n\n\n".join(blocks) + "\n"


def _upstream(one: Operation) -> str:
    """Return how the name by which a wrapper calls the original is imported."""
    return "upstream" if one.upstream_name == "upstream" else f"upstream as {one.upstream_name}"


def _nested(move: Move) -> str:
    one = move.operation
    if one.action == "deleted":
        # Whatever the name leads through: a class, or a module that an assignment patches.
        return f"deleted({json.dumps(move.symbol)}, {', '.join(_arguments(one))})"
    *owners, leaf = move.symbol.split(".")
    text = _stated(one, leaf)
    for owner in reversed(owners):
        text = f"class {owner}:\n{reindent(text, old='', new=_STEP)}"
    return text.rstrip()


def _stated(one: Operation, name: str) -> str:
    arguments = ", ".join(_arguments(one))
    if one.kind == "attribute":
        annotation = f": {one.annotation}" if one.annotation else ""
        value = "" if one.action == "edited" else f"{one.text}, "
        return f"{name}{annotation} = {one.action}({value}{arguments})"
    if one.action == "edited":
        head = "class" if one.kind == "class" else "def"
        rest = "" if one.kind == "class" else "()"
        return f"@{one.action}(\n{_lines(_arguments(one))})\n{head} {name}{rest}: ..."
    return f"@{one.action}(\n{_lines(_arguments(one))})\n{renamed(one.text, name)}"


def _lines(arguments: Iterable[str]) -> str:
    return "".join(f"{_STEP}{argument},\n" for argument in arguments)


def _arguments(one: Operation) -> Iterator[str]:
    for edit in one.edits:
        parts = [_literal(edit.find), _literal(edit.replace), *([str(edit.count)] if edit.count != 1 else [])]
        yield f"({', '.join(parts)})"
    # What a bound says beside itself is not a condition of its author's.
    condition = "" if one.reason.drop_when == one.bounds.drop_when else one.reason.drop_when
    texts = {"why": one.reason.why, "forwarded": one.reason.forwarded, "drop_when": condition}
    yield from (f"{key}={_literal(text)}" for key, text in texts.items() if text)
    if one.depends:
        yield f"depends=[{', '.join(map(_quoted, one.depends))}]"


def _literal(text: str) -> str:
    """Return a text as Python writes it, in several lines where it is long."""
    if len(text) <= _LONG:
        return _quoted(text)
    lines = "\n".join(f"{_STEP}{_STEP}{_quoted(part)}" for part in _parts(text))
    return f"(\n{lines}\n{_STEP})"


def _parts(text: str) -> list[str]:
    """Return a text in parts that together are it: its lines, and of a long one its words."""
    words = re.findall(r"\S*\n|\S*[^\S\n]+|\S+", text)
    parts = [""]
    for word in words:
        if parts[-1].endswith("\n") or len(parts[-1]) + len(word) > _LONG:
            parts.append("")
        parts[-1] += word
    return [part for part in parts if part]


def _quoted(text: str) -> str:
    return repr(text) if '"' in text and "'" not in text else json.dumps(text, ensure_ascii=False)
