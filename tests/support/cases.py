"""Cases in text files: each has a title and named sections, whose lines stand there as they are, without quotes.

::

    === what the case shows
    >>> upstream
    def f(): pass
    >>> refused
    1: the message; what to do
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

_TITLE, _SECTION = "=== ", ">>> "


@dataclass(frozen=True, kw_only=True)
class FileCase:
    """One case.

    Args:
        where: its file and line, for whoever reads that it fails.
        title: what it shows.
        sections: text by name, in the order written; each ends with one newline, or is empty.
    """

    where: str
    title: str
    sections: dict[str, str]

    def __str__(self) -> str:
        return f"{self.where} {self.title}"


def read_cases(folder: Path) -> list[FileCase]:
    """Return every case of the files ``*.txt`` in a folder; raises ValueError where a file is malformed or empty."""
    return list(chain.from_iterable(map(_cases, sorted(folder.glob("*.txt")))))


def _cases(file: Path) -> Iterator[FileCase]:
    lines = file.read_text("utf-8").splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if line.startswith(_TITLE)]
    if not starts or starts[0] != 0:
        raise ValueError(f"{file}:1: a file of cases begins with a line `{_TITLE}title`")
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        where = f"{file.name}:{start + 1}"
        title = lines[start].removeprefix(_TITLE).strip()
        yield FileCase(where=where, title=title, sections=_sections(where, lines[start + 1 : end]))


def _sections(where: str, lines: list[str]) -> dict[str, str]:
    """Return the sections of a case; what stands above the first one is a remark."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        if not line.startswith(_SECTION):
            found.setdefault(name, []).append(line)
            continue
        name = line.removeprefix(_SECTION).strip()
        if name in found:
            raise ValueError(f"{where}: the section `{name}` is there twice")
        found[name] = []
    found.pop("", None)
    return {name: _ended("".join(text)) for name, text in found.items()}


def _ended(text: str) -> str:
    """Return a text less the blank lines that part cases."""
    return f"{text.rstrip()}\n" if text.strip() else ""
