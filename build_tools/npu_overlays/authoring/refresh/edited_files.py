"""Edited files: a checkout and what its overlay gives → the files that differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.authoring.checkout.folder import Checkout
from npu_overlays.authoring.checkout.repository import Repository
from npu_overlays.errors import MergeError, Problem, listing
from npu_overlays.overlay.inputs import is_ignored
from npu_overlays.overlay.project import Overlay
from npu_overlays.sources.tree import PatchedTree, blob_id


@dataclass(frozen=True, kw_only=True)
class EditedFile:
    """A file that was edited."""

    path: str
    # None where it was deleted.
    content: bytes | None
    executable: bool = False


def edited_files(checkout: Checkout, overlay: Overlay, tree: PatchedTree) -> tuple[EditedFile, ...]:
    """Return what differs between a work tree and the tree that its overlay gives.

    Files that upstream's .gitignore names are passed over, unless they were added to the index. Raises `MergeError`
    where files were changed to something that no wheel can hold.
    """
    found = tuple(_differing(checkout.folder, tree))
    MergeError.raise_for(_mistakes(checkout.folder, found, overlay, tree))
    return found


def passed_over(checkout: Checkout, overlay: Overlay) -> tuple[str, ...]:
    """Return the files of a work tree that would be shipped if upstream's .gitignore did not name them."""
    found: list[str] = []
    for path in sorted(Repository(checkout.folder).files("--others", "--ignored", "--exclude-standard")):
        if overlay.pin.place(path) and not is_ignored(checkout.folder / path, checkout.folder):
            found.append(path)
    return tuple(found)


def nested(checkout: Checkout, overlay: Overlay) -> tuple[str, ...]:
    """Return the folders of a work tree whose files would be shipped if they were not repositories of their own."""
    return tuple(name for name in Repository(checkout.folder).nested() if overlay.pin.place(f"{name}__init__.py"))


def _differing(folder: Path, tree: PatchedTree) -> Iterator[EditedFile]:
    repository = Repository(folder)
    present, left_out = repository.present(), repository.left_out()
    for path in sorted({*present, *tree.paths()} - tree.upstream.links - left_out.keys()):
        file = folder / path
        content = file.read_bytes() if path in present and not file.is_symlink() else None
        executable = content is not None and bool(file.stat().st_mode & 0o100)
        other_mode = content is not None and executable != tree.is_executable(path)
        if file.is_symlink() or content != tree.after(path) or other_mode:
            yield EditedFile(path=path, content=content, executable=executable)
    # Of a file outside a sparse checkout, the content in the index counts.
    for path, (mode, blob) in left_out.items():
        after = tree.after(path)
        executable = mode == "100755"
        same = after is not None and (blob_id(after), tree.is_executable(path)) == (blob, executable)
        if not same and path not in tree.upstream.links:
            yield EditedFile(path=path, content=repository.git("cat-file", "blob", blob), executable=executable)


def _mistakes(folder: Path, found: tuple[EditedFile, ...], overlay: Overlay, tree: PatchedTree) -> Iterator[Problem]:
    """Yield what no wheel can hold of what was edited."""
    for one in found:
        if (folder / one.path).is_symlink():
            yield Problem(
                where=one.path, what="is a symbolic link, which a wheel cannot hold", fix="replace it by a file"
            )
    if outside := [one.path for one in found if not overlay.pin.place(one.path)]:
        what = f"lie in none of the overlay's packages and would not be shipped: {listing(outside)}"
        fix = "restore them (git restore), delete those that are new (git clean), or name those in .git/info/exclude"
        yield Problem(where=overlay.name, what=what, fix=fix)
    for one in found:
        if one.path in tree.upstream and one.content is not None and one.executable != tree.is_executable(one.path):
            what = "has another executable bit than upstream's file, and no overlay can change that"
            yield Problem(where=one.path, what=what, fix=f"run `chmod {'-' if one.executable else '+'}x {one.path}`")
