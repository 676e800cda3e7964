"""Token layout: Python source, or a fragment → its tokens, each with its line and block.

A line end inside brackets or after a backslash is white space. Any other one ends a statement, and the next line's
indentation decides the block of its statement.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import pairwise

from npu_overlays.model.tokens import Token, tokens

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_HEADS = frozenset(
    ["if", "elif", "else", "for", "while", "with", "try", "except", "finally", "def", "class", "async", "case"]
)
_TAB = 8
_USUAL_STEP = 4
# One text is asked for many times: a find in every version of a file, a definition for every find.
_KEPT = 512


class TokenLayout:
    """The significant tokens of a text, and their layout.

    Args:
        source: the text; a fragment may close brackets it does not open, and begin and end anywhere.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens: list[Token] = []
        self.depths: list[int] = []  # for each token how many of the brackets opened in this text are open before it
        self.breaks: list[str | None] = []  # the white space in front of one that is the first of a line, else None
        self.lines: list[int] = []  # for each token the number of its logical line
        depth = 0
        begins = True
        for token in tokens(source):
            if token.kind in ("comment", "newline"):
                begins = begins or token.kind == "newline"
                continue
            follows = begins and bool(self.tokens) and depth == 0
            self.lines.append(self.lines[-1] + follows if self.lines else 0)
            self.tokens.append(token)
            self.depths.append(depth)
            self.breaks.append(_margin(source, token.start) if begins else None)
            begins = False
            depth = max(0, depth + (token.text in _OPENING) - (token.text in _CLOSING))

    @cached_property
    def texts(self) -> list[str]:
        """The tokens as Python reads them: a line end inside a string is one character."""
        return [token.text.replace("\r\n", "\n") for token in self.tokens]

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """For each token the byte offsets at which it starts and ends."""
        found: list[tuple[int, int]] = []
        at, behind = 0, 0
        for token in self.tokens:
            start = at + len(self.source[behind : token.start].encode())
            at, behind = start + len(token.text.encode()), token.end
            found.append((start, at))
        return found

    @cached_property
    def starts(self) -> dict[int, int]:
        """The token that starts at a byte."""
        return {start: number for number, (start, _) in enumerate(self.spans)}

    @cached_property
    def ends(self) -> dict[int, int]:
        """The token after the one that ends at a byte."""
        return {end: number for number, (_, end) in enumerate(self.spans, 1)}

    @cached_property
    def heads(self) -> list[int]:
        """For each logical line its first token."""
        return list(filter(self.first, range(len(self.lines))))

    @cached_property
    def margins(self) -> list[str]:
        """For each logical line its indentation."""
        return [self.breaks[head] or "" for head in self.heads]

    @cached_property
    def levels(self) -> list[int]:
        """For each logical line its block depth; right for whole statements only."""
        return relative_levels(self.margins, 0)

    @cached_property
    def step(self) -> int:
        """The indentation of the text's first block; a usual one if it has no block."""
        for then, now in pairwise(map(_width, self.margins)):
            if now > then:
                return now - then
        return _USUAL_STEP

    @cached_property
    def suites(self) -> frozenset[int]:
        """The tokens of statements after the colon of ``if x: …``, on the same line."""
        found: set[int] = set()
        for head, following in pairwise([*self.heads, len(self.tokens)]):
            if self.tokens[head].text in _HEADS:
                found.update(self._suite(range(head, following)))
        return frozenset(found)

    def _suite(self, line: range) -> range:
        """Return the tokens after the colon on a compound statement's line, if any."""
        lambdas = 0
        for token in line:
            if self.depths[token] == 0:
                lambdas += self.texts[token] == "lambda"
                if self.texts[token] == ":" and lambdas == 0:
                    return range(token + 1, line.stop)
                lambdas -= self.texts[token] == ":"
        return range(0)

    def statement_margins(self, begun: list[int], *, bracketed: bool) -> list[str]:
        """Return the indentation of the logical lines that these tokens of a fragment begin.

        If the fragment begins inside brackets, the line that closes them has the statement's indentation.
        """
        first = self.breaks[: begun[1] if bracketed and len(begun) > 1 else 1]
        written = [margin for margin in first if margin is not None]
        return [written[-1], *(self.breaks[token] or "" for token in begun[1:])]

    def first(self, token: int) -> bool:
        """Return whether a token is the first of its logical line."""
        return token == 0 or self.lines[token - 1] != self.lines[token]

    def last(self, token: int) -> bool:
        """Return whether a token is the last of its logical line."""
        return token + 1 == len(self.lines) or self.lines[token + 1] != self.lines[token]

    def sequences(self, find: TokenLayout) -> Iterator[int]:
        """Yield every token at which the tokens of `find` begin, in any layout."""
        size = len(find.texts)
        for at in range(len(self.texts) - size + 1):
            if size and self.texts[at] == find.texts[0] and self.texts[at : at + size] == find.texts:
                yield at

    def occurrences(self, find: TokenLayout) -> list[int]:
        """Return the tokens at which `find` begins, line by line and block by block; none reaches into another.

        Line ends of `find` outside brackets must be the ends of logical lines here, and no others. Its logical lines
        must have the same relative block depths as here.
        """
        found: list[int] = []
        for at in self.sequences(find):
            if (not found or at >= found[-1] + len(find.texts)) and self._laid_out(find, at):
                found.append(at)
        return found

    def _laid_out(self, find: TokenLayout, at: int) -> bool:
        begun = [0]
        for own in range(1, len(find.tokens)):
            there = at + own
            if self.first(there):
                if find.breaks[own] is None:
                    return False
                begun.append(own)
            elif find.breaks[own] is not None and not find.depths[own] and not self.depths[there]:
                return False
        return len(begun) == 1 or self._same_blocks(find, begun, at)

    def _same_blocks(self, find: TokenLayout, begun: list[int], at: int) -> bool:
        margins = find.statement_margins(begun, bracketed=self.depths[at] > 0)
        lines = [self.lines[at + own] for own in begun]
        if at not in self.suites and _steps(margins) == _steps([self.margins[line] for line in lines]):
            return True
        base = self.levels[lines[0]] + (at in self.suites)
        return relative_levels(margins, self.step_of(margins)) == [0, *(self.levels[line] - base for line in lines[1:])]

    def step_of(self, margins: list[str]) -> int:
        """Return the indentation of a block in lines written for this text, with these margins."""
        tabs = any("\t" in margin for margin in self.margins)
        return _USUAL_STEP if tabs and not any("\t" in margin for margin in margins) else self.step


