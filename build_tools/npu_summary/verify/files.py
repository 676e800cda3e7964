"""Files: what was built and what lies there → modified, missing, added and odd files, by the likeliest cause."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ..installed import reason
from .distributions import Dist, sha256_of
from .findings import Finding, Repair
from .leftovers import REJECTED, injects_plugin
from .schemes import is_rewritten
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

# Other distributions, with the files that they claim in the shipped packages.
_Owners = list[tuple[Dist, Mapping[str, str]]]


def check(subject: Subject, seen: Survey) -> Iterator[Finding]:
    """Yield what is modified, missing, added, or no file."""
    actual = digests(subject.store, seen.present)
    unread = {path: reason(error) for path, error in actual.items() if isinstance(error, OSError)}
    differing = [path for path, digest in actual.items() if path not in unread and digest != subject.files[path]]
    modified = [path for path in differing if not _is_rewritten(subject, path)]
    owners = _owners(subject)
    for cause, paths in _modified(subject, modified, owners).items():
        yield _finding(subject, "modified", paths, cause)
    for cause, paths in _groups_by(unread, unread.__getitem__).items():
        yield _finding(subject, "unreadable", paths, cause, level="unknown")
    if seen.missing:
        yield _finding(subject, "missing", seen.missing, _why_missing(subject, seen.missing))
    if seen.odd:
        yield _finding(subject, "not a file", seen.odd, "replaced by hand or by a deployment script")
    added = [path for path in seen.added if not path.endswith(REJECTED) and not _is_shared(path, subject, owners)]
    preferred = [path for path in added if _is_preferred(path, subject, seen)]
    if preferred:
        cause = "Python looks for folders and compiled modules before it looks for the built .py"
        repairs = subject.installer.remove(preferred)
        yield _finding(subject, "imported instead", preferred, cause, repairs=repairs)
    rest = (path for path in added if path not in preferred)
    for cause, paths in _groups_by(rest, lambda path: _why_added(path, owners)).items():
        yield _finding(subject, "added", paths, cause, repairs=subject.installer.remove(paths))


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
    what = f"{len(paths)} {'file' if one else 'files'} {text}"
    return subject.finding(kind, what, cause, paths=paths, repairs=repairs, level=level)


def _groups_by(paths: Iterable[str], cause: Callable[[str], str]) -> dict[str, list[str]]:
    """Return the paths by their cause, in order."""
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(cause(path), []).append(path)
    return groups


def _is_rewritten(subject: Subject, path: str) -> bool:
    """Return whether a file differs from what was built only by what installers write into scripts."""
    try:
        return path in subject.built.outside and is_rewritten(subject.store.read(path), subject.files[path])
    except OSError:
        return False


def _owners(subject: Subject) -> _Owners:
    """Return the other distributions in the same folder that claim files in the shipped packages."""
    others = (one for one in subject.dists if one.store.root == subject.store.root and one not in subject.own)
    claims = ((one, one.claims(subject.roots)) for one in others)
    return [(one, claimed) for one, claimed in claims if claimed]


def _is_shared(path: str, subject: Subject, owners: _Owners) -> bool:
    """Return whether another distribution has an added file or folder in a namespace, which belongs to all of them."""
    inits = [f"{path[:end]}/__init__.py" for end, sign in enumerate(path.rstrip("/")) if sign == "/"]
    if not all(subject.is_shared(init) for init in inits if init in subject.files):
        return False
    return any(name.startswith(path) for _, claimed in owners for name in claimed)


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


def _modified(subject: Subject, paths: Sequence[str], owners: _Owners) -> dict[str, list[str]]:
    """Return modified files by the likely cause."""
    groups = _groups_by(paths[:_GUESSES], lambda path: _why_modified(subject, path, owners))
    if rest := paths[_GUESSES:]:
        max(groups.values(), key=len).extend(rest)
    return groups


def _why_modified(subject: Subject, path: str, owners: _Owners) -> str:
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
    if b"\n<<<<<<< " in b"\n" + content:
        return "a merge was left unfinished in it"
    return ""


def _by_time(subject: Subject, path: str) -> str:
    """Say whether the file was written after the installation, as far as the file system tells."""
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
    """Return who put a file or a folder there."""
    for owner, claimed in owners:
        if any(name.startswith(path) for name in claimed):
            return f"installed by {owner.name} {owner.version}"
    return "left by another version or by a `git apply`, or put there by hand"
