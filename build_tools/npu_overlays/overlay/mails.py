"""Mails: the bytes of a patch file → its patches, one for each mail or commit, and the text above a diff."""

from __future__ import annotations

import re
from contextlib import suppress
from email import message_from_bytes

# What `git format-patch`, mailboxes, and `git log -p` begin a mail or a commit with; no line of a hunk begins so.
_BEGINS = re.compile(
    rb"^(?=From \S+ +(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) .*\d\d:\d\d.*\d{4}.*\n[\w>]"
    rb"|commit [0-9a-f]{40}(?: \(.*\))?\r?\n(?:Merge|Author|AuthorDate|tree|parent)\b)",
    re.MULTILINE,
)
_DIFF = re.compile(rb"^(?:diff --git |--- .*\n\+\+\+ )", re.MULTILINE)
_ENCODED = re.compile(rb"^Content-Transfer-Encoding:[ \t]*\"?(?:quoted-printable|base64)", re.MULTILINE | re.IGNORECASE)
_COVER = re.compile(rb"^Subject:[ \t]*\[[^\]]*\b0+/\d+\]", re.MULTILINE)
_CHARSET = re.compile(rb"^Content-Type:.*(?:\n[ \t].*)*\bcharset=\"?([\w.:-]+)", re.MULTILINE | re.IGNORECASE)
_FORM = re.compile(rb"^(?:Content-[\w-]+|MIME-Version):.*\n(?:[ \t].*\n)*", re.MULTILINE | re.IGNORECASE)


def mails(content: bytes) -> list[tuple[int, bytes]]:
    """Return the patches in a file, each with the number of its mail; 0 for the patch in a file that is no mailbox.

    The letter that introduces a series is passed over.
    """
    parts = _parts(content)
    if len(parts) == 1:
        return [(0, parts[0])]
    return [(number, part) for number, part in enumerate(parts, 1) if _DIFF.search(part)] or [(0, content)]


def is_cover(content: bytes) -> bool:
    """Return whether a file is the letter that introduces a series, and nothing else."""
    return bool(_COVER.search(content)) and not _DIFF.search(content)


def letters(content: bytes) -> list[bytes]:
    """Return the text above a patch's diff by mail: several commits may share one diff."""
    above, *mails_above = _BEGINS.split(letter(content))
    return [one for one in (above, *mails_above) if one.strip()]


def letter(content: bytes) -> bytes:
    """Return the text above a patch's diff."""
    return _DIFF.split(content, maxsplit=1)[0]


def with_mail(content: bytes, number: int, mail: bytes) -> bytes:
    """Return a file with another text of one of its mails; an empty one takes the mail out."""
    if not number:
        return mail
    parts = _parts(content)
    parts[number - 1] = mail
    return b"".join(parts) if any(map(_DIFF.search, parts)) else b""


def _parts(content: bytes) -> list[bytes]:
    """Return the mails of a file, decoded; a mail without a diff is joined to the next one."""
    found: list[bytes] = []
    waiting = b""
    for part in map(_decoded, _BEGINS.split(content)):
        waiting += part
        if _DIFF.search(part) or _COVER.search(part):
            found.append(waiting)
            waiting = b""
    return [*found, waiting] if waiting or not found else found


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
