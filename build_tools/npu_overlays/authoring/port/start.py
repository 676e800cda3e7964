"""Start: an overlay and a revision that a user names → the new pin, and the folder of the port with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from npu_overlays.authoring.port.folder import PortState, begin, place
from npu_overlays.contracts.lockfile import load_lock
from npu_overlays.contracts.metadata import UpstreamMetadata
from npu_overlays.errors import Problem, SourceError, UsageError
from npu_overlays.model import model_of
from npu_overlays.overlay.inputs import PORT_FILE
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.paths import as_argument
from npu_overlays.pipeline.lock_derivation import ReadUpstream
from npu_overlays.pipeline.upstream import (
    absent,
    check_shipped,
    configured_version,
    released_version,
    upstream_metadata,
)
from npu_overlays.progress import step
from npu_overlays.sources import acquisition
from npu_overlays.sources.histories import history
from npu_overlays.sources.pin import Archive, Pin
from npu_overlays.sources.releases import find_release
from npu_overlays.sources.tree import SourceTree
from npu_summary.plurals import plural


@dataclass(frozen=True, kw_only=True)
class PortTarget:
    """The new pin of a port.

    Args:
        pin: the new one.
        history: a bare repository with the commits between; None if only a release is known.
        notes: about the choice of the pin, for the user.
    """

    pin: Pin
    history: Path | None
    notes: tuple[str, ...] = ()


def find_target(pin: Pin, to: str, clone: Path | None) -> PortTarget:
    """Return the pin that a tag, a branch, a commit id or a version names.

    If git has a commit of that name, it is pinned, and beside it the release of that version, if all files that both
    have are the same. If they differ, the named one is pinned: the commit by its tag, the release by its version.

    Args:
        pin: of the overlay now.
        to: the new one, as named.
        clone: a clone of the user's to take commits from.

    Raises:
        SourceError: neither git nor an index has it.
    """
    problems: list[Problem] = []
    commit, tag, repository = _commit(pin, to, clone, problems)
    version = _version(to, digits=not (pin.repository or clone))
    archive = _release(pin, version, problems) if version else None
    bare = replace(pin, commit=commit, tag=tag, archives=())
    if archive is None:
        if not commit:
            raise SourceError(_unknown(to, problems) if problems else _unnamed(pin, to))
        is_missed = version and problems
        notes = (f"no release archive is pinned beside the commit: {problems[-1].what}",) if is_missed else ()
        return PortTarget(pin=bare, history=repository, notes=notes)
    release = replace(pin, commit="", tag="", archives=(archive,))
    if not commit:
        return PortTarget(pin=release, history=None)
    named = tag or commit[:9]
    step(f"comparing {archive.file} with {named}")
    differing = _differing(bare, release, repository)
    if not differing:
        return PortTarget(pin=replace(bare, archives=(archive,)), history=repository)
    what = f"{named} is not what {archive.file} was made from: {plural(len(differing), 'file')} changed"
    what += f", {differing[0]} first"
    if to == version:
        notes = (f"{what}; the release is pinned; name {tag} for the commit",)
        return PortTarget(pin=release, history=None, notes=notes)
    return PortTarget(pin=bare, history=repository, notes=(f"{what}; the commit is pinned",))


def _commit(pin: Pin, to: str, clone: Path | None, problems: list[Problem]) -> tuple[str, str, Path | None]:
    """Return the commit, its tag if that was named, and the repository that has it; empty and None if none has it."""
    if not (pin.repository or clone):
        return "", "", None
    names = [f"v{to}", to] if to == _version(to) else [to]
    known = [pin.commit] if pin.commit else []
    for name in names:
        try:
            repository, found = history(pin, [name, *known], clone=clone, cache=acquisition.cache_root(), progress=step)
        except SourceError as error:
            # Of v1.2 and 1.2, the name that the user wrote is reported.
            problems += [one for one in error.problems if name == to]
            continue
        return found[name], name if _version(name) else "", repository
    return "", "", None


def _release(pin: Pin, version: str, problems: list[Problem]) -> Archive | None:
    """Return the file of a release that is most like the pinned one; None if there is no such release."""
    like = pin.archives[0].file if pin.archives else ""
    try:
        cache = acquisition.cache_root().absolute()
        return find_release(pin.project, version, like=like, cache=cache, progress=step).archive
    except SourceError as error:
        problems += error.problems
        return None


def _version(to: str, *, digits: bool = False) -> str:
    """Return the version that a name stands for; empty if it is none.

    Args:
        to: the name.
        digits: whether digits without a dot are a version; with a repository, they may be the beginning of a commit id.
    """
    text = to.removeprefix("v")
    try:
        Version(text)
    except InvalidVersion:
        return ""
    return text if digits or "." in text else ""


def _unknown(to: str, problems: list[Problem]) -> Problem:
    """Return one error for a name that neither git nor an index knows."""
    answers = [f"{one.where}: {one.what}" for one in problems]
    fixes = dict.fromkeys(one.fix for one in problems)
    return Problem(where=f"--to {to}", what="; ".join(answers), fix="; or ".join(fixes))


def _unnamed(pin: Pin, to: str) -> Problem:
    what = f"is no version, and {pin.project} pins no repository that could have it as a commit, tag or branch"
    fix = f"name a release, such as 1.2.3, or a clone with --upstream {pin.project}=PATH"
    return Problem(where=f"--to {to}", what=what, fix=fix)


def _differing(bare: Pin, release: Pin, repository: Path | None) -> list[str]:
    """Return the shipped files that a commit and a release both have, and that differ."""
    commit = acquisition.acquire(bare, local=repository, progress=step, read=False)
    archive = acquisition.acquire(release, mode="archive", progress=step)
    differing: list[str] = []
    for path in commit.entries.keys() & archive.entries.keys():
        if bare.place(path) and commit.entries[path].blob != archive.entries[path].blob:
            differing.append(path)
    return sorted(differing)


@dataclass(frozen=True, kw_only=True)
class StartedPort:
    """A port that was just started.

    Args:
        overlay: the new one.
        notes: about the new pin, for the user.
        upstream: at the new pin.
    """

    overlay: Overlay
    notes: tuple[str, ...]
    upstream: ReadUpstream


def start(old: Overlay, to: str, choice: Choice) -> StartedPort:
    """Make the folder of a port without any decisions.

    Raises:
        OverlayError: the target cannot be fetched, is the old pin, or its folder exists already.
    """
    load_lock(old)
    clone = choice.clone(old.pin.project)
    target = find_target(old.pin, to, clone)
    pin = target.pin
    if pin.identity == old.pin.identity:
        what = f"{to} is the pin of {old.name} already"
        raise UsageError(Problem(where="--to", what=what, fix="name another revision"))
    folder = place(old, pin)
    if (folder / PORT_FILE).is_file():
        fix = f"finish it with `npu-overlays port {as_argument(folder)} --continue`, or delete it with --abort"
        raise UsageError(Problem(where=str(folder), what="an unfinished port to that is there", fix=fix))
    if folder.exists():
        what = "there is an overlay for that already"
        raise UsageError(Problem(where=str(folder), what=what, fix="edit that one, or name another revision"))
    repository = (target.history or clone) if pin.commit else None
    mode = "auto" if repository else choice.mode or "auto"
    tree = acquisition.acquire(pin, mode=mode, local=repository, progress=step)
    ported, notes = _shipping(replace(old, pin=pin), tree)
    check_shipped(ported, tree)
    version, metadata = _version_of(pin, tree)
    new = begin(old, ported, PortState(origin=old.folder.name, to=to, version=version), tree)
    named = tuple(f"{new.name}: {note}" for note in (*target.notes, *notes))
    upstream = ReadUpstream(tree=tree, model=model_of(new.pin, tree), metadata=metadata)
    return StartedPort(overlay=new, notes=named, upstream=upstream)


def _version_of(pin: Pin, tree: SourceTree) -> tuple[str, UpstreamMetadata | None]:
    """Return upstream's version, and its metadata if its build backend gave them, which takes seconds.

    A release has its version, which is that of its commit, too, and many commits state theirs. For these the backend
    runs when the port is locked.
    """
    if pin.archives:
        return pin.archives[0].version, None
    if tree.metadata:
        return released_version(tree), None
    if stated := configured_version(tree):
        return stated, None
    metadata = upstream_metadata(tree)
    return metadata.version, metadata


def _shipping(overlay: Overlay, tree: SourceTree) -> tuple[Overlay, list[str]]:
    """Return an overlay that ships the packages and licence files that a tree has, with notes on the missing ones.

    Raises:
        SourceError: nothing is left to ship.
    """
    gone: dict[str, list[str]] = {}
    for key, path in absent(overlay, tree):
        gone.setdefault(key, []).append(path)
    packages = tuple(path for path in overlay.pin.packages if path not in gone.get("packages", ()))
    licences = tuple(path for path in overlay.license_files if path not in gone.get("license-files", ()))
    holder = tree.source.archive or f"commit {tree.source.commit[:9]}"
    if not packages:
        tops = sorted({path.partition("/")[0] for path in tree.entries if path.endswith(".py")})
        what = f"holds none of the shipped packages: {', '.join(overlay.pin.packages)}"
        fix = f"name another revision; the Python modules of this one are {', '.join(tops) or 'none'}"
        raise SourceError(Problem(where=holder, what=what, fix=fix))
    notes: list[str] = []
    for key, paths in gone.items():
        named = ", ".join(f"`{path}`" for path in paths)
        notes.append(f"{holder} holds no {named}, so {key} of the new pin leaves it out")
    return replace(overlay, pin=replace(overlay.pin, packages=packages), license_files=licences), notes
