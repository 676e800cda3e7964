"""Patches: an ordinary ``git diff`` file of an overlay → the paths it touches, its hunks and its reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.errors import MessageError
from email.header import decode_header, make_header
from typing import NamedTuple

from npu_overlays.errors import MergeError, Problem
from npu_overlays.overlay.acceptances import Acceptance, faults, read_acceptances
from npu_overlays.overlay.bounds import Bounds
from npu_overlays.overlay.conditions import fault
from npu_overlays.overlay.layer_content import OverlayFile
from npu_overlays.overlay.mails import letters
from npu_overlays.overlay.operations import Reason, joined_reasons, unwritable
from npu_overlays.overlay.sections import Hunk, Section, letter, parts, sections
from npu_overlays.paths import unsafe

# A field continues in lines that begin with white space.
_FIELD = re.compile(
    r"^(Why|Description|Subject|Forwarded|Applied-Upstream|Origin|Bug|Drop-when):[ \t]*(.*(?:\n[ \t]+\S.*)*)",
    re.IGNORECASE | re.MULTILINE,
)
# What else those say that mails and distributions write, and `git show`.
_OTHER_FIELD = re.compile(
    r"^(?:From|Date|Author|AuthorDate|Commit|CommitDate|Merge|Origin|Bug|Bug-[\w-]+|Forwarded|Applied-Upstream"
    r"|Last-Updated?|[\w-]+-by|To|Cc|Message-I[Dd]|In-Reply-To|References|MIME-Version|Content-[\w-]+|X-[\w-]+"
    r"|Index|Since|Until|Accept):.*(?:\n[ \t]+\S.*)*",
    re.MULTILINE,
)
_NO_PROSE = re.compile(
    r"From |---|===|diff "
    r"|commit [0-9a-f]{7,}(?: \(.*\))?$|.* \| +(?:\d+|Bin)\b|\d+ files? changed"
)
_OF_MERCURIAL = re.compile(r"^# HG changeset patch\n(?:# .*\n)*", re.MULTILINE)
# A mail says above such a line what is no part of its commit (git-mailinfo).
_SCISSORS = re.compile(r"^[- ]*(?:>8|8<|>%|%<)[- ]*$", re.MULTILINE)
# What a mailer and `git format-patch` put in front of a commit's subject.
_NO_SUBJECT = re.compile(r"^(?:re:\s*)*(?:\[[^\]]*\])?\s*", re.IGNORECASE)
_ACCEPT = re.compile(r"^Accept:[ \t]*(.*?)[ \t\r]*$", re.IGNORECASE | re.MULTILINE)
# A distribution's values for forwarding that are no address.
_NO_ADDRESS = re.compile(r"(?:no|yes|not[- ]needed|n/a)\b", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[^\s,>]+")
_LINKS = {
    what: re.compile(rb"^(?:new file mode|new mode|old mode|deleted file mode) %b|^index \S+ %b$" % (mode, mode), re.M)
    for what, mode in (("symbolic link", b"120000"), ("submodule", b"160000"))
}

# They override the user's diff.noprefix, diff.mnemonicPrefix, diff.srcPrefix and diff.dstPrefix.
_AS_GIT_DOES = "make it with git diff --src-prefix=a/ --dst-prefix=b/"
_ACCEPTED = re.compile(rb"^Accept:", re.IGNORECASE | re.MULTILINE)
_CRLF = re.compile(rb"^(?:diff --git|@@) .*\r$", re.MULTILINE)
_CONTEXT_DIFF = re.compile(rb"^\*\*\* \S.*\n--- \S.*\n\*{15}", re.MULTILINE)
_BINARY = re.compile(rb"^Binary files .* differ\r?$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class PatchFile:
    """A parsed patch."""

    source: OverlayFile  # the file
    paths: tuple[str, ...]  # the repository paths it touches
    strip: int  # how many folders its names have in front of those paths, as ``git apply -p`` counts
    hunks: tuple[Hunk, ...]  # its hunks
    reason: Reason  # the reason its header gives
    # the dangers in it that its author lets stand, in lines ``Accept: loss: why that is right``
    accept: tuple[Acceptance, ...] = ()


def read_patch(file: OverlayFile) -> PatchFile:
    """Check a patch file and return what it touches; raises `MergeError` with every mistake."""
    if not any(section.header for section in sections(file.content)):
        what, fix = unread(file.content, "`diff --git`")
        raise MergeError(Problem(where=file.file, what=what, fix=fix))
    patch, mistakes = parsed_patch(file)
    if not patch.reason.why:
        mistakes.append(Mistake(1, "gives no reason", "write a line `Why: …` above the first `diff --git`"))
    if mistakes:
        raise MergeError(one.problem(file) for one in mistakes)
    return patch


def unread(content: bytes, lacks: str) -> tuple[str, str]:
    """Return why a file cannot be read as a patch, and what to do; `lacks` names what it lacks."""
    if b"\x1b[" in content:
        return "is coloured", "make it with git diff --no-color"
    if _CONTEXT_DIFF.search(content):
        return "is a context diff", "make it with git diff"
    return f"holds no {lacks}", "export it with git diff, or delete it"


class Mistake(NamedTuple):
    """A mistake in a patch, its line, and what to do."""

    line: int
    what: str
    fix: str

    def problem(self, file: OverlayFile) -> Problem:
        """Return it as a problem of a file."""
        return Problem(where=file.at(self.line), what=self.what, fix=self.fix)


def parsed_patch(file: OverlayFile, strip: int | None = None) -> tuple[PatchFile, list[Mistake]]:
    """Return a patch of any program, and its mistakes; `strip` is how many folders its names begin with, if known."""
    listed = sections(file.content)
    strips: set[int | None] = {section.strip() for section in listed} if strip is None else {strip}
    counted = next(iter(strips)) if len(strips) == 1 else None
    strip = 1 if counted is None else counted
    paths = _paths(listed, strip)
    accepted = _ACCEPT.findall(letter(file.content).decode("utf-8", errors="replace"))
    first = letter(file.content).count(b"\n") + 1
    mistakes = [
        *_content_mistakes(file.content),
        *_hunk_mistakes(file.content, listed, strip),
        *(Mistake(first, *one) for one in _name_mistakes(strips, paths)),
        *(Mistake(_first(file.content, _ACCEPTED), *one) for one in faults(accepted)),
    ]
    reason = stated_reason(file.content, file.bounds)
    mistakes += [Mistake(1, *one) for one in reason_mistakes(reason)]
    hunks = tuple(hunk for section in listed for hunk in section.expected(strip))
    patch = PatchFile(
        source=file,
        paths=paths,
        strip=strip,
        hunks=hunks,
        reason=reason,
        accept=() if mistakes else read_acceptances(accepted),
    )
    return patch, mistakes


def _lines_of(content: bytes, path: str) -> tuple[int, int]:
    """Return the 0-based lines at which the section for a file begins and ends; of a patch without one, the first."""
    above, listed = parts(content)
    end = above.count(b"\n")
    ranges: list[tuple[int, int]] = []
    for section in listed:
        first, end = end, end + len(section.lines)
        strip = section.strip()
        if path.encode() in section.paths(1 if strip is None else strip):
            return first, end
        ranges.append((first, end))
    return ranges[0]


def line_of(content: bytes, path: str, names: Iterable[str] = (), *, hunk: int = 0) -> int:
    """Return the line on which a patch changes one of some names in a file, or the line of that file's section.

    Args:
        content: of the patch.
        path: of the file.
        names: qualified names, or statements that import them; their last part is searched.
        hunk: the upstream line of a hunk to find instead; 0 for none.
    """
    lines = content.decode("utf-8", errors="replace").split("\n")
    first, end = _lines_of(content, path)
    if hunk:
        for number in range(first, end):
            if re.match(rf"@@ -{hunk}[ ,]", lines[number]):
                return number + 1
    for name in filter(None, names):
        word = re.escape(re.split(r"[. ]", name)[-1])
        for number in range(first, end):
            # A changed line, and not one of the two that name the file.
            if re.match(r"[+-](?!\+\+ |-- )", lines[number]) and re.search(rf"\b{word}\b", lines[number]):
                return number + 1
    return first + 1


def _paths(listed: list[Section], strip: int) -> tuple[str, ...]:
    names: set[bytes] = set()
    for section in listed:
        names.update(filter(None, section.paths(strip)))
    return tuple(sorted(name.decode("utf-8", errors="replace") for name in names))


def _first(content: bytes, pattern: re.Pattern[bytes], *, start: int = 0) -> int:
    """Return the first line of a patch with a pattern after some byte, or 0."""
    found = pattern.search(content, start)
    return content.count(b"\n", 0, found.start()) + 1 if found else 0


def _content_mistakes(content: bytes) -> Iterator[Mistake]:
    """Yield the parts that a wheel cannot hold, or that can never apply."""
    start = len(letter(content))
    if line := _first(content, _CRLF, start=start):
        what, fix = (
            "has CRLF line ends, so that no hunk can fit",
            "convert it to LF (git config core.autocrlf false)",
        )
        yield Mistake(line, what, fix)
    for what, pattern in _LINKS.items():
        if line := _first(content, pattern, start=start):
            yield Mistake(line, f"makes or changes a {what}, which a wheel cannot hold", "leave that file out")
    if line := _first(content, _BINARY, start=start):
        yield Mistake(line, "says that a binary file differs, but not how", "make it with git diff --binary")
    if line := _first(content, _CONTEXT_DIFF):
        yield Mistake(line, "holds a context diff, which git does not apply", "make it with git diff")
    if content[-1:] != b"\n":
        fix = "export it again if something is missing, and end it with a line end"
        yield Mistake(content.count(b"\n") + 1, "ends in the middle of a line", fix)


def _hunk_mistakes(content: bytes, listed: list[Section], strip: int) -> Iterator[Mistake]:
    fix = "export it again with git diff: the counts of a head cannot be kept by hand"
    above = letter(content).count(b"\n") + 1
    for section in listed:
        for hunk, what in section.faults(strip):
            head = re.compile(rb"@@ -%d[ ,]" % hunk)
            at = next(number for number, line in enumerate(section.lines) if head.match(line))
            yield Mistake(above + at, what, fix)
        above += len(section.lines)


def _name_mistakes(strips: set[int | None], paths: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if len(strips) != 1 or None in strips:
        yield "names its files neither as a/PATH and b/PATH nor both as PATH", _AS_GIT_DOES
    for path in paths:
        if "\N{REPLACEMENT CHARACTER}" in path:
            yield f"touches `{path}`, whose name is not in UTF-8", "leave that file out"
        elif unsafe(path):
            yield f"touches `{path}`, which is not a plain path inside the repository", "leave that file out"


def reason_mistakes(reason: Reason) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the texts of a reason, and what to do."""
    for text in (reason.why, reason.forwarded, reason.drop_when):
        if found := unwritable(text):
            yield f"holds {found} in its reason", "write plain text"
        if "\N{REPLACEMENT CHARACTER}" in text:
            yield "gives its reason in another encoding than UTF-8", "save it as UTF-8"
    if meant := fault(reason.drop_when):
        yield meant


