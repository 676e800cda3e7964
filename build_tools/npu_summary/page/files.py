"""Files: one changed file → its changes with their reasons, and its diff."""

from __future__ import annotations

from itertools import groupby

from .. import changes as model
from .. import outline
from . import table
from .markup import code, escape, tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..changes import Change, FileChange
    from .diff import Hunks

_TITLES = {"why": "", "forwarded": "forwarded: ", "drop_when": "can go when: ", "layer": "layer: "}


def section(name: str, file: FileChange, hunks: Hunks) -> str:
    """Return the section of one file.

    Args:
        name: unique on the page, to be linked to.
        file: as `changes.json` has it.
        hunks: what differs.
    """
    entries = list(outline.entries(file))
    shown = table.lines(hunks)
    anchors = {line: f"{name}-{line}" for line in filter(None, (one.get("line") for one in entries)) if line in shown}
    groups = (
        _group(reasons, list(members), anchors) for reasons, members in groupby(entries, key=model.joined_reasons)
    )
    gone, come = table.sizes(hunks)
    title = tag("h3", code(file["path"]) + " " + _badge(file["action"]), id=name)
    summary = tag("summary", f"Diff <del>−{gone}</del> <ins>+{come}</ins>")
    diff = tag("details", summary + table.table(hunks, anchors), class_="diff")
    return tag("section", title + "".join(groups) + diff, class_="file") + "\n"


def _group(reasons: list[tuple[model.Field, str]], changes: list[Change], anchors: dict[int, str]) -> str:
    """Return the changes that were made for the same reason, and that reason once."""
    rows = (_row(*key, list(alike), anchors) for key, alike in groupby(changes, key=_sort))
    texts = (tag("p", f"{_TITLES[field]}{escape(text)}", class_=field) for field, text in reasons)
    return tag("div", tag("div", "".join(rows)) + tag("div", "".join(texts)), class_="group")


def _sort(change: Change) -> tuple[str, str]:
    return outline.manner(change) or change["action"], change["kind"]


def _row(action: str, kind: str, changes: list[Change], anchors: dict[int, str]) -> str:
    names = ", ".join(_names(changes, anchors))
    content = f"{_badge(action)} {tag('span', escape(kind), class_='kind')} {names}"
    return tag("p", content, class_="change", data_kind=kind, data_action=action, data_count=str(len(changes)))


def _names(changes: list[Change], anchors: dict[int, str]) -> Iterator[str]:
    for change in changes:
        anchor = anchors.get(change.get("line") or 0)
        yield tag("a", code(change["name"]), href=f"#{anchor}") if anchor else code(change["name"])


def _badge(action: str) -> str:
    return tag("b", escape(action), class_=f"badge {action}")
