"""Sections: one distribution → its heading, and one changed file → its changes with their reasons, and its diff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from .. import outline, provenance
from ..changes import BuiltFrom, Change, Changes, FileChange
from ..plurals import plural
from . import diff
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


def heading(number: int, changes: Changes) -> str:
    """Return what a distribution is, what was changed, where its bytes came from, and the list of its files."""
    facts = "".join(tag("dt", escape(title)) + tag("dd", value) for title, value in _facts(changes) if value)
    parts = (tag("h2", escape(provenance.name(changes)), id=str(number)), tag("dl", facts), _files(number, changes))
    return "".join((*parts, _omissions(changes), _assigned(changes)))


def _facts(changes: Changes) -> Iterator[tuple[str, str]]:
    """Yield what stands in the heading, as markup."""
    upstream, overlay = changes["upstream"], changes["overlay"]
    yield "Upstream", escape(f"{upstream['project']} {upstream['version']}") + _repository(upstream["repository"])
    yield "Commit", upstream["commit"] and code(upstream["commit"]) + provenance.doubt(changes)
    yield "Tag", escape(upstream["tag"])
    yield "Source", escape(provenance.source(changes)) + _digest(upstream["source"])
    yield "Overlay", escape(f"{overlay['name']}, {provenance.revision(changes)}")
    yield "Layers", escape(", ".join(overlay["layers"]))
    yield "Requires", escape(", ".join(changes["requires"]))
    yield "Changes", escape(_numbers(changes))


def _repository(address: str) -> str:
    """Return a link to the repository; what is no web address is shown and leads nowhere."""
    if not address.startswith(("https://", "http://")):
        return f" ({escape(address)})" if address else ""
    return f" ({tag('a', escape(address), href=address, rel='noreferrer')})"


def _digest(source: BuiltFrom) -> str:
    return f", sha256 {code(digest)}" if (digest := source.get("sha256")) else ""


def _numbers(changes: Changes) -> str:
    files = changes["files"]
    by_action = (
        (action, sum(file["action"] == action for file in files)) for action in ("added", "updated", "deleted")
    )
    parts = ", ".join(f"{count} {action}" for action, count in by_action if count)
    return f"{sum(map(outline.count, files))} in {plural(len(files), 'file')} ({parts})" if files else "none"


def _files(number: int, changes: Changes) -> str:
    """Return the list of files, folded where it would fill the window."""
    links = (
        tag("li", tag("a", escape(file["path"]), href=f"#{number}-{n}") + f" <small>{outline.count(file)}</small>")
        for n, file in enumerate(changes["files"], 1)
    )
    return tag("details", tag("summary", "Files") + tag("ol", "".join(links)), class_="files")


def _omissions(changes: Changes) -> str:
    """Return what is not in the wheel, since this source lacks the files."""
    operations = changes["not_applied"]
    title = f"Not applied: this upstream source lacks the files of {plural(len(operations), 'operation')}"
    listed = ((f"{escape(one['operation'])} {code(provenance.target(one))}", one["why"]) for one in operations)
    return _folded(title, listed)


def _assigned(changes: Changes) -> str:
    """Return what upstream's code goes on assigning at run time."""
    assigned = changes.get("assigned", ())
    listed = ((f"when {escape(one['when'])}: {', '.join(map(code, one['what']))}", one["why"]) for one in assigned)
    return _folded("Assigned at run time by upstream's own code, in other packages", listed)


def _folded(title: str, listed: Iterable[tuple[str, str]]) -> str:
    """Return a list of things, as markup, each with its reason; nothing where there are none."""
    items = "".join(tag("li", what + tag("p", escape(why), class_="why")) for what, why in listed)
    return tag("details", tag("summary", escape(title)) + tag("ul", items), class_="left-out") if items else ""


def section(name: str, file: FileChange, hunks: Hunks, fields: tuple[Field, ...]) -> str:
    """Return the section of one file, under a name that is unique on the page, to be linked to."""
    entries = list(outline.entries(file))
    shown = diff.lines(hunks)
    anchors = {line: f"{name}-{line}" for line in filter(None, (one["line"] for one in entries)) if line in shown}
    alike = groupby(entries, key=lambda one: outline.by_field(one, fields))
    groups = (_group(texts, list(members), anchors) for texts, members in alike)
    gone, come = diff.sizes(hunks)
    title = tag("h3", code(file["path"]) + " " + _badge(file["action"]), id=name)
    summary = tag("summary", f"Diff <del>−{gone}</del> <ins>+{come}</ins>")
    folded = tag("details", summary + diff.table(hunks, anchors), class_="diff")
    return tag("section", title + "".join(groups) + folded, class_="file") + "\n"


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
        shown = code(outline.symbol(change))
        name = tag("a", shown, href=f"#{anchor}") if anchor else shown
        affects = change.get("affects", "")
        yield f"{name} {tag('small', escape(affects), class_='affects')}" if affects else name


def _badge(action: str) -> str:
    return tag("b", escape(action), class_=f"badge {action}")
