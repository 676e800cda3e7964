"""Heading: one distribution → what it is, what was changed, where its bytes came from, and its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .. import outline, provenance
from ..changes import BuiltFrom, Changes
from .markup import code, escape, tag


def heading(number: int, changes: Changes) -> str:
    """Return the heading, all that is known of where the wheel came from, and the list of its files."""
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
    yield "Overlay", escape(f"{overlay['name']}, revision {overlay['revision']}")
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
    return f"{sum(map(outline.count, files))} in {len(files)} files ({parts})" if files else "none"


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
    title = f"Not applied: this upstream source lacks the files of {len(operations)} operations"
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
