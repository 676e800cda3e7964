"""Port page: a port → an HTML page with each cause, and upstream's old and new definitions side by side."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import HtmlDiff
from html import escape

from npu_overlays.authoring.port.causes import Cause, causes
from npu_overlays.authoring.port.html_document import code, document
from npu_overlays.authoring.port.parts import PortedPart
from npu_overlays.authoring.port.port import Port
from npu_overlays.authoring.port.upstream_commits import UpstreamCommit

# Characters of a line, and lines around what differs.
_WRAPPED, _AROUND = 72, 4
_LINE_END = "\n"


def port_page(port: Port) -> str:
    """Return the page of a port; upstream's text is escaped everywhere on it."""
    state = " It is finished, and locked." if port.is_finished else ""
    body = f"<p>Upstream {escape(port.version)}. {port.fitting}.{state}\n"
    listed = causes(port.parts)
    if listed:
        links = (f'<li><a href="#{escape(one.name)}">{code(one.said)}</a>' for one in listed)
        body += f"<ol>\n{_joined(links)}</ol>\n"
    for cause in listed:
        body += _joined(_section(cause, port))
    for problem in port.problems:
        body += f"<p><b>{escape(problem.where)}</b>: {code(problem.what)}; {code(problem.fix)}\n"
    return document(f"Port of {port.old.name} to {port.new.name}", body)


def _joined(lines: Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _section(cause: Cause, port: Port) -> Iterator[str]:
    """Yield the lines of one cause: what upstream did, what is proposed, and each part."""
    yield f'<h2 id="{escape(cause.name)}">{code(cause.said).replace(_LINE_END, "<br>")}</h2>'
    for commit in cause.commits:
        yield f"<p>By {_linked(commit, port.new.pin.repository)}"
    if cause.is_open:
        yield f"<p>{escape(cause.decision[:1].upper() + cause.decision[1:])}: <code>{escape(cause.option)}</code>"
    for text in cause.unknown:
        yield f"<p>To look at: {code(text)}"
    for text in cause.operations:
        yield f"<pre>{escape(text)}</pre>"
    for part in cause.parts:
        yield f"<details><summary>{part.action} <code>{escape(part.name)}</code></summary>"
        yield f"<p>{escape(part.where)}: {code(part.verdict.evidence or part.verdict.kind)}"
        yield f"{_compared(part, port)}</details>"


def _linked(commit: UpstreamCommit, repository: str) -> str:
    """Return a commit, as a link where the repository has pages."""
    if not repository.startswith("https://"):
        return escape(str(commit))
    return f'<a href="{escape(repository.removesuffix(".git"))}/commit/{commit.id}">{escape(str(commit))}</a>'


def _compared(part: PortedPart, port: Port) -> str:
    """Return the table of a part's old and new definition, with the lines around what differs."""
    old, new = port.definitions(part)
    if not old and not new:
        return "<p>Neither version of upstream has it."
    if old == new:
        return "<p>Both versions of upstream have the same text."
    made = HtmlDiff(tabsize=4, wrapcolumn=_WRAPPED)
    return made.make_table(old, new, escape(port.old.name), escape(port.new.name), context=True, numlines=_AROUND)
