"""Sections: a patch's bytes → its section for each file, and the form of its paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations, zip_longest

_HUNK = re.compile(rb"@@ -(?P<line>\d+)(?:,(?P<old>\d+))? \+\d+(?:,(?P<new>\d+))? @@")
_DIFF = re.compile(rb"^(?:diff --git |--- .*\n\+\+\+ )", re.MULTILINE)
# What a mail, or a header of DEP-3, begins with.
_HEADED = re.compile(rb"From \S|[A-Za-z][\w-]*: ")
# What stands between what they say and their diff: three dashes, and what git counts below them.
_DASHES = re.compile(rb"^---[ \t\r]*$", re.MULTILINE)
_BELOW = re.compile(
    rb"^---[ \t\r]*\n(?:(?:(?!diff ).*\n)*? \d+ files? changed.*\n)?\s*^(?=diff |Index: |--- )", re.MULTILINE
)
# The end of a mail, or the beginning of another: what stands above is no text of the same one.
_ANOTHER = re.compile(rb"^(?:-- $|(?:From|Subject|Author|Description|Why): )", re.MULTILINE)
_NAME = re.compile(rb"(?:--- |\+\+\+ |rename (?:from|to) |copy (?:from|to) )(?P<name>.+)")
# What other programs write behind a name that no tab ends.
_TIME = re.compile(rb" +(?:\d{4}-\d\d-\d\d |(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )\S.*$")
_SIDES = 2
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
# What git writes in front of the two names: by itself, with diff.mnemonicPrefix, and with --no-index.
_PREFIXES = tuple(letter + b"/" for letter in (b"a", b"b", b"c", b"i", b"o", b"w", b"1", b"2"))


@dataclass(frozen=True, kw_only=True)
class Hunk:
    """One hunk of a patch."""

    path: str  # the repository path of the file as it was
    line: int  # the 1-based line it was made at
    before: tuple[bytes, ...]  # the lines it must find, with their ends
    after: tuple[bytes, ...]  # the lines it puts there
    context: tuple[int, int]  # how many unchanged lines stand above the first changed one, and below the last

    @property
    def trailing(self) -> bool:
        """Whether unchanged lines follow the last changed one; if not, it belongs at the end of the file."""
        return self.context[1] > 0


@dataclass(kw_only=True)
class Section:
    """The section of a patch for one file, as written: its header, the names below, the hunks."""

    header: bytes  # what stands behind ``diff --git``; empty in a patch that git has not made
    lines: list[bytes] = field(default_factory=list)  # it, from its header on
    sides: list[bytes] = field(default_factory=list)  # the names behind ``---`` and ``+++``
    moved: list[bytes] = field(default_factory=list)  # the names of a file that is renamed or copied
    hunks: list[_Body] = field(default_factory=list)  # its hunks

    def strip(self) -> int | None:
        """Return how many folders the names have in front of the path, as ``git apply -p`` counts; None if unclear."""
        if self.moved:
            if self.header == b" ".join(self.moved):
                return 0
            for pair in permutations(_PREFIXES, 2):
                if self.header == b" ".join(map(_with_prefix, self.moved, pair)):
                    return 1
            return None
        if not self.header:
            return self._strip_of_sides()
        old, new = self._halves()
        if old == new:
            return 0
        pair = (old[:2], new[:2])
        return 1 if old[2:] == new[2:] and pair in permutations(_PREFIXES, 2) else None

    def _strip_of_sides(self) -> int | None:
        old, new = (name.partition(b"/") for name in map(_without_time, self.sides))
        if old == new:
            return 0
        return 1 if old[2] == new[2] else None

    def paths(self, strip: int) -> Iterator[bytes]:
        """Yield every path the section names."""
        if self.header and not self.moved:
            halves = {_stripped(half, strip) for half in self._halves()}
            if len(halves) == 1:
                yield from halves
        for name in self.moved:
            # Git writes these without a prefix.
            yield _stripped(_without_quotes(name), max(strip - 1, 0))
        for side in self.sides:
            yield _path(side, strip)

    def expected(self, strip: int) -> Iterator[Hunk]:
        """Yield the hunks, with the path of the file as it was."""
        for hunk in self.hunks:
            yield Hunk(
                path=self._old(strip),
                line=hunk.line,
                before=tuple(hunk.before),
                after=tuple(hunk.after),
                context=hunk.context,
            )

    @property
    def takes_names(self) -> bool:
        """Whether names of its file can still follow."""
        return len(self.sides) < _SIDES and not self.hunks

    @property
    def makes_file(self) -> bool:
        """Whether it may make a new file: no hunk of it has to find lines."""
        return not any(hunk.before for hunk in self.hunks) and not self.moved

    @property
    def text(self) -> bytes:
        """The lines of the section, with those up to the next one."""
        return b"".join(line + b"\n" for line in self.lines)

    def faults(self, strip: int) -> Iterator[tuple[int, str]]:
        """Yield the line of a hunk and what is wrong with it: it has fewer lines than its head counts, or more."""
        for hunk in self.hunks:
            if hunk.fault:
                yield hunk.line, f"the hunk at line {hunk.line} of {self._old(strip)} {hunk.fault}"

    def _old(self, strip: int) -> str:
        """Return the path of the file as it was, or an empty text."""
        known = [path for path in (_path(side, strip) for side in self.sides) if path]
        if not self.header:
            # Of a copy that was saved beside it, and it, git and GNU patch take the one with the shorter name.
            known.sort(key=len)
        return known[0].decode("utf-8", errors="replace") if known else ""

    def _halves(self) -> tuple[bytes, bytes]:
        """Return the two names of a header that names one path twice."""
        half = len(self.header) // 2
        return _without_quotes(self.header[:half]), _without_quotes(self.header[half + 1 :])


@dataclass(kw_only=True)
class _Body:
    """A hunk as it is read: its line, how many lines each side still lacks, and the lines so far."""

    line: int
    left: list[int]
    before: list[bytes] = field(default_factory=list)
    after: list[bytes] = field(default_factory=list)
    context: tuple[int, int] = (0, 0)
    changes: bool = False
    last: bytes = b""
    ended: bool = False
    surplus: bool = False

    @property
    def fault(self) -> str:
        """What is wrong with it, or nothing."""
        if any(self.left):
            return f"{'has other' if min(self.left) < 0 else 'is cut off: it has fewer'} lines than its head counts"
        return "goes on behind the lines that its head counts, which git leaves out" if self.surplus else ""

    def offer(self, line: bytes, following: bytes) -> bool:
        """Take in a line that belongs to the hunk, and return whether it does; the first that does not ends it."""
        is_text = line[:1] in (b"", b" ", b"+", b"-")
        if not self.ended and (line.startswith(b"\\") or (any(self.left) and min(self.left) >= 0 and is_text)):
            self._take(line)
            return True
        if not self.ended and not any(self.left):
            is_name = line.startswith(b"--- ") and following.startswith(b"+++ ")
            self.surplus = line != b"" and is_text and not is_name and line.rstrip() != b"--"
        self.ended = True
        return False

    def _take(self, line: bytes) -> None:
        """Take in one line: context, taken out, put in, or the remark that the last one has no line end."""
        self.last, last = line[:1] or b" ", self.last
        if self.last == b"\\":
            for mark, lines in ((b"-", self.before), (b"+", self.after)):
                if last in (b" ", mark):
                    lines[-1] = lines[-1].removesuffix(b"\n")
            return
        self.left = [self.left[0] - (self.last in b" -"), self.left[1] - (self.last in b" +")]
        above, below = self.context
        self.changes = self.changes or self.last != b" "
        self.context = (above + (not self.changes), below + 1 if self.last == b" " else 0)
        if self.last in b" -":
            self.before.append(line[1:] + b"\n")
        if self.last in b" +":
            self.after.append(line[1:] + b"\n")


def sections(content: bytes) -> list[Section]:
    """Return what a patch says, file by file; what stands in its hunks is text."""
    return parts(content)[1]


def holds_diff(content: bytes) -> bool:
    """Return whether anything in a file begins a diff."""
    return _DIFF.search(content) is not None


def letter(content: bytes) -> bytes:
    """Return the text above a patch's diff, with what looks like a diff above the dashes that end a mail's text."""
    first = _DIFF.search(content)
    start = first.start() if first else len(content)
    if _HEADED.match(content) and not _DASHES.search(content, 0, start):
        for dashes in _BELOW.finditer(content, start):
            below = _DIFF.search(content, dashes.end())
            if below and _is_text(content[start : dashes.start()], content[start:]):
                return content[: below.start()]
    return content[:start]


def diff_of(content: bytes) -> bytes:
    """Return a patch without the text above it, in which git would look for a diff too."""
    return content[len(letter(content)) :]


def _is_text(quoted: bytes, whole: bytes) -> bool:
    """Return whether what looks like a diff above dashes is text: no hunk has the dashes, and no other mail begins."""
    listed = _sections(quoted)
    hunks = listed[-1].hunks if listed else []
    if hunks and any(hunks[-1].left):
        same = _sections(whole)[len(listed) - 1].hunks[len(hunks) - 1]
        if not same.fault:
            return False
    return not _ANOTHER.search(quoted)


def parts(content: bytes) -> tuple[bytes, list[Section]]:
    """Return the text above a patch's first section, and the sections."""
    above = letter(content)
    return above, _sections(content[len(above) :])


