"""Difference: the hunks of one file → its diff as markup, in the colours of its language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import find_lexer_class_for_filename
from pygments.lexers.special import TextLexer

from npu_overlays.console import readable
from npu_summary.page.diff import NO_END
from npu_summary.page.markup import tag

if TYPE_CHECKING:
    from pygments.lexer import Lexer

    from npu_summary.page.diff import Hunks, Row


def difference(path: str, hunks: Hunks) -> str:
    """Return the lines of a diff, each marked as ``same``, ``gone`` or ``come``; empty where there are none to show.

    Args:
        path: of the file, whose ending says what it is written in.
        hunks: as the page of the summary has them.
    """
    lexer = (find_lexer_class_for_filename(path) or TextLexer)(stripnl=False, ensurenl=False)
    blocks = (tag("span", "".join(_lines(hunk, lexer)), class_="hunk") for hunk in hunks)
    return tag("pre", "".join(blocks), class_="diff") if hunks else ""


def is_text(hunks: Hunks) -> bool:
    """Return whether what differs can be shown."""
    return not any("\0" in row[1] or "\0" in row[3] for hunk in hunks for row in hunk)


def _lines(hunk: Sequence[Row], lexer: Lexer) -> Iterator[str]:
    """Yield the lines of a hunk: what went before what came in its place."""
    gone: list[str] = []
    come: list[str] = []
    old, new = iter(_coloured([row[:2] for row in hunk], lexer)), iter(_coloured([row[2:] for row in hunk], lexer))
    for row in hunk:
        left = next(old) if row[0] is not None else ""
        right = next(new) if row[2] is not None else ""
        if row[0] is not None and row[2] is not None and row[1] == row[3]:
            yield from (*gone, *come, _line("same", row[2], right))
            gone, come = [], []
            continue
        gone += [_line("gone", row[0], left)] if row[0] is not None else []
        come += [_line("come", row[2], right)] if row[2] is not None else []
    yield from (*gone, *come)


def _coloured(lines: Sequence[tuple[int | None, str]], lexer: Lexer) -> list[str]:
    """Return the lines of one side as markup; coloured together, as a string may go on for several."""
    texts = [text.partition(NO_END) for number, text in lines if number is not None]
    code = "\n".join(readable(text, keep="\t") for text, _, _ in texts)
    coloured = highlight(code, lexer, HtmlFormatter(nowrap=True)).split("\n")
    return [
        line + (tag("i", "no end of line") if end else "") for line, (_, end, _) in zip(coloured, texts, strict=False)
    ]


def _line(kind: str, number: int, code: str) -> str:
    # Numbers and signs are drawn by the style sheet, so that whoever copies code gets the code.
    return tag("span", code or " ", class_=kind, data_n=str(number))