def stated_reason(content: bytes, bounds: Bounds) -> Reason:
    """Return the reason above a patch's diff: named fields, else the subjects, else the first line of prose.

    Of several addresses one counts, in this order: forwarding, upstream's change, origin, bug.
    """
    header = _SCISSORS.split(letter(content).decode("utf-8", errors="replace"))[-1]
    fields = _fields(header)
    short = {name: text.partition("\n")[0] for name, text in fields.items()}
    why = fields.get("why") or short.get("description") or joined_reasons(_subjects(content)) or _prose(header)
    forwarded = short.get("forwarded", "")
    if not forwarded or _NO_ADDRESS.match(forwarded):
        known = (_ADDRESS.search(fields.get(name, "")) for name in ("forwarded", "applied-upstream", "origin", "bug"))
        forwarded = next((found.group() for found in known if found), "")
    drop_when = short.get("drop-when") or bounds.drop_when
    return Reason(why=" ".join(why.split()), forwarded=forwarded, drop_when=drop_when)


def _fields(header: str) -> dict[str, str]:
    """Return the fields of a header by name, in lower case; of a repeated one, the first."""
    fields: dict[str, str] = {}
    for name, text in _FIELD.findall(header):
        fields.setdefault(name.lower(), text.strip())
    return fields


def _subjects(content: bytes) -> dict[str, None]:
    """Return the subjects of the mails above a diff, each once."""
    found: dict[str, None] = {}
    for one in letters(content):
        header = one.decode("utf-8", errors="replace")
        if subject := _decoded(_NO_SUBJECT.sub("", _subject(header))):
            found[" ".join(subject.split())] = None
    return found


def _subject(header: str) -> str:
    """Return the subject below scissors in a mail's text, else that of the mail."""
    return next((one["subject"] for one in map(_fields, reversed(_SCISSORS.split(header))) if "subject" in one), "")


def _prose(header: str) -> str:
    """Return the first line of a header that a person wrote."""
    for pattern in (_OF_MERCURIAL, _OTHER_FIELD, _FIELD):
        header = pattern.sub("", header)
    for text in header.splitlines():
        line = text.strip(" \t\r#")
        if line and not _NO_PROSE.match(line):
            return line
    return ""


def _decoded(subject: str) -> str:
    """Return a mail's subject without its ASCII encoding."""
    try:
        return str(make_header(decode_header(subject))) if "=?" in subject else subject
    except (LookupError, ValueError, MessageError):  # it only looks so
        return subject
