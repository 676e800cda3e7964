"""Causes: files that are not as they were built → groups of them by the likeliest reason."""

from __future__ import annotations

import hashlib
import os

from .distributions import sha256_of
from .leftovers import injects_plugin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .distributions import Dist
    from .subjects import Subject

_LATER = 2.0  # seconds; installers write RECORD last
_GUESSES = 200  # files to look into; beyond that the cause is the same for all


def groups_by(paths: Iterable[str], cause: Callable[[str], str]) -> dict[str, list[str]]:
    """Return the paths by their cause, in order."""
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(cause(path), []).append(path)
    return groups


def of_modified(subject: Subject, paths: Sequence[str]) -> dict[str, list[str]]:
    """Return modified files by the likely cause."""
    owners = _owners(subject)
    groups = groups_by(paths[:_GUESSES], lambda path: _of_one(subject, path, owners))
    if rest := paths[_GUESSES:]:
        max(groups.values(), key=len).extend(rest)
    return groups


def _of_one(subject: Subject, path: str, owners: Sequence[tuple[Dist, Mapping[str, str]]]) -> str:
    try:
        content = subject.store.read(path)
    except OSError:
        return "it changes while it is looked at"
    digest = hashlib.sha256(content).hexdigest()
    for owner, claimed in owners:
        if sha256_of(claimed.get(path, "")) == digest:
            return f"{owner.name} {owner.version} has written its own file over it"
    if subject.upstream.get(path) == digest:
        return "this is upstream's file: it was copied over the patched one, or the patch was taken back"
    return _by_content(subject, content, path) or _by_time(subject, path)


def _by_content(subject: Subject, content: bytes, path: str) -> str:
    unix = content.replace(b"\r\n", b"\n")
    if hashlib.sha256(unix).hexdigest() == subject.files[path]:
        return "its line ends were converted: it was copied through Windows or by a tool that does so"
    if not content.strip(b"\0"):
        return "emptied: the disk was full, or the machine went down while it was written"
    if subject.for_npus and path.endswith(".py") and injects_plugin(content):
        return "the verl_npu plugin has written itself into it; it patches files at import time"
    if b"\n<<<<<<< " in content or content.startswith(b"<<<<<<< "):
        return "a merge was left unfinished in it"
    return ""


def _by_time(subject: Subject, path: str) -> str:
    """Say whether the file was written after the installation, as far as the file system tells."""
    try:
        changed = os.stat(os.path.join(subject.store.root, path)).st_mtime
        installed = os.stat(os.path.join(subject.store.root, subject.own[0].info, "RECORD")).st_mtime
    except (OSError, IndexError):
        return "edited, or it comes from another build"
    if changed > installed + _LATER:
        return "edited after the installation, by hand or by a program that patches files"
    return "edited, or it comes from another build"


def of_missing(subject: Subject, paths: Sequence[str]) -> str:
    """Return the likely cause of missing files."""
    shipped = [path for path in subject.files if not path.startswith(f"{subject.place.package}/")]
    if len(paths) > len(shipped) // 2:
        return "uninstalling another distribution that owned the same files has removed them, or the disk was full"
    return "deleted by hand, by a clean-up, or by uninstalling another distribution"


def of_added(subject: Subject, paths: Sequence[str]) -> dict[str, list[str]]:
    """Return added files by who put them there."""
    owners = _owners(subject)

    def cause(path: str) -> str:
        for owner, claimed in owners:
            if any(name == path or name.startswith(path) for name in claimed):
                return f"installed by {owner.name} {owner.version}"
        return "left by another version or by a `git apply`, or put there by hand"

    return groups_by(paths, cause)


def _owners(subject: Subject) -> list[tuple[Dist, Mapping[str, str]]]:
    """Return the other distributions in the same folder that claim files in the shipped packages."""
    others = (one for one in subject.dists if one.store.root == subject.store.root and one not in subject.own)
    claims = ((one, one.claims(subject.roots)) for one in others)
    return [(one, claimed) for one, claimed in claims if claimed]
