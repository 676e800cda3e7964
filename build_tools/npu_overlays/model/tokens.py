"""Tokens of Python source, the same on every Python version.

The standard `tokenize` splits f-strings from Python 3.12 on and refuses
fragments with an unmatched bracket, so a substitution would match on one
version and not on another. This lexer treats every string literal as one
token and takes any fragment of code that parses on Python 3.10.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

TokenKind = Literal["comment", "string", "number", "name", "newline", "op"]

_PATTERN = re.compile(
    r"""
      (?P<skip>[ \t\f]+|\\\r?\n)
    | (?P<comment>\#[^\r\n]*)
    | (?P<string>(?i:r|b|u|f|br|rb|fr|rf)?(?:
          \"\"\"(?:\\[\s\S]|(?!\"\"\")[^\\])*\"\"\" | '''(?:\\[\s\S]|(?!''')[^\\])*'''
        | \"(?:\\(?:\r\n|[\s\S])|[^\\"\r\n])*\" | '(?:\\(?:\r\n|[\s\S])|[^\\'\r\n])*'))
    | (?P<number>(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+
        |(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?)[jJ]?)
    | (?P<name>\w+)
    | (?P<newline>\r\n|\r|\n)
    | (?P<op>\*\*=|//=|>>=|<<=|\.\.\.|!=|->|:=|==|<=|>=|\*\*|//|>>|<<|[-+*/%&|^@]=|.)
    """,
    re.VERBOSE,
)

# Without one of these, no string literal spans lines.
_SPANNING = ('"""', "'''", "\\\n", "\\\r\n")


@dataclass(frozen=True)
class Token:
    """One token: its kind, its text, and where it starts and ends (character offsets)."""

    kind: TokenKind
    text: str
    start: int
    end: int


def tokens(source: str) -> Iterator[Token]:
    """Yield every token of `source` in order, comments and line ends included, white space left out."""
    position = 0
    while position < len(source):
        match = _PATTERN.match(source, position)
        if match is None:  # pragma: no cover - the last alternative takes any character but a line end
            raise ValueError(f"no token at offset {position}")
        kind = match.lastgroup
        if kind != "skip":
            yield Token(kind, match.group(), match.start(), match.end())  # type: ignore[arg-type]  # the group names are the kinds
        position = match.end()


def significant(source: str) -> list[Token]:
    """Return the tokens without comments and line ends."""
    return [token for token in tokens(source) if token.kind not in ("comment", "newline")]


def continuation_lines(source: str) -> frozenset[int]:
    """Return the 0-based numbers of lines that begin inside a string literal; their white space is content."""
    inside: set[int] = set()
    if not any(mark in source for mark in _SPANNING):
        return frozenset()
    line = 0
    position = 0
    for token in tokens(source):
        line += source.count("\n", position, token.start)
        breaks = token.text.count("\n") if token.kind == "string" else 0
        inside.update(range(line + 1, line + breaks + 1))
        line += token.text.count("\n")
        position = token.end
    return frozenset(inside)
