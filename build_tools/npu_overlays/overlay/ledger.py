"""The ledger: an overlay's content in, the table of its README out.

The table stands between two comments; what people write around it stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.errors import ConfigError, Problem
from npu_overlays.overlay.content import Content, file_reason
from npu_overlays.overlay.operations import Reason
from npu_overlays.overlay.patches import read_patch
from npu_overlays.reproducible import write_atomically

README_FILE = "README.md"
BEGIN = "<!-- operations: written by `npu-overlays lock` -->"
END = "<!-- end of operations -->"
_HEADINGS = ("operation", "symbol", "why", "forwarded", "drop when")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table."""

    path: str
    operation: str
    symbol: str
    reason: Reason
    overlay: str


def rows(content: Content) -> Iterator[Row]:
    """Yield everything an overlay does, with its reasons, by path."""
    found = [
        Row(path=one.path, operation=one.action, symbol=one.symbol, reason=one.reason, overlay=one.overlay)
        for one in content.operations
    ]
    found += [
        Row(path=one.path, operation="edit", symbol="", reason=Reason(why=one.edit.why), overlay=one.overlay)
        for one in content.edits
    ]
    found += [
        Row(path=one.path, operation="file", symbol="", reason=Reason(why=file_reason(one)), overlay=one.overlay)
        for one in content.files
    ]
    for file in content.patches:
        patch = read_patch(file)
        found += [
            Row(path=path, operation="patch", symbol=file.path, reason=patch.reason, overlay=file.overlay)
            for path in patch.paths
        ]
    yield from sorted(found, key=lambda row: row.path)


def render_table(content: Content) -> str:
    """Return the Markdown between the comments: a table for each overlay of the lineage that says something itself."""
    own = [row for row in rows(content) if row.overlay == content.overlay.name]
    parts = [_table(own)] if own else []
    for base in reversed(content.lineage):
        inherited = sum(row.overlay == base for row in rows(content))
        parts.append(f"Taken over from [{base}](../{base}/README.md): {inherited} operations and files.\n")
    return "\n".join(parts)


def _table(found: list[Row]) -> str:
    lines: list[str] = []
    for path in dict.fromkeys(row.path for row in found):
        lines += [f"### `{path}`", "", "| " + " | ".join(_HEADINGS) + " |", "|---" * len(_HEADINGS) + "|"]
        for row in found:
            if row.path == path:
                symbol = f"`{row.symbol}`" if row.symbol else ""
                cells = (row.operation, symbol, row.reason.why, row.reason.forwarded, row.reason.drop_when)
                lines.append("| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def render_readme(content: Content, current: str) -> str:
    """Return a README whose table is up to date; raises `ConfigError` where its two comments are out of order.

    Args:
        content: the overlay.
        current: the README's text; empty for a new one.
    """
    overlay = content.overlay
    text = current or f"# {overlay.name}\n\n{overlay.distribution}, revision {overlay.revision}.\n\n{BEGIN}\n{END}\n"
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        where = str(overlay.folder / README_FILE)
        raise ConfigError(
            Problem(where=where, what="has no place for the table", fix=f"write the lines {BEGIN} and {END}")
        )
    return f"{before}{BEGIN}\n\n{render_table(content)}\n{END}{after}"


def write_readme(content: Content, *, write: bool) -> bool:
    """Bring an overlay's README up to date, or only look; returns whether it differs."""
    file: Path = content.overlay.folder / README_FILE
    current = file.read_text("utf-8") if file.is_file() else ""
    wanted = render_readme(content, current)
    if wanted != current and write:
        write_atomically(file, wanted.encode())
    return wanted != current
