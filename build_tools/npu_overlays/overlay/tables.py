"""Tables: reading TOML with every mistake collected under its full key."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from npu_overlays.errors import ConfigError, Problem, nearest, suggestion

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")

_KEY = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
# A line that begins a table, or the value of a key.
_STATEMENT = re.compile(
    rf"""[ \t]*(?:(?P<header>\[\[?[^\[\]\n]+\]\]?)[ \t]*(?:\#|$)|(?P<key>{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*)[ \t]*=)""",
    re.MULTILINE,
)
# What may hold a line's end or a bracket without being one, and those.
_TOKEN = re.compile(
    r'''"""(?:\\.|[^\\])*?"""+|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*|[][{}\n]''', re.DOTALL
)
# "at line 3, column 4" of the parser's messages.
_AT = re.compile(r"at line (\d+)")
_PLACE = re.compile(r" \(at (line \d+, column \d+|end of document)\)$")
_EXAMPLES = {str: '"…"', int: "1", bool: "true", list: "[…]", dict: "{ … }"}
_NAMES = {str: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "a table"}


def load_toml(path: Path) -> dict[str, Any]:
    """Return a TOML file's content; raises `ConfigError` naming the file where it is unreadable or malformed."""
    return toml_of(read_bytes(path), path)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file; raises `ConfigError` naming it where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(
            Problem(
                where=str(path), what=f"cannot be read: {error.strerror}", fix="see that it is there and may be read"
            )
        ) from error


def toml_of(content: bytes, path: Path) -> dict[str, Any]:
    """Return what a TOML text holds; raises `ConfigError` naming the file it is from where it is malformed."""
    try:
        return _parse(content)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        at = _AT.search(str(error))
        line = int(at.group(1)) if at else content.count(b"\n", 0, getattr(error, "start", None)) + 1
        what = f"not valid TOML: {_PLACE.sub('', str(error))}"
        fix = "write a value, and texts in quotes" if "Invalid value" in what else "correct the syntax there"
        raise ConfigError(Problem(where=f"{path}:{line}", what=what, fix=fix)) from error


def parse_toml(content: bytes) -> dict[str, Any]:
    """Return the content of upstream's TOML; empty if it is malformed."""
    try:
        return _parse(content)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}


def _parse(content: bytes) -> dict[str, Any]:
    values: dict[str, Any] = tomllib.loads(content.decode("utf-8"))
    return values


def place_in(file: Path | str, key: str, text: str = "") -> str:
    """Return the place of a key for messages, ``FILE:LINE: KEY``; without the line where the file cannot be read.

    `text` is the file's, where that was read before.
    """
    try:
        text = text or Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return f"{file}: {key}"
    return f"{file}:{line_of_key(text, key)}: {key}"


def line_of_key(text: str, key: str) -> int:
    """Return the 1-based line of a TOML text that gives a key, or of the nearest table that could hold it.

    Args:
        text: of the file.
        key: dotted, with the number of a table in an array of tables: ``tool.overlay.edit[2].paths``.
    """
    lines = _lines_of_keys(text)
    key = key.partition(" ")[0]  # behind which an entry is named
    while key:
        within = (line for one, line in lines.items() if one == key or one.startswith((f"{key}.", f"{key}[")))
        if line := next(within, 0):
            return line
        key = re.sub(r"(?:\[\d+\]|(?:^|\.)[^.\[\]]+)$", "", key)
    return 1


@lru_cache(maxsize=64)  # a configuration of many edits asks for the line of each
def _lines_of_keys(text: str) -> dict[str, int]:
    """Return the line of each table and key of a TOML text."""
    found: dict[str, int] = {}
    arrays, table = Counter[str](), ""
    for number, start in _statement_lines(text):
        match = _STATEMENT.match(text, start)
        if not match:
            continue
        header = match["header"] or ""
        names = [name.strip(" \t\"'") for name in (header.strip("[]") or match["key"]).split(".")]
        key = "" if header else table
        for name in names:
            # The tables below an array of tables belong to its last one.
            last = f"{key}.{name}" if key else name
            arrays[last] += header.startswith("[[") and name is names[-1]
            key = f"{last}[{arrays[last]}]" if arrays[last] else last
        table = key if header else table
        found[key] = number
    return found


