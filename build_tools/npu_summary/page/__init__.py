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

_WIDTH = 60  # characters of a reason in the filter

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
        os.chmod(made, 0o644)  # readable for a web server, under any umask
        os.replace(made, file)
    finally:
        if os.path.exists(made):
            os.unlink(made)


def render(shipped: Sequence[Shipped]) -> bytes:
    """Return the page of distributions, in the order to show."""
    title = f"{provenance.purpose(changes for changes, _ in shipped)} Patch Summary".strip()
    wheels = "these wheels" if len(shipped) > 1 else "this wheel"
    intro = f"Every change of {wheels} to upstream's source, with its reason and its diff. "
    intro += "The build compared the source before and after, so no change is missing."
    headings = main = ""
    for number, (changes, hunks) in enumerate(shipped, 1):
        headings += tag("section", heading(number, changes))
        content = tag("h2", f"Changes in {escape(provenance.name(changes))}")
        fields = outline.fields(changes["files"])
        for n, file in enumerate(changes["files"], 1):
            content += section(f"{number}-{n}", file, hunks[file["path"]], fields)
        main += tag("section", content, class_="distribution")
    # From a zip file too.
    style, script = ((pkgutil.get_data(__name__, name) or b"").decode() for name in ("page.css", "page.js"))
    # Should something of an overlay pass for markup after all, the browser still neither runs nor loads it.
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    policy += "; base-uri 'none'; form-action 'none'"
    head = (
        '<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>"
    )
    body = tag("header", tag("h1", escape(title)) + tag("p", intro)) + headings + _filter(shipped) + tag("main", main)
    body += f"\n<script>{script}</script>"
    return f'<!DOCTYPE html>\n<html lang="en">\n{head}\n<body>\n{body}\n</body>\n</html>\n'.encode()


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _filter(shipped: Sequence[Shipped]) -> str:
    """Return the form that the script brings to life; it is hidden where none runs. No box ticked means all."""
    counted = _counted(shipped)
    choices = ""
    for name in ("kind", "action"):
        boxes = tag("legend", f"only {name}")
        for value, n in sorted(counted[name].items()):
            box = f'<input type="checkbox" name="{name}" value="{escape(value)}">'
            boxes += tag("label", f"{box}{escape(value)} <small>{n}</small>")
        choices += tag("fieldset", boxes)
    for name, every in (("area", "every area"), ("why", "every reason"), ("layer", "every layer")):
        if len(counted[name]) > 1:
            options = f'<option value="">{every}</option>'
            for value, n in counted[name].most_common():
                options += tag("option", f"{escape(_short(value))} ({n})", value=value)
            choices += f'<select name="{name}" aria-label="{name}">{options}</select>'
    search = '<input type="search" name="q" placeholder="file, name or reason" aria-label="search">'
    buttons = '<button type="button" name="diffs" aria-pressed="false">Show all diffs</button><output></output>'
    return f'<form id="filter" hidden>{search}{choices}{buttons}</form>'


def _counted(shipped: Sequence[Shipped]) -> dict[str, Counter[str]]:
    """Return how many changes have each value, by what the form filters."""
    counted: dict[str, Counter[str]] = {name: Counter() for name in ("kind", "action", "area", "why", "layer")}
    for changes, _ in shipped:
        fields = outline.fields(changes["files"])
        for file in changes["files"]:
            for one in outline.entries(file):
                said = dict(outline.by_field(one, fields))
                counted["kind"][one["kind"]] += 1
                counted["action"][outline.manner(one) or one["action"]] += 1
                counted["area"][outline.area(file)] += 1
                counted["why"][said.get("why", "")] += 1
                counted["layer"][said.get("overlay", "")] += 1
    for values in counted.values():
        values.pop("", None)
    return counted


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
