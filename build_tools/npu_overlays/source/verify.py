"""Verification: a cached tree and the paths a build uses go in; damaged files are put right, or it is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npu_overlays import proc
from npu_overlays.errors import Problem, SourceError
from npu_overlays.source import archive, git
from npu_overlays.source import cache as caching
from npu_overlays.source import entry as entries
from npu_overlays.source.paths import listing
from npu_overlays.tree import SourceTree, blob_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


def verify(tree: SourceTree, paths: Iterable[str]) -> None:
    """See that the files are what the commit or archive holds; damaged ones are restored from what the cache keeps.

    Args:
        tree: a tree given by `acquire`.
        paths: the paths to look at; one that is not in the tree is a `KeyError`.

    Raises:
        SourceError: a file is damaged and cannot be restored; the entry is then removed from the cache.
        OutputError: the cache cannot be read or written.
    """
    with caching.using(_cache(tree)):
        damaged = [path for path in paths if not _intact(tree, path)]
        if damaged:
            _restore(tree, damaged)


def _intact(tree: SourceTree, path: str) -> bool:
    wanted = tree.entries[path].blob
    try:
        return blob_id((tree.root / path).read_bytes()) == wanted
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return False


def _cache(tree: SourceTree) -> Path:
    return tree.root.parents[2]  # <cache>/<kind>/<entry>/tree


def _restore(tree: SourceTree, damaged: list[str]) -> None:
    cache = _cache(tree)
    try:
        with caching.workspace(cache) as work:
            for file in _kept(tree, damaged):
                entries.write_file(work / "file", file)
                (tree.root / file.path).parent.mkdir(parents=True, exist_ok=True)
                (work / "file").replace(tree.root / file.path)
    except (proc.ProcessError, SourceError, FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        caching.discard(cache, tree.root.parent)
        what = f"files of the cached source are damaged: {listing(damaged)}"
        fix = "build again: the entry has been removed and will be acquired anew"
        raise SourceError(Problem(where=str(tree.root), what=what, fix=fix)) from error


def _kept(tree: SourceTree, damaged: list[str]) -> Iterator[entries.File]:
    executable = {path: tree.entries[path].executable for path in damaged}
    contents = _from_git(tree, damaged) if tree.origin.kind == "git" else _from_archive(tree, damaged)
    for path, content in zip(damaged, contents, strict=True):
        if blob_id(content) != tree.entries[path].blob:
            raise SourceError(Problem(where=path, what="what the cache keeps is damaged too"))
        yield entries.File(path=path, content=content, executable=executable[path])


def _from_git(tree: SourceTree, damaged: list[str]) -> Iterator[bytes]:
    repository = git.kept(_cache(tree), tree.origin.commit)
    return git.read_blobs(repository, [tree.entries[path].blob for path in damaged])


def _from_archive(tree: SourceTree, damaged: list[str]) -> Iterator[bytes]:
    entry = entries.load(tree.root.parent)
    homes = entry.extras.homes if entry else ()
    files, _ = archive.read(archive.kept(_cache(tree), tree.origin.sha256), tree.origin.archive, homes)
    content = {file.path: file.content for file in files}
    return (content.get(path, b"") for path in damaged)
