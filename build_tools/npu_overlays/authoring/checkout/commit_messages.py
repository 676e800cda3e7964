"""Commit messages: units of an overlay → the message of the commit that applies them, which can be read back."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from npu_overlays.authoring.checkout.units import Unit

OPERATION = "Overlay-Operation"
TARGET = "Overlay-Target"
FILE = "Overlay-File"
_WIDTH = 72
_MORE = " …"
# What `git am` takes from the beginning of a subject.
_DROPPED = re.compile(r"re:|\[|:", re.IGNORECASE)
# In a mail, a line of the body that looks like the beginning of a diff would end the message, and one that looks like a
# header would be one.
_READ = re.compile(r"^(?=---|diff |Index: |>?From |(?:From|Subject|Date):|\[PATCH\])", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The author and date of a commit, taken from the pin alone, so that equal overlays give equal commits."""

    name: str
    email: str
    seconds: int  # upstream's date, counted from 1970

    def __str__(self) -> str:
        return f"{self.name} <{self.email}> {self.seconds} +0000"


def message(units: Sequence[Unit]) -> str:
    """Return the message of a commit: the reasons, and in trailers the action, its targets, and the overlay's file."""
    first = units[0]
    subject = f"{_leaf(first)}: {_line(first.reason.why)}"
    paragraphs = [_shortened(subject)]
    if len(units) > 1 or paragraphs[0] != subject:
        paragraphs += dict.fromkeys(_wrapped(one.reason.why) for one in units)
    paragraphs.append("\n".join(_trailers(units)))
    return "\n\n".join(paragraphs) + "\n"


def _leaf(unit: Unit) -> str:
    """Return the symbol or the file name without its path, or with it where `git am` would drop the bare name."""
    name = unit.name
    leaf = name.partition(":")[2] if ":" in name and not name.endswith(":*") else name.rpartition("/")[2]
    return name if _DROPPED.match(f"{leaf}:") else leaf


def _shortened(subject: str) -> str:
    short = textwrap.shorten(subject, _WIDTH, placeholder=_MORE)
    # Not everybody puts spaces between words.
    return short if len(short) > _WIDTH // 2 or short == subject else subject[: _WIDTH - len(_MORE)].rstrip() + _MORE


def _line(text: str) -> str:
    return " ".join(text.split())


def _wrapped(text: str) -> str:
    lines = textwrap.wrap(_line(text), _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(_READ.sub(" ", line) for line in lines)


def _trailers(units: Sequence[Unit]) -> Iterator[str]:
    for unit in units:
        yield f"{OPERATION}: {unit.action}"
        for target in unit.targets:
            yield f"{TARGET}: {target}"
        yield f"{FILE}: {unit.file}"
        fields = {
            "Forwarded": unit.reason.forwarded,
            "Drop-when": unit.reason.drop_when,
            "Since": unit.bounds.since,
            "Until": unit.bounds.until,
        }
        for name, value in fields.items():
            if value.strip():
                yield f"{name}: {_line(value)}"
