"""Heading: one distribution → what it is, what was changed, where its bytes came from, and its files."""

from __future__ import annotations

from .. import outline, provenance
from .markup import code, escape, tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..changes import BuiltFrom, Changes


def heading(number: int, changes: Changes) -> str:
    """Return the heading, all that is known of where the wheel came from, and the list of its files."""
    name = f"{changes['distribution']['name']} {changes['distribution']['version']}"
    facts = "".join(tag("dt", escape(title)) + tag("dd", value) for title, value in _facts(changes) if value)
    parts = (tag("h2", escape(name), id=str(number)), tag("dl", facts), _files(number, changes))
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
    if not operations:
        return ""
    items = (
        tag(
            "li",
            f"{escape(one['operation'])} {code(':'.join(filter(None, (one['path'], one['symbol']))))}"
            + tag("p", escape(one["why"]), class_="why"),
        )
        for one in operations
    )
    title = f"Not applied: this upstream source lacks the files of {len(operations)} operations"
    return tag("details", tag("summary", escape(title)) + tag("ul", "".join(items)), class_="left-out")


def _assigned(changes: Changes) -> str:
    """Return what upstream's code goes on assigning at run time."""
    items = "".join(
        tag(
            "li",
            f"when {escape(one['when'])}: {', '.join(map(code, one['what']))}"
            + tag("p", escape(one["why"]), class_="why"),
        )
        for one in changes.get("assigned", ())
    )
    title = "Assigned at run time by upstream's own code, in other packages"
    return tag("details", tag("summary", escape(title)) + tag("ul", items), class_="left-out") if items else ""
