"""Commit messages: units of an overlay → the message of the commit that applies them, which can be read back."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from npu_overlays.authoring.checkout.units import Unit
from npu_overlays.overlay.project import Overlay

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
    """Who a commit says it is by, and when: from the pin alone, so that equal overlays give equal commits."""

    name: str
    email: str
    seconds: int

    def __str__(self) -> str:
        return f"{self.name} <{self.email}> {self.seconds} +0000"


def identity(overlay: Overlay, seconds: int) -> Identity:
    """Return who commits what an overlay says; `seconds` is upstream's date, counted from 1970."""
    return Identity(name=overlay.distribution, email=overlay.name, seconds=seconds)


def message(units: Sequence[Unit]) -> str:
    """Return the message of a commit: the reason, and in trailers what was done to what, and which file says so."""
    first = units[0]
    subject = f"{_leaf(first)}: {_line(first.reason.why)}"
    short = _shortened(subject)
    body = [_wrapped(one.reason.why) for one in units] if len(units) > 1 or short != subject else []
    return "\n\n".join([short, *dict.fromkeys(body), "\n".join(_trailers(units))]) + "\n"


def _leaf(unit: Unit) -> str:
    """Return the symbol, or the name of the file, without what is around it unless `git am` would take it away."""
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
        yield from (f"{TARGET}: {target}" for target in unit.targets)
        yield f"{FILE}: {unit.file}"
        fields = {
            "Forwarded": unit.reason.forwarded,
            "Drop-when": unit.reason.drop_when,
            "Since": unit.bounds.since,
            "Until": unit.bounds.until,
        }
        yield from (f"{name}: {_line(value)}" for name, value in fields.items() if value.strip())