@lru_cache(maxsize=_KEPT)
def layout_of(source: str) -> TokenLayout:
    """Return the layout of a text, from a cache; callers must not change it."""
    return TokenLayout(source)


def relative_levels(margins: list[str], step: int) -> list[int]:
    """Return how many blocks deeper than the first line each line is; negative if less deep.

    Args:
        margins: the white space in front of each.
        step: the indentation of one block; 0 if no block around the first line ends.
    """
    open_at = [(_width(margins[0]), 0)] if margins else []
    found = []
    for width in map(_width, margins):
        while len(open_at) > 1 and width < open_at[-1][0]:
            open_at.pop()
        known, level = open_at[-1]
        if width > known:
            open_at.append((width, level + 1))
        elif width < known:
            # Out of the block of the first line: how many blocks, only the width can tell.
            open_at = [(width, level - max(1, -(-(known - width) // step)) if step else 0)]
        found.append(open_at[-1][1])
    return found


def _margin(source: str, start: int) -> str:
    line = source[source.rfind("\n", 0, start) + 1 : start].replace("\f", "")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _steps(margins: list[str]) -> list[int]:
    """Return how much deeper each line is indented than the first."""
    return [_width(margin) - _width(margins[0]) for margin in margins]


def _width(margin: str) -> int:
    return len(margin.expandtabs(_TAB))
