"""Git: a pin goes in, exactly the blobs of its commit come out.

The commit is fetched into a bare repository that stays in the cache, and its
blobs are read from the object database. Nothing is ever checked out, so
hooks, filters, line-ending conversion, submodules and export-ignore have no
part in it. The user's own git configuration decides how a URL is reached.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npu_overlays import proc
from npu_overlays.errors import Problem, SourceError
from npu_overlays.source import cache as caching
from npu_overlays.source import entry as entries
from npu_overlays.source.fetch import Route, fetch
from npu_overlays.source.paths import faults, inside, listing
from npu_overlays.tree import Origin, SourceTree, blob_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from npu_overlays.pin import Pin
    from npu_overlays.source.cache import Progress

_BATCH = 500  # blobs read at a time: bounds memory, costs a few processes per commit


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One line of ``git ls-tree``."""

    mode: str
    blob: str
    path: str

    @property
    def executable(self) -> bool:
        """Whether git has the file as executable."""
        return self.mode == "100755"


def acquire(pin: Pin, *, cache: Path, progress: Progress, route: Route | None = None) -> SourceTree:
    """Return the pinned commit's files from the cache, fetching them first where they are not there.

    Args:
        pin: the pinned commit.
        cache: the cache folder.
        progress: told what is being waited for.
        route: how to fetch, instead of from the pin's repository and mirrors.

    Raises:
        SourceError: the commit cannot be had (then an `UnreachableError`) or holds what cannot be built from.
        OutputError: the cache cannot be read or written.
    """
    folder = entry_folder(pin, cache)
    chosen = route or Route(urls=(pin.repository, *pin.mirrors))
    found = entries.load_or_make(cache, folder, lambda: _make(pin, cache, folder, chosen, progress), progress)
    _refuse_submodules(pin, found.extras.submodules)
    return found.tree(Origin(kind="git", repository=pin.repository, commit=pin.commit))


def entry_folder(pin: Pin, cache: Path) -> Path:
    """Return where the cache keeps the unpacked commit."""
    return cache / "git" / f"{pin.project}-{pin.commit}"


def kept(cache: Path, commit: str) -> Path:
    """Return where the cache keeps the bare repository that holds `commit`."""
    return cache / "commits" / f"{commit}.git"


def _make(pin: Pin, cache: Path, folder: Path, route: Route, progress: Progress) -> None:
    repository = kept(cache, pin.commit)
    fresh = not repository.is_dir()
    if fresh:
        fetch(pin, cache=cache, destination=repository, route=route, progress=progress)
    try:
        _publish(pin, cache, repository, folder, progress)
    except proc.ProcessError as error:
        # What an earlier run left is damaged: once more, from where it came.
        caching.discard(cache, repository)
        if fresh:
            raise SourceError(Problem(where=where(pin), what=f"cannot be read from git: {error.output}")) from error
        _make(pin, cache, folder, route, progress)


def _publish(pin: Pin, cache: Path, repository: Path, folder: Path, progress: Progress) -> None:
    listed = list_commit(repository, pin.commit)
    wrong = faults(item.path for item in listed)
    if wrong:
        what = f"the commit holds paths that cannot be unpacked safely: {listing(wrong)}"
        raise SourceError(Problem(where=where(pin), what=what, fix="pin another commit"))
    regular = [item for item in listed if item.mode.startswith("100")]
    progress(f"{where(pin)}: unpacking {len(regular)} files")
    extras = entries.Extras(
        links=tuple(item.path for item in listed if item.mode == "120000"),
        submodules=tuple(item.path for item in listed if item.mode == "160000"),
    )
    with caching.workspace(cache) as work:
        entries.write(work / "entry", _files(repository, regular), extras)
        caching.publish(work / "entry", folder)


def _files(repository: Path, listed: Sequence[Listed]) -> Iterator[entries.File]:
    for start in range(0, len(listed), _BATCH):
        batch = listed[start : start + _BATCH]
        contents = read_blobs(repository, [item.blob for item in batch])
        for item, content in zip(batch, contents, strict=True):
            yield entries.File(path=item.path, content=content, executable=item.executable)


def list_commit(repository: Path, commit: str) -> list[Listed]:
    """Return every entry of the commit's tree, at all depths; raises `proc.ProcessError`."""
    output = command(repository, "ls-tree", "-r", "-z", "--full-tree", commit)
    lines = (line.partition(b"\t") for line in output.split(b"\0") if line)
    return [
        Listed(mode=mode, blob=blob, path=os.fsdecode(path))
        for (mode, _, blob), path in ((head.decode().split(" "), path) for head, _, path in lines)
    ]


def read_blobs(repository: Path, blobs: Sequence[str]) -> Iterator[bytes]:
    """Yield the content of each blob, in order, each checked against its id; raises `proc.ProcessError`."""
    request = "".join(f"{blob}\n" for blob in blobs).encode()
    output = command(repository, "cat-file", "--batch", "--buffer", stdin=request)
    at = 0
    for blob in blobs:
        end = output.index(b"\n", at)
        header = output[at:end].decode().split(" ")
        if header[:2] != [blob, "blob"]:
            raise proc.ProcessError(["git", "cat-file"], " ".join(header))
        content = output[end + 1 : end + 1 + int(header[2])]
        if blob_id(content) != blob:
            raise proc.ProcessError(["git", "cat-file"], f"blob {blob} is corrupt")
        yield content
        at = end + 1 + len(content) + 1


def command(repository: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    """Run git on a bare repository of the cache and return its output; raises `proc.ProcessError`."""
    return proc.run(["git", f"--git-dir={repository}", *arguments], stdin=stdin, timeout=600)


def where(pin: Pin) -> str:
    """Return how a pin is called in messages."""
    return f"{pin.project} {pin.commit or pin.short}"


def _refuse_submodules(pin: Pin, submodules: Sequence[str]) -> None:
    shipped = [path for path in submodules if inside(path, pin.packages)]
    if shipped:
        what = f"submodules lie in the shipped packages: {listing(shipped)}"
        raise SourceError(Problem(where=where(pin), what=what, fix="ship packages without submodules"))
