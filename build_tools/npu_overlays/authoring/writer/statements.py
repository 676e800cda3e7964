"""Statements: an operation → the statement of it in a merge module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from npu_overlays.model.code_blocks import names_in, reindent
from npu_overlays.model.selectors import selecting_decorators, selector
from npu_overlays.overlay.operations import Edit, Operation

_WIDTH = 119
_STEP = "    "
_REPEATED = 2


def statement(  # noqa: PLR0913  # what it says, and what of it is written already
    operation: Operation,
    kept: Mapping[str, str] | None = None,
    comments: Mapping[str, Sequence[str]] | None = None,
    *,
    marker: str = "",
    shared: str = "",
    stub: str = "",
) -> str:
    """Return the statement at column 0, with a line end.

    Args:
        operation: what it is to say.
        kept: the arguments of its marker by name, as source, where they are written already.
        comments: those beside its arguments by their names, or by their texts where they have none; by an empty text
            those to stand above it.
        marker: what the module calls its marker; its own name where that is empty.
        shared: the name of the definition in a file of ``shared/``, if it is one.
        stub: what an edit's marker stands on, where that is written already.
    """
    marker, leaf = marker or operation.action, shared or operation.leaf
    beside = dict(comments or {})
    arguments = dict(kept) if kept is not None else dict(_arguments(operation))
    arguments.pop("uses", None)
    if used := uses(operation):
        arguments = {"uses": f"[{', '.join(used)}]", **arguments}
    keywords = [_below(beside.pop(name, ()), f"{name}={value}") for name, value in arguments.items()]
    values = [_below(beside.pop(one, ()), one) for one in _values(operation, leaf)]
    mark = _call(marker, [*values, *keywords], _before(operation, leaf))
    above = "".join(f"{line}\n" for line in chain.from_iterable(beside.values()))
    return f"{above}{mark}\n{_marked(operation, leaf, stub)}"


def _below(lines: Sequence[str], argument: str) -> str:
    return "\n".join([*lines, argument])


def _values(operation: Operation, leaf: str) -> list[str]:
    """Return the arguments of a marker that have no names."""
    if operation.action == "deleted":
        return [literal(leaf)]
    if operation.action == "edited":
        return list(map(edit_text, operation.edits))
    return [operation.text] if operation.kind == "attribute" else []


def _before(operation: Operation, leaf: str) -> str:
    """Return what stands in front of a marker."""
    if operation.action == "deleted":
        return ""
    annotation = f": {operation.annotation}" if operation.annotation else ""
    return f"{leaf}{annotation} = " if operation.kind == "attribute" else "@"


def _marked(operation: Operation, leaf: str, stub: str) -> str:
    """Return what stands below a marker."""
    if operation.action == "deleted" or operation.kind == "attribute":
        return ""
    if operation.action != "edited":
        return operation.text
    if operation.kind == "class":
        return stub or f"class {leaf}: ...\n"
    return stub or f"def {leaf}({'self' if operation.owner else ''}): ...\n"


def _arguments(operation: Operation) -> Iterator[tuple[str, str]]:
    yield "why", _reason(operation.reason.why)
    if operation.reason.forwarded:
        yield "forwarded", literal(operation.reason.forwarded)
    if operation.reason.drop_when and operation.reason.drop_when != operation.bounds.drop_when:
        yield "drop_when", _reason(operation.reason.drop_when)
    if text := where(operation):
        yield "where", text
    for name, value in (("since", operation.bounds.since), ("until", operation.bounds.until)):
        if value:
            yield name, literal(value)
    if operation.unproven:
        yield "unproven", _reason(operation.unproven)
    if operation.accept:
        yield "accept", f"[{', '.join(literal(str(one)) for one in operation.accept)}]"
    if operation.depends:
        yield "depends", f"[{', '.join(map(literal, operation.depends))}]"


def where(operation: Operation) -> str:
    """Return the argument that selects one of several definitions; empty if decorators select it, or none has to."""
    tree = ast.parse(operation.text) if operation.kind == "function" else ast.Module(body=[], type_ignores=[])
    known = set(chain.from_iterable(map(selecting_decorators, tree.body)))
    texts = [literal(text) for text in selector(operation.symbol) if text not in known]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""


def uses(operation: Operation) -> list[str]:
    """Return what the edits put in that is imported: linters do not see it there."""
    if operation.action != "edited":
        return []
    put_in = frozenset[str]().union(*(names_in(edit.replace) for edit in operation.edits))
    return [one.name for one in operation.imports if one.name in put_in]


def _call(name: str, arguments: Sequence[str], before: str) -> str:
    line = f"{before}{name}({', '.join(arguments)})"
    if "\n" not in line and len(line) <= _WIDTH:
        return line
    return "\n".join([f"{before}{name}(", *(reindent(one, old="", new=_STEP) + "," for one in arguments), ")"])


def edit_text(edit: Edit) -> str:
    """Return a substitution as an edit's marker has it."""
    parts = [literal(edit.find), literal(edit.replace), *([str(edit.count)] if edit.count >= _REPEATED else [])]
    line = f"({', '.join(parts)})"
    if "\n" not in line and len(line) + len(_STEP) <= _WIDTH:
        return line
    return "\n".join(["(", *(f"{_STEP}{part}," for part in parts), ")"])


def literal(text: str) -> str:
    """Return a text as a literal: between three quotes where it has several lines and nothing in it is special."""
    plain = text.replace("\n", "").isprintable()
    if "\n" in text and plain and not re.search(r'\\|"""|"$|[ \t]\n', text):
        return f'"""{text}"""'
    quoted = repr(text)
    if quoted.startswith("'") and '"' not in text:
        return f'"{quoted[1:-1]}"'.replace("\\'", "'")
    return quoted


def _reason(why: str) -> str:
    """Return a reason as a literal, in parts where it is long."""
    text = literal(" ".join(why.split()))
    if len(text) <= _WIDTH - 2 * len(_STEP) or "\\" in text:
        return text
    quote = text[0]
    words = re.findall(r"\S+ ?", text[1:-1])
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) > _WIDTH - 16:
            lines.append("")
        lines[-1] += word
    return f"\n{_STEP}".join(["(", *(f"{quote}{line}{quote}" for line in lines)]) + "\n)"
