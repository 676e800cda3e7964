"""Patches: an ordinary ``git diff`` file of an overlay in, the paths it touches and its reason out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from npu_overlays.errors import MergeError, Problem
from npu_overlays.overlay.content import OverlayFile
from npu_overlays.overlay.operations import Reason
from npu_overlays.overlay.project import is_plain_path

_HEADER = re.compile(rb"^diff --git ", re.MULTILINE)
_HUNK = re.compile(rb"@@ -\d+(?:,(?P<old>\d+))? \+\d+(?:,(?P<new>\d+))? @@")
_NAME = re.compile(rb"(?:--- |\+\+\+ |rename (?:from|to) |copy (?:from|to) )(?P<name>.+)")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_FIELD = re.compile(r"^(Why|Description|Forwarded|Drop-when):\s*(.+)$", re.IGNORECASE | re.MULTILINE)
_SYMLINK = re.compile(
    rb"^(?:new file mode|new mode|old mode|deleted file mode) 120000|^index \S+ 120000$", re.MULTILINE
)

_MODE = re.compile(rb"^(?:new file mode 100755|new mode 100[0-7]{3})$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class PatchFile:
    """A parsed patch: the repository paths it touches and the reason its header gives."""

    source: OverlayFile
    paths: tuple[str, ...]
    reason: Reason


def read_patch(file: OverlayFile) -> PatchFile:
    """Check a patch file and return what it touches; raises `MergeError` with every mistake."""
    problems: list[Problem] = []

    def problem(what: str, fix: str) -> None:
        problems.append(Problem(where=file.file, what=what, fix=fix))

    start = _HEADER.search(file.content)
    if start is None:
        raise MergeError(
            Problem(where=file.file, what="holds no `diff --git`", fix="export it with git diff, or delete it")
        )
    if re.search(rb"^(?:diff --git|@@) .*\r$", file.content, re.MULTILINE):
        problem("has CRLF line ends, with which no hunk can fit", "convert it to LF (git config core.autocrlf false)")
    if _SYMLINK.search(file.content):
        problem("makes or changes a symbolic link, which a wheel cannot hold", "leave that file out")
    if _MODE.search(file.content):
        problem(
            "changes whether a file is executable, which is not carried over",
            "put the file under tree/, which keeps modes, or take the mode's lines out",
        )
    paths = _touched(file.content)
    for path in paths:
        if not is_plain_path(path):
            problem(f"touches `{path}`, which is not a plain path inside the repository", "leave that file out")
    reason = _reason(file.content[: start.start()].decode("utf-8", errors="replace"))
    if not reason.why:
        problem("gives no reason", "write a line `Why: …` above the first `diff --git`")
    if problems:
        raise MergeError(problems)
    return PatchFile(source=file, paths=paths, reason=reason)


def _touched(content: bytes) -> tuple[str, ...]:
    """Return the repository paths a patch names in its headers; what stands in its hunks is text."""
    found: set[bytes] = set()
    left = [0, 0]
    for line in content.split(b"\n"):
        hunk = _HUNK.match(line)
        if any(left):
            left = [left[0] - (line[:1] in (b"-", b" ", b"")), left[1] - (line[:1] in (b"+", b" ", b""))]
        elif hunk:
            left = [int(hunk.group(name) or 1) for name in ("old", "new")]
        elif line.startswith(b"diff --git "):
            found.update(_named_twice(line.removeprefix(b"diff --git ")))
        elif match := _NAME.fullmatch(line):
            name = _unquoted(match.group("name").rstrip(b"\r").partition(b"\t")[0])
            found.add(re.sub(rb"^[ab]/", b"", name, count=1) if line[:1] in b"-+" else name)
    return tuple(sorted(path.decode("utf-8", errors="replace") for path in found - {b"/dev/null", b""}))


def _named_twice(names: bytes) -> Iterator[bytes]:
    """Yield the path in ``a/PATH b/PATH``, which is all that names an empty file; of a renamed file, nothing."""
    half = len(names.rstrip(b"\r")) // 2
    old, new = (_unquoted(name) for name in (names[:half], names.rstrip(b"\r")[half + 1 :]))
    if old.startswith(b"a/") and new.startswith(b"b/") and old[2:] == new[2:]:
        yield old[2:]


def _unquoted(name: bytes) -> bytes:
    """Return a path as git writes it, without quotes and escapes."""
    if not (name.startswith(b'"') and name.endswith(b'"')):
        return name
    return _ESCAPE.sub(_character, name[1:-1])


def _character(match: re.Match[bytes]) -> bytes:
    code = match.group(1)
    return bytes([int(code, 8)]) if code.isdigit() else _ESCAPED.get(code, code)


def _reason(header: str) -> Reason:
    """Return the reason in a patch's header: named fields, else the subject, else the first line of prose."""
    fields = {name.lower(): text.strip() for name, text in _FIELD.findall(header)}
    # A long subject goes on in lines that begin with white space.
    subject = re.search(r"^Subject:\s*(?:\[[^\]]*\]\s*)?(.+(?:\n[ \t].+)*)", header, re.MULTILINE)
    prose = [line.strip() for line in header.splitlines() if line.strip() and not re.match(r"From[ :]|Date:|---", line)]
    why = fields.get("why") or fields.get("description") or (subject.group(1) if subject else "") or "".join(prose[:1])
    return Reason(
        why=" ".join(why.split()), forwarded=fields.get("forwarded", ""), drop_when=fields.get("drop-when", "")
    )
