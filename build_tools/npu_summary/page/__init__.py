"""Page: changes with the diffs that made them → one HTML file that needs nothing else, put in its place.

It loads nothing, not even from its own folder, and says so to the browser; what it can do without its script is
everything but filtering. Equal input gives equal bytes.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import os
import pkgutil
from collections import Counter
from collections.abc import Sequence

from .. import changes as model
from .. import installed, outline, provenance
from ..changes import Changes
from ..installed import Place
from .diff import Hunks, parse
from .markup import escape, tag
from .sections import heading, section

__all__ = ["parse", "render", "write"]

# The changes of a distribution and, as `parse` returned it, its diff.
Shipped = tuple[Changes, dict[str, Hunks]]


def write(places: Sequence[Place], name: str) -> list[str]:
    """Write the page of everything that lies at the places, whole or not at all.

    Returns:
        Why nothing was written, a message for each reason; empty where the page is there.
    """
    shipped: list[Shipped] = []
    problems: list[str] = []
    for place in places:
        read = installed.DATA
        try:
            changes = model.parse(place.read(read))
            read = installed.DIFF
            shipped.append((changes, parse(place.read(read), changes)))
        except (OSError, model.Unreadable) as error:
            problems.append(installed.problem(place, read, error))
    if shipped and not problems:
        try:
            _replace(os.path.realpath(name), render(shipped))
        except OSError as error:
            why = installed.reason(error)
            problems.append(f"{name}: cannot be written: {why}; name a file in a folder that is there")
    return problems


def _replace(file: str, content: bytes) -> None:
    """Write a file beside its place and rename it; a device or a folder, which that would replace, is refused."""
    if os.path.exists(file) and not os.path.isfile(file):
        raise OSError(errno.EINVAL, "it is no file")
    made = f"{file}.{os.getpid()}.part"
    try:
        with open(made, "xb") as opened:
            opened.write(content)
        os.chmod(made, 0o644)  # for a web server, whatever the umask is
        os.replace(made, file)
    finally:
        if os.path.exists(made):
            os.unlink(made)


def render(shipped: Sequence[Shipped]) -> bytes:
    """Return the page of distributions, in the order to show."""
    title = f"{provenance.purpose(changes for changes, _ in shipped)} Patch Summary".strip()
    main = "".join(_distribution(number, *one) for number, one in enumerate(shipped, 1))
    body = tag("header", tag("h1", escape(title))) + _filter(shipped) + tag("main", main)
    script = _asset("page.js")
    body += f"\n<script>{script}</script>"
    return f'<!DOCTYPE html>\n<html lang="en">\n{_head(title, script)}\n<body>\n{body}\n</body>\n</html>\n'.encode()


def _head(title: str, script: str) -> str:
    style = _asset("page.css")
    # Should something of an overlay pass for markup after all, the browser still neither runs nor loads it.
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    policy += "; base-uri 'none'; form-action 'none'"
    return (
        '<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>"
    )


def _asset(name: str) -> str:
    """Return the text of a file of this package, from a zip file too."""
    return (pkgutil.get_data(__name__, name) or b"").decode()


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _distribution(number: int, changes: Changes, hunks: dict[str, Hunks]) -> str:
    files = changes["files"]
    fields = outline.fields(files)
    sections = [section(f"{number}-{n}", file, hunks[file["path"]], fields) for n, file in enumerate(files, 1)]
    return tag("section", heading(number, changes) + "".join(sections), class_="distribution")


def _filter(shipped: Sequence[Shipped]) -> str:
    """Return the form that the script brings to life; it is hidden where none runs."""
    entries = [one for changes, _ in shipped for file in changes["files"] for one in outline.entries(file)]
    kinds = Counter(one["kind"] for one in entries)
    actions = Counter(outline.manner(one) or one["action"] for one in entries)
    search = '<input type="search" name="q" placeholder="file, name or reason" aria-label="search">'
    buttons = '<button type="button" name="diffs" aria-pressed="false">Show all diffs</button><output></output>'
    parts = (search, _choices("kind", kinds), _choices("action", actions), buttons)
    return f'<form id="filter" hidden>{"".join(parts)}</form>'


def _choices(name: str, counted: Counter[str]) -> str:
    """Return a box to tick for each value; none ticked means all."""
    boxes = (
        tag("label", f'<input type="checkbox" name="{name}" value="{escape(value)}">{escape(value)} <small>{n}</small>')
        for value, n in sorted(counted.items())
    )
    return tag("fieldset", tag("legend", f"only {name}") + "".join(boxes))
