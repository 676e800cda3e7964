"""Omitted files: an overlay and its source tree → what upstream installs beside the shipped packages.

The companion replaces upstream's wheel, so files in neither wheel are gone from the machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial

from npu_overlays.errors import MergeError, Problem
from npu_overlays.overlay.compiled import names
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.overlay.tables import place_in
from npu_overlays.sources.archive_files import HEADERS
from npu_overlays.sources.tree import SourceTree
from npu_summary.changes import SCHEMES

_ROOT = "src/"
_LISTED = re.compile(r"([^/]+/)?[^/]+\.egg-info/top_level\.txt")
_SHOWN = 10


def check_left_out(overlay: Overlay, tree: SourceTree, releases: Iterable[SourceTree] = ()) -> None:
    """Refuse packages beside which upstream installs others, unless the overlay names these as ``not-built``.

    A release wheel shows what it installs, and an sdist what setuptools lists. If a commit is pinned they only stand in
    for it, and a build from them must be judged as one from the commit, so they are examined when the overlay is
    locked. In a commit or sdist, everything beside a package in ``src/`` is installed too.

    Args:
        overlay: the overlay.
        tree: what the wheel is made from.
        releases: the pinned archives that were read, where a commit is pinned and these are to be judged too.

    Raises:
        MergeError: with each such folder or file.
    """
    siblings = {*_siblings(overlay, tree)}
    found = set(siblings)
    judged = releases if overlay.pin.commit else [tree]
    for archive in judged:
        for path in (*_beside(overlay, archive), *_top_modules(overlay, archive)):
            if f"{_ROOT}{path}" not in siblings:
                found.add(path)
    left = [path for path in sorted(found) if not _is_named(overlay.not_built, path)]
    if not left:
        return
    shown = ", ".join(f"`{path}`" for path in left[:_SHOWN])
    if len(left) > _SHOWN:
        shown += f" and {len(left) - _SHOWN} more"
    what = f"upstream also installs {shown}, which would be missing where this wheel is installed"
    fix = _fix(overlay, left, whole=bool(tree.wheel) and not overlay.pin.commit)
    raise MergeError(Problem(where=place_in(overlay.folder / CONFIG_FILE, "tool.overlay.packages"), what=what, fix=fix))


def _fix(overlay: Overlay, left: list[str], *, whole: bool) -> str:
    """Return what to do about omitted paths; if a whole wheel is pinned, each can be shipped."""
    named = f"or, where they may be missing, say so: not-built = {json.dumps(left)}"
    others = [path for path in left if not f"{path}/".startswith(f"{HEADERS}/")]
    shippable = [path for path in others if whole or "." not in path or path.endswith(".py")]
    if shippable:
        added = [json.dumps(_as_packages_are(overlay, path.removesuffix("/__init__.py"))) for path in shippable]
        return f"add {', '.join(added)} to packages; {named}"
    if not others:
        place = f"installers put headers into a folder called after the distribution, here {overlay.distribution}"
        return f"{place}, where nothing looks for them: keep upstream's own wheel; {named}"
    return f"only folders and modules can be shipped: keep upstream's own wheel; {named}"


def check_named(overlay: Overlay, trees: Iterable[SourceTree]) -> None:
    """Refuse the pin's own entries of ``not-built`` that name nothing, if every pinned source was read.

    Raises:
        MergeError: with each such entry.
    """
    lacking = {one.file for one in overlay.pin.archives}
    lacking |= {""} if overlay.pin.commit else set()
    held: set[str] = set()
    for tree in trees:
        lacking.discard(tree.source.archive)
        held.update(tree.entries, tree.beside, _top_modules(overlay, tree))
    if lacking:
        return
    idle = [glob for glob in overlay.own_not_built if not any(map(partial(_is_named, (glob,)), held))]
    if idle:
        where = place_in(overlay.folder / CONFIG_FILE, "tool.overlay.not-built")
        fix = "delete the entry, or correct its name"
        raise MergeError(Problem(where=where, what=f"`{glob}` names nothing upstream has", fix=fix) for glob in idle)


def _is_named(globs: Iterable[str], path: str) -> bool:
    """Return whether ``not-built`` names a path, as it lies in the repository or in the wheel."""
    for glob in globs:
        if names(glob, path) or names(glob, path.removeprefix(_ROOT)) or names(glob, f"{_ROOT}{path}"):
            return True
    return False


def _as_packages_are(overlay: Overlay, path: str) -> str:
    below = all(one.startswith((_ROOT, SCHEMES)) for one in overlay.pin.packages) and not path.startswith(SCHEMES)
    return f"{_ROOT}{path.removeprefix(_ROOT)}" if below else path


def _beside(overlay: Overlay, tree: SourceTree) -> Iterator[str]:
    """Yield what a wheel of upstream's installs beside the shipped packages: the topmost folders, or single files."""
    # Outside the library folder, what is of one kind goes together.
    homes = [f"{home}/" for _, home in overlay.pin.homes]
    homes.append(f"{SCHEMES}//")
    for path in tree.beside:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            if not any(home.startswith(f"{folder}/") for home in homes):
                yield folder
                break
        else:
            yield path


def _top_modules(overlay: Overlay, tree: SourceTree) -> Iterator[str]:
    """Yield the top modules that setuptools lists in an sdist and that are not shipped here."""
    # Another check reports a package that would lie elsewhere than it is imported from.
    tops: set[str] = set()
    for _, home in overlay.pin.homes:
        module = home.removesuffix(".py")
        tops |= {module.partition("/")[0], module.rpartition("/")[2]}
    for path in filter(_LISTED.fullmatch, tree.entries):
        for name in tree.read(path).decode("utf-8", "replace").split():
            if name not in tops:
                yield name


def _siblings(overlay: Overlay, tree: SourceTree) -> Iterator[str]:
    if not all(package.startswith(_ROOT) for package in overlay.pin.packages):
        return
    shipped = {package.split("/")[1] for package in overlay.pin.packages}
    for path in tree.entries:
        parts = path.split("/")
        if path.startswith(_ROOT) and len(parts) > 2 and parts[-1] == "__init__.py" and parts[1] not in shipped:  # noqa: PLR2004  # src, a package, a module
            yield f"{_ROOT}{parts[1]}"
