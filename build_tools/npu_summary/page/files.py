"""Files: one changed file → its changes with their reasons, and its diff."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from .. import outline
from ..changes import Change, FileChange
from . import table
from .diff import Hunks
from .markup import code, escape, tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..outline import Field, Reasons

# Class and title of a reason's paragraph.
_SHOWN = {
    "why": ("why", ""),
    "forwarded": ("forwarded", "forwarded: "),
    "drop_when": ("drop_when", "can go when: "),
    "overlay": ("layer", "layer: "),
}


def section(name: str, file: FileChange, hunks: Hunks, fields: tuple[Field, ...]) -> str:
    """Return the section of one file.

    Args:
        name: unique on the page, to be linked to.
        file: as `changes.json` has it.
        hunks: what differs.
        fields: which reasons to show.
    """
    entries = list(outline.entries(file))
    shown = table.lines(hunks)
    anchors = {line: f"{name}-{line}" for line in filter(None, (one["line"] for one in entries)) if line in shown}
    alike = groupby(entries, key=lambda one: outline.by_field(one, fields))
    groups = (_group(texts, list(members), anchors) for texts, members in alike)
    gone, come = table.sizes(hunks)
    title = tag("h3", code(file["path"]) + " " + _badge(file["action"]), id=name)
    summary = tag("summary", f"Diff <del>−{gone}</del> <ins>+{come}</ins>")
    diff = tag("details", summary + table.table(hunks, anchors), class_="diff")
    return tag("section", title + "".join(groups) + diff, class_="file") + "\n"


def _group(given: Reasons, changes: list[Change], anchors: dict[int, str]) -> str:
    """Return the changes that were made for the same reason, and that reason once."""
    shown = ((_SHOWN[field], text) for field, text in given)
    rows = (_row(*key, list(alike), anchors) for key, alike in groupby(changes, key=_sort))
    texts = (tag("p", f"{title}{escape(text)}", class_=name) for (name, title), text in shown)
    return tag("div", tag("div", "".join(rows)) + tag("div", "".join(texts)), class_="group")


def _sort(change: Change) -> tuple[str, str]:
    return outline.manner(change) or change["action"], change["kind"]


def _row(action: str, kind: str, changes: list[Change], anchors: dict[int, str]) -> str:
    names = ", ".join(_names(changes, anchors))
    content = f"{_badge(action)} {tag('span', escape(kind), class_='kind')} {names}"
    return tag("p", content, class_="change", data_kind=kind, data_action=action, data_count=str(len(changes)))


def _names(changes: list[Change], anchors: dict[int, str]) -> Iterator[str]:
    for change in changes:
        anchor = anchors.get(change["line"] or 0)
        name = tag("a", code(change["name"]), href=f"#{anchor}") if anchor else code(change["name"])
        affects = change.get("affects", "")
        yield f"{name} {tag('small', escape(affects), class_='affects')}" if affects else name


def _badge(action: str) -> str:
    return tag("b", escape(action), class_=f"badge {action}")
