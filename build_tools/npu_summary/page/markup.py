"""Markup: any text → what a browser shows of it as that text, on every machine by the same bytes."""

from __future__ import annotations

import html
import re

# What a browser obeys, hides or has no place for; not by Python's tables of characters, which differ by its version.
_UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)

# Code in a sentence, as docstrings and Markdown mark it.
_CODE = re.compile("``(.+?)``|`(.+?)`")


def escape(text: str) -> str:
    """Return a text for an element or a quoted attribute; what cannot be seen stands as its escape."""
    return _UNSHOWN.sub(_code_of, html.escape(text))


def tag(name: str, content: str, **attributes: str) -> str:
    """Return an element; its content is markup already, its attributes (``class_`` for ``class``) are not."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items() if value
    )
    return f"<{name}{given}>{content}</{name}>"


def breakable(text: str) -> str:
    """Return a path or a dotted name that a narrow column breaks between its words."""
    return re.sub("[/._]", r"\g<0><wbr>", escape(text))


def code(text: str) -> str:
    """Return a text as code."""
    return tag("code", escape(text))


def prose(text: str) -> str:
    """Return sentences, with what stands in backticks as code."""
    content, end = "", 0
    for found in _CODE.finditer(text):
        content += escape(text[end : found.start()]) + code(found[1] or found[2])
        end = found.end()
    return content + escape(text[end:])


def _code_of(match: re.Match[str]) -> str:
    number = ord(match[0])
    # Bytes that are no UTF-8 were decoded to these.
    number = number - 0xDC00 if 0xDC80 <= number <= 0xDCFF else number  # noqa: PLR2004  # the range Python keeps for it
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"  # noqa: PLR2004  # what fits two digits
