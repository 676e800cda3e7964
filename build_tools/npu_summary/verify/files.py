"""Files: what was built and what lies there → modified, missing, added and odd files, by the likeliest cause."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ..installed import reason
from ..plurals import plural
from .distributions import Dist, sha256_of
from .findings import Finding, Repair
from .leftovers import REJECTED, injects_plugin
from .subjects import Subject
from .surveys import Survey, digests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .findings import Kind, Level

_BINARY = (".so", ".pyd")
_TEXTS: dict[Kind, str] = {
    "modified": "differ{s} from what was built",
    "missing": "not there",
    "added": "that {were} not built",
    "not a file": "replaced by something else",
    "unreadable": "could not be read",
    "imported instead": "imported instead of what was built",
}
_LATER = 2.0  # seconds; installers write RECORD last
_GUESSES = 200  # files to look into; beyond that the cause is the same for all
# The first line of a script in a wheel, and what uv begins one with where the path of its Python does not fit one line.
_PYTHON = (b"#!python\n", b"#!python\r\n", b"#!pythonw\n", b"#!pythonw\r\n")
_SHELL = b"#!/bin/sh\n"

# Other distributions, with the files that they claim in the shipped packages.
_Owners = list[tuple[Dist, Mapping[str, str]]]


def check(subject: Subject, seen: Survey) -> Iterator[Finding]:
    """Yield what is modified, missing, added, or no file."""
    owners = _owners(subject)
    unread: dict[str, str] = {}
    modified: list[str] = []
    for path, digest in digests(subject.store, seen.present).items():
        if isinstance(digest, OSError):
            unread[path] = reason(digest)
        elif digest != subject.files[path] and not _is_rewritten(subject, path):
            modified.append(path)
    groups = _by_cause(modified[:_GUESSES], lambda path: _why_modified(subject, path, owners))
    if rest := modified[_GUESSES:]:
        max(groups.values(), key=len).extend(rest)
    for cause, paths in groups.items():
        yield _finding(subject, "modified", paths, cause)
    for cause, paths in _by_cause(unread, unread.__getitem__).items():
        yield _finding(subject, "unreadable", paths, cause, level="unknown")
    if seen.missing:
        yield _finding(subject, "missing", seen.missing, _why_missing(subject, seen.missing))
    if seen.odd:
        yield _finding(subject, "not a file", seen.odd, "replaced by hand or by a deployment script")
    yield from _additions(subject, seen, owners)


def _additions(subject: Subject, seen: Survey, owners: _Owners) -> Iterator[Finding]:
    """Yield what was added: first what Python imports instead of the built files, then the rest by who put it there."""
    preferred: list[str] = []
    rest: list[str] = []
    for path in seen.added:
        if not path.endswith(REJECTED) and not _is_shared(path, subject, owners):
            (preferred if _is_preferred(path, subject, seen) else rest).append(path)
    if preferred:
        cause = "Python looks for folders and compiled modules before it looks for the built .py"
        repairs = _removals(subject, preferred)
        yield _finding(subject, "imported instead", preferred, cause, repairs=repairs)
    for cause, paths in _by_cause(rest, lambda path: _why_added(path, owners)).items():
        yield _finding(subject, "added", paths, cause, repairs=_removals(subject, paths))


def _removals(subject: Subject, paths: Sequence[str]) -> tuple[Repair, ...]:
    """Return what removes added files: upstream's go when the companion takes the place of its distribution."""
    upstream = subject.displaced
    claimed = upstream.record if upstream else {}
    rest = [path for path in paths if not _is_claimed(subject, path, claimed)]
    by_installer = subject.installer.companion(subject.companion) if len(rest) < len(paths) else ()
    return (*subject.installer.remove(rest), *by_installer)


def _is_claimed(subject: Subject, path: str, claimed: Mapping[str, str]) -> bool:
    """Return whether uninstalling removes an added file, or everything in an added folder."""
    if not path.endswith("/"):
        return path in claimed
    root = subject.store.root
    for folder, _, names in os.walk(os.path.join(root, path)):
        above = os.path.relpath(folder, root).replace(os.sep, "/")
        if not above.endswith("/__pycache__") and not all(f"{above}/{name}" in claimed for name in names):
            return False
    return True


def _finding(  # noqa: PLR0913  # each says another thing about the files
    subject: Subject,
    kind: Kind,
    paths: Sequence[str],
    cause: str,
    *,
    repairs: tuple[Repair, ...] | None = None,
    level: Level = "damage",
) -> Finding:
    one = len(paths) == 1
    text = _TEXTS[kind].format(s="s" if one else "", were="was" if one else "were")
    what = f"{plural(len(paths), 'file')} {text}"
    return subject.finding(kind, what, cause, paths=paths, repairs=repairs, level=level)


