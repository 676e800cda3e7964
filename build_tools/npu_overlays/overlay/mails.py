"""Mails: the bytes of a patch file → its patches, one for each mail or commit, and the text above a diff."""

from __future__ import annotations

import re
from contextlib import suppress
from email import message_from_bytes
from typing import NamedTuple

from npu_overlays.overlay.sections import holds_diff, letter

# What `git format-patch`, mailboxes, and `git log -p` begin a mail or a commit with; no line of a hunk begins so.
_BEGINS = re.compile(
    rb"^(?=From \S+ +(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) .*\d\d:\d\d.*\d{4}.*\n[\w>]"
    rb"|commit [0-9a-f]{40}(?: \(.*\))?\r?\n(?:Merge|Author|AuthorDate|tree|parent)\b)",
    re.MULTILINE,
)
_ENCODED = re.compile(rb"^Content-Transfer-Encoding:[ \t]*\"?(?:quoted-printable|base64)", re.MULTILINE | re.IGNORECASE)
_COVER = re.compile(rb"^Subject:[ \t]*\[[^\]]*\b0+/\d+\]", re.MULTILINE)
_CHARSET = re.compile(rb"^Content-Type:.*(?:\n[ \t].*)*\bcharset=\"?([\w.:-]+)", re.MULTILINE | re.IGNORECASE)
_FORM = re.compile(rb"^(?:Content-[\w-]+|MIME-Version):.*\n(?:[ \t].*\n)*", re.MULTILINE | re.IGNORECASE)


class Mail(NamedTuple):
    """One patch of a file.

    Args:
        number: its number in the file; 0 if the file is no mailbox.
        content: its bytes, decoded.
        lines: the file's line for each of its lines; for an encoded mail, always its first.
    """

    number: int
    content: bytes
    lines: tuple[int, ...]


def mails(content: bytes) -> list[Mail]:
    """Return the patches in a file, without the cover letter of a series."""
    parts = _parts(content)
    if len(parts) == 1:
        return [parts[0]._replace(number=0)]
    return [part for part in parts if holds_diff(part.content)] or [_whole(0, content, content, 1)]


def is_cover(content: bytes) -> bool:
    """Return whether a file is only a series' cover letter."""
    return bool(_COVER.search(content)) and not holds_diff(content)


def letters(content: bytes) -> list[bytes]:
    """Return the text above a patch's diff by mail: several commits may share one diff."""
    above, *mails_above = _BEGINS.split(letter(content))
    return [one for one in (above, *mails_above) if one.strip()]


def with_mail(content: bytes, number: int, mail: bytes) -> bytes:
    """Return a file with a new text for one of its mails; an empty one removes the mail."""
    if not number:
        return mail
    parts = [mail if one.number == number else one.content for one in _parts(content)]
    return b"".join(parts) if any(map(holds_diff, parts)) else b""


def _parts(content: bytes) -> list[Mail]:
    """Return the mails of a file, decoded; a mail without a diff is joined to the next one."""
    found: list[Mail] = []
    waiting, line = Mail(1, b"", ()), 1
    for part in _BEGINS.split(content):
        one = _whole(waiting.number, _decoded(part), part, line)
        waiting = one._replace(content=waiting.content + one.content, lines=waiting.lines + one.lines)
        line += part.count(b"\n")
        if holds_diff(one.content) or _COVER.search(one.content):
            found.append(waiting)
            waiting = Mail(len(found) + 1, b"", ())
    return [*found, waiting] if waiting.content or not found else found


def _whole(number: int, content: bytes, written: bytes, line: int) -> Mail:
    """Return the mail that begins at a line of a file, as written there."""
    size = len(content.split(b"\n")) - (content.endswith(b"\n") or not content)
    is_same = content.count(b"\n") == written.count(b"\n")
    return Mail(number, content, tuple(range(line, line + size)) if is_same else (line,) * size)


def _decoded(mail: bytes) -> bytes:
    """Return a mail without quoted-printable or base64, with the text above its diff in UTF-8."""
    head, _, _ = mail.partition(b"\n\n")
    if charset := _CHARSET.search(head):
        above = letter(mail)
        with suppress(LookupError, UnicodeDecodeError):
            mail = above.decode(charset.group(1).decode("ascii")).encode() + mail[len(above) :]
    if not _ENCODED.search(mail):
        return mail
    first, rest = (b"", mail) if not head.startswith(b"From ") else mail.split(b"\n", 1)
    texts = (part.get_payload(decode=True) for part in message_from_bytes(rest).walk() if not part.is_multipart())
    body = b"".join(text for text in texts if isinstance(text, bytes)).replace(b"\r\n", b"\n")
    above = _FORM.sub(b"", rest[: len(head) - len(first)].rstrip(b"\r\n") + b"\n")
    return first + b"\n" * bool(first) + above + b"\n" + body