def _statement_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the number and the offset of each line of a TOML text that does not begin within a value."""
    yield 1, 0
    number, depth = 1, 0
    for token in _TOKEN.finditer(text):
        shown = token[0]
        number += shown.count("\n")
        depth += (shown in "[{") - (shown in "]}")
        if shown == "\n" and not depth:
            yield number, token.end()


class Table:
    """A TOML table being read; records the keys that were read, and collects mistakes.

    Args:
        values: the table.
        where: file name, for messages.
        key: dotted key of the table, for messages.
        problems: the list all tables of one file share.
    """

    def __init__(self, values: Mapping[str, Any], *, where: str, key: str, problems: list[Problem]) -> None:
        self._values = values
        self._where = where
        self._key = key
        self._asked: set[str] = set()
        self._unread: set[str] = set()
        self.problems = problems

    def problem(self, key: str, what: str, fix: str) -> None:
        """Note a mistake at one of this table's keys; of a value that could not be read, only the first."""
        if key in self._unread:
            return
        self.problems.append(Problem(where=place_in(self._where, self._dotted(key)), what=what, fix=fix))

    def _dotted(self, key: str) -> str:
        return f"{self._key}.{key}" if self._key else key

    def get(self, key: str, kind: type[T], default: T | None = None, *, hint: str = "") -> T:
        """Return a value of the given type; without `default` the key is required."""
        self._asked.add(key)
        value = self._values.get(key, default)
        if value is None:
            self.problem(key, "missing", hint or self._example(key, kind))
        elif not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.problem(key, f"must be {_NAMES[kind]}, not {value!r}", hint or self._example(key, kind))
        else:
            return value
        self._unread.add(key)
        return kind() if default is None else default

    def _example(self, key: str, kind: type) -> str:
        """Return how a key is written, as a fix."""
        return f"write the table [{self._dotted(key)}]" if kind is dict else f"write {key} = {_EXAMPLES[kind]}"

    def positive(self, key: str, default: int | None = None) -> int:
        """Return a whole number from 1 on."""
        value = self.get(key, int, default, hint=f"write {key} = 1")
        if value < 1 and key in self._values:
            self.problem(key, f"counts from 1, not {value}", f"write {key} = 1")
        return value

    def filled(self, key: str, *, hint: str = "") -> str:
        """Return a text that is not blank."""
        value = self.get(key, str, hint=hint)
        if not value.strip():
            self.problem(key, "is empty", hint or self._example(key, str))
        return value

    def keys(self) -> list[str]:
        """Return the table's keys, in its order."""
        return list(self._values)

    def texts(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        """Return a list of texts."""
        values = self.get(key, list, None if required else [])
        if not all(isinstance(value, str) for value in values):
            self.problem(key, "must be a list of texts", f'write {key} = ["…"]')
            return ()
        if required and not values:
            self.problem(key, "is empty", f'write {key} = ["…"], with at least one text')
        return tuple(values)

    def table(self, key: str, *, required: bool = False) -> Table:
        """Return a sub-table."""
        return self._child(key, self.get(key, dict, None if required else {}))

    def tables(self, key: str) -> Iterator[Table]:
        """Yield the tables of an array of tables."""
        for number, values in enumerate(self.get(key, list, []), 1):
            if isinstance(values, dict):
                yield self._child(f"{key}[{number}]", values)
            else:
                self.problem(f"{key}[{number}]", "must be a table", f"write [[{self._dotted(key)}]]")

    def _child(self, key: str, values: Mapping[str, Any]) -> Table:
        return Table(values, where=self._where, key=self._dotted(key), problems=self.problems)

    def refuse_others(self) -> None:
        """Note every key that was not read."""
        known = ", ".join(sorted(self._asked))
        for key in self._values:
            if key not in self._asked:
                meant = nearest(key, self._asked - self._values.keys())
                self.problem(key, "unknown key", suggestion(meant, f"write one of {known}, or delete it"))