def _sections(content: bytes) -> list[Section]:
    """Return the sections of a diff."""
    found: list[Section] = []
    # What stands behind the last line end is no line.
    lines = content.removesuffix(b"\n").split(b"\n") if content else []
    for line, following in zip_longest(lines, lines[1:], fillvalue=b""):
        body = found[-1].hunks[-1] if found and found[-1].hunks else None
        if body and body.offer(line, following):
            found[-1].lines.append(line)
            continue
        if line.startswith(b"diff --git "):
            found.append(Section(header=line.removeprefix(b"diff --git ").rstrip(b"\r")))
        elif line.startswith(b"--- ") and following.startswith(b"+++ "):
            if not (found and found[-1].takes_names and found[-1].header):
                found.append(Section(header=b""))  # of another program than git
        elif found and (hunk := _HUNK.match(line)):
            left = [int(hunk.group(name) or 1) for name in ("old", "new")]
            found[-1].hunks.append(_Body(line=int(hunk.group("line")), left=left))
        if found and found[-1].takes_names and (match := _NAME.fullmatch(line.rstrip(b"\r"))):
            (found[-1].sides if line[:1] in b"-+" else found[-1].moved).append(match.group("name"))
        if found:
            found[-1].lines.append(line)
    return found


def _with_prefix(name: bytes, prefix: bytes) -> bytes:
    """Return a path as a header writes it behind a prefix, inside the quotes where it has some."""
    return b'"' + prefix + name[1:] if name.startswith(b'"') else prefix + name


def _path(side: bytes, strip: int) -> bytes:
    """Return the path that a name behind ``---`` or ``+++`` means; nothing if there is no file."""
    name = _without_time(side)
    return b"" if name == b"/dev/null" else _stripped(name, strip)


def _without_time(side: bytes) -> bytes:
    name, tab, _ = side.partition(b"\t")
    return _without_quotes(name if tab else _TIME.sub(b"", name))


def _stripped(name: bytes, strip: int) -> bytes:
    """Return a path without some folders in front, or without all if it has fewer."""
    return name.split(b"/", strip)[-1]


def _without_quotes(name: bytes) -> bytes:
    """Return a path as git writes it, without quotes and escapes."""
    if not (name.startswith(b'"') and name.endswith(b'"')):
        return name
    return _ESCAPE.sub(_character, name[1:-1])


def _character(match: re.Match[bytes]) -> bytes:
    code = match.group(1)
    return bytes([int(code, 8)]) if code.isdigit() else _ESCAPED.get(code, code)
