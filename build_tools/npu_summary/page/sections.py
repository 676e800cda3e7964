"""Sections: one distribution → its heading, and one changed file → its changes with their reasons, and its diff."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby

from .. import outline, provenance
from ..changes import Change, Changes, FileChange
from ..plurals import plural
from . import diff
from .diff import Hunks
from .markup import code, escape, prose, tag
from .overview import overview

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..outline import Field

# Class and title of a reason's paragraph.
_SHOWN = {
    "why": ("why", ""),
    "forwarded": ("forwarded", "forwarded: "),
    "drop_when": ("drop_when", "can go when: "),
    "overlay": ("layer", "layer: "),
}


def heading(number: int, changes: Changes) -> str:
    """Return what a distribution is, what was changed, where its bytes came from, and the list of its files."""
    facts = ""
    for title, value in _facts(changes):
        facts += tag("dt", escape(title)) + tag("dd", value) if value else ""
    links = ""
    for n, file in enumerate(changes["files"], 1):
        link = tag("a", escape(file["path"]), href=f"#{number}-{n}")
        links += tag("li", f"{link} <small>{outline.count(file)}</small>")
    files = tag("details", tag("summary", "Files") + tag("ol", links), class_="files")
    title = tag("h2", escape(provenance.name(changes)), id=str(number))
    return title + tag("dl", facts) + overview(number, changes) + files + _not_applied(changes) + _assigned(changes)


def _facts(changes: Changes) -> Iterator[tuple[str, str]]:
    """Yield what stands in the heading, as markup."""
    upstream, overlay = changes["upstream"], changes["overlay"]
    yield "Upstream", escape(f"{upstream['project']} {upstream['version']}") + _repository(upstream["repository"])
    yield "Commit", upstream["commit"] and code(upstream["commit"]) + provenance.doubt(changes)
    yield "Tag", escape(upstream["tag"])
    digest = upstream["source"].get("sha256")
    yield "Source", escape(provenance.source(changes)) + (f", sha256 {code(digest)}" if digest else "")
    yield "Overlay", escape(f"{overlay['name']}, {provenance.revision(changes)}")
    yield "Layers", escape(", ".join(overlay["layers"]))
    yield "Requires", escape(", ".join(changes["requires"]))
    files = changes["files"]
    actions = Counter(file["action"] for file in files)
    parts = ", ".join(f"{actions[action]} {action}" for action in ("added", "updated", "deleted") if actions[action])
    total = f"{sum(map(outline.count, files))} in {plural(len(files), 'file')} ({parts})"
    yield "Changes", escape(total if files else "none")


def _repository(address: str) -> str:
    """Return a link to the repository; what is no web address is shown and leads nowhere."""
    if not address.startswith(("https://", "http://")):
        return f" ({escape(address)})" if address else ""
    return f" ({tag('a', escape(address), href=address, rel='noreferrer')})"


def _not_applied(changes: Changes) -> str:
    """Return what is not in the wheel, since this source lacks the files."""
    operations = changes["not_applied"]
    title = f"Not applied: this upstream source lacks the files of {plural(len(operations), 'operation')}"
    return _folded(
        title, ((f"{escape(one['operation'])} {code(provenance.target(one))}", one["why"]) for one in operations)
    )


def _assigned(changes: Changes) -> str:
    """Return what upstream's code still assigns at run time."""
    listed = []
    for one in changes.get("assigned", ()):
        listed.append((f"when {escape(one['when'])}: {', '.join(map(code, one['what']))}", one["why"]))
    return _folded("Assigned at run time by upstream's own code, in other packages", listed)


def _folded(title: str, listed: Iterable[tuple[str, str]]) -> str:
    """Return a list of things, as markup, each with its reason; nothing where there are none."""
    items = "".join(tag("li", what + tag("p", prose(why), class_="why")) for what, why in listed)
    return tag("details", tag("summary", escape(title)) + tag("ul", items), class_="left-out") if items else ""


def section(name: str, file: FileChange, hunks: Hunks, fields: tuple[Field, ...]) -> str:
    """Return the section of one file, under a name that is unique on the page, to be linked to."""
    entries = list(outline.entries(file))
    shown = diff.lines(hunks)
    anchors: dict[int, str] = {}
    for one in entries:
        if (line := one["line"]) and line in shown:
            anchors[line] = f"{name}-{line}"
    groups = ""
    for given, members in groupby(entries, key=lambda one: outline.by_field(one, fields)):
        # Changes that were made for the same reason, and that reason once.
        rows = ""
        for (action, kind), alike in groupby(members, key=_sort):
            rows += _row(action, kind, list(alike), anchors)
        texts = ""
        for field, text in given:
            class_, title = _SHOWN[field]
            texts += tag("p", f"{title}{prose(text)}", class_=class_)
        said = dict(given)
        groups += tag(
            "div",
            tag("div", rows) + tag("div", texts),
            class_="group",
            data_why=said.get("why", ""),
            data_layer=said.get("overlay", ""),
        )
    gone, come = diff.sizes(hunks)
    title = tag("h3", code(file["path"]) + " " + _badge(file["action"]), id=name)
    summary = tag("summary", f"Diff <del>−{gone}</del> <ins>+{come}</ins>")
    folded = tag("details", summary + diff.table(hunks, anchors), class_="diff")
    return tag("section", title + groups + folded, class_="file", data_area=outline.area(file)) + "\n"


def _sort(change: Change) -> tuple[str, str]:
    return outline.manner(change) or change["action"], change["kind"]


def _row(action: str, kind: str, changes: list[Change], anchors: dict[int, str]) -> str:
    """Return a line of changes of one sort, linked to the lines of the diff that show them."""
    names = []
    for change in changes:
        anchor, name = anchors.get(change["line"] or 0), code(outline.symbol(change))
        name = tag("a", name, href=f"#{anchor}") if anchor else name
        affects = change.get("affects", "")
        names.append(f"{name} {tag('small', escape(affects), class_='affects')}" if affects else name)
    content = f"{_badge(action)} {tag('span', escape(kind), class_='kind')} {', '.join(names)}"
    row = tag("p", content, class_="change", data_kind=kind, data_action=action, data_count=str(len(changes)))
    if kind != "import":
        return row
    return tag("details", tag("summary", plural(len(changes), "import")) + row, class_="imports")


def _badge(action: str) -> str:
    return tag("b", escape(action), class_=f"badge {action}")