def _by_cause(paths: Iterable[str], cause: Callable[[str], str]) -> dict[str, list[str]]:
    """Return the paths by their cause, in order."""
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(cause(path), []).append(path)
    return groups


def _is_rewritten(subject: Subject, path: str) -> bool:
    """Return whether a script is as it was built but for its first line, in which installers write their Python."""
    if path not in subject.built.outside:
        return False
    try:
        content = subject.store.read(path)
    except OSError:
        return False
    lines = 3 if content.startswith(_SHELL) else 1
    parts = content.split(b"\n", lines)
    if not content.startswith(b"#!") or len(parts) <= lines:
        return False
    return any(hashlib.sha256(head + parts[-1]).hexdigest() == subject.files[path] for head in _PYTHON)


def _owners(subject: Subject) -> _Owners:
    """Return the other distributions in the same folder that claim files in the shipped packages."""
    owners: _Owners = []
    for one in subject.dists:
        if one.store.root == subject.store.root and one not in subject.own and (claimed := one.claims(subject.roots)):
            owners.append((one, claimed))
    return owners


def _is_shared(path: str, subject: Subject, owners: _Owners) -> bool:
    """Return whether another distribution has an added file or folder in a namespace, which belongs to all of them."""
    above = path.rstrip("/").rpartition("/")[0]
    while above:
        init = f"{above}/__init__.py"
        if init in subject.files and not subject.is_shared(init):
            return False
        above = above.rpartition("/")[0]
    return _claimant(path, owners) is not None


def _claimant(path: str, owners: _Owners) -> Dist | None:
    """Return the first distribution that claims a file, or one in a folder."""
    for owner, claimed in owners:
        if any(name.startswith(path) for name in claimed):
            return owner
    return None


def _is_preferred(path: str, subject: Subject, seen: Survey) -> bool:
    """Return whether Python would import an added file or folder rather than the built module of that name."""
    folder, _, name = path.rstrip("/").rpartition("/")
    source = f"{folder}/{name.partition('.')[0]}.py"
    if path.endswith("/"):
        return f"{path[:-1]}.py" in subject.files and "__init__.py" in subject.store.listing(path[:-1])
    if name.endswith(_BINARY):
        return source in subject.files
    # In a zip file bytecode comes first; in a folder only where the source is gone.
    return name.endswith(".pyc") and source in subject.files and (subject.zipped or source in seen.missing)


def _why_modified(subject: Subject, path: str, owners: _Owners) -> str:
    """Return the likely cause, by what a file holds now, else by its date."""
    try:
        content = subject.store.read(path)
    except OSError:
        return "it changes while it is looked at"
    digest = hashlib.sha256(content).hexdigest()
    for owner, claimed in owners:
        if sha256_of(claimed.get(path, "")) == digest:
            return f"{owner.name} {owner.version} has written its own file over it"
    unix = content.replace(b"\r\n", b"\n")
    signs = {
        "this is upstream's file: it was copied over the patched one, or the patch was taken back": (
            subject.upstream.get(path) == digest
        ),
        "its line ends were converted: it was copied through Windows or by a tool that does so": (
            hashlib.sha256(unix).hexdigest() == subject.files[path]
        ),
        "emptied: the disk was full, or the machine went down while it was written": not content.strip(b"\0"),
        "the verl_npu plugin has written itself into it; it patches files at import time": (
            subject.for_npus and path.endswith(".py") and injects_plugin(content)
        ),
        "a merge was left unfinished in it": b"\n<<<<<<< " in b"\n" + content,
    }
    return next((cause for cause, is_so in signs.items() if is_so), "") or _by_time(subject, path)


def _by_time(subject: Subject, path: str) -> str:
    """Return whether the file was written after the installation, as far as the file system tells."""
    try:
        changed = os.stat(os.path.join(subject.store.root, path)).st_mtime
        installed = os.stat(os.path.join(subject.store.root, subject.own[0].info, "RECORD")).st_mtime
    except (OSError, IndexError):
        changed = installed = 0
    if changed > installed + _LATER:
        return "edited after the installation, by hand or by a program that patches files"
    return "edited, or it comes from another build"


def _why_missing(subject: Subject, paths: Sequence[str]) -> str:
    shipped = [path for path in subject.files if not path.startswith(f"{subject.place.package}/")]
    if len(paths) > len(shipped) // 2:
        return "uninstalling another distribution that owned the same files has removed them, or the disk was full"
    return "deleted by hand, by a clean-up, or by uninstalling another distribution"


def _why_added(path: str, owners: _Owners) -> str:
    owner = _claimant(path, owners)
    if owner:
        return f"installed by {owner.name} {owner.version}"
    return "left by another version or by a `git apply`, or put there by hand"
