"""Page: changes with the diffs that made them → one HTML file that needs nothing else.

It loads nothing, not even from its own folder, and says so to the browser; what it can do without its script is
everything but filtering. Equal input gives equal bytes.
"""

from __future__ import annotations

import base64
import hashlib
import pkgutil
from collections import Counter

from .. import outline, provenance, reasons
from .diff import parse
from .files import section
from .heading import heading
from .markup import escape, tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..changes import Changes
    from .diff import Hunks

    Shipped = tuple[Changes, dict[str, Hunks]]

__all__ = ["parse", "render"]


def render(distributions: Iterable[Shipped]) -> bytes:
    """Return the page.

    Args:
        distributions: each one's changes and, as `parse` returned it, its diff; in the order to show.
    """
    shipped = list(distributions)
    title = f"{provenance.purpose(changes for changes, _ in shipped)} Patch Summary".strip()
    main = "".join(_distribution(number, *one) for number, one in enumerate(shipped, 1))
    body = tag("header", tag("h1", escape(title))) + _filter(shipped) + tag("main", main)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n{_head(title)}\n<body>\n{body}\n{_script()}\n</body>\n</html>\n'.encode()
    )


def _head(title: str) -> str:
    style = _asset("page.css")
    # Should something of an overlay pass for markup after all, the browser still neither runs nor loads it.
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(_asset('page.js'))}'"
    policy += "; base-uri 'none'; form-action 'none'"
    return (
        '<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>"
    )


def _script() -> str:
    return f"<script>{_asset('page.js')}</script>"


def _asset(name: str) -> str:
    """Return the text of a file of this package, from a zip file too."""
    return (pkgutil.get_data(__name__, name) or b"").decode()


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _distribution(number: int, changes: Changes, hunks: dict[str, Hunks]) -> str:
    files = changes["files"]
    fields = reasons.fields(files)
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
