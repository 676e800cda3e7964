"""Files: what was built and what lies there → modified, missing, added and odd files."""

from __future__ import annotations

from . import causes
from .digests import digests
from .leftovers import REJECTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .findings import Finding, Kind, Level, Repair
    from .subjects import Subject
    from .surveys import Survey

_BINARY = (".so", ".pyd")
_TEXTS: dict[Kind, str] = {
    "modified": "differ{s} from what was built",
    "missing": "not there",
    "added": "that {were} not built",
    "not a file": "replaced by something else",
    "unreadable": "could not be read",
    "imported instead": "imported instead of what was built",
}


def check(subject: Subject, seen: Survey) -> Iterator[Finding]:
    """Yield what is modified, missing, added, or no file."""
    actual = digests(subject.store, seen.present)
    unread = {path: error for path, error in actual.items() if isinstance(error, OSError)}
    modified = [path for path, digest in actual.items() if path not in unread and digest != subject.files[path]]
    for cause, paths in causes.of_modified(subject, modified).items():
        yield _finding(subject, "modified", paths, cause)
    for reason, paths in causes.groups_by(unread, lambda path: unread[path].strerror or str(unread[path])).items():
        yield _finding(subject, "unreadable", paths, reason, level="unknown")
    if seen.missing:
        yield _finding(subject, "missing", seen.missing, causes.of_missing(subject, seen.missing))
    if seen.odd:
        yield _finding(subject, "not a file", seen.odd, "replaced by hand or by a deployment script")
    yield from _check_added(subject, seen)


def _check_added(subject: Subject, seen: Survey) -> Iterator[Finding]:
    added = [path for path in seen.added if not path.endswith(REJECTED)]
    preferred = [path for path in added if _is_preferred(path, subject, seen)]
    if preferred:
        cause = "Python looks for folders and compiled modules before it looks for the built .py"
        repairs = subject.installer.remove(preferred)
        yield _finding(subject, "imported instead", preferred, cause, repairs=repairs)
    rest = [path for path in added if path not in preferred]
    for cause, paths in causes.of_added(subject, rest).items():
        yield _finding(subject, "added", paths, cause, repairs=subject.installer.remove(paths))


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
