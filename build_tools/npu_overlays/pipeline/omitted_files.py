"""Left out: an overlay and its source tree → what upstream installs beside the shipped packages.

The companion takes the place of upstream's wheel, so what neither it nor the
patched wheel holds is gone from the machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from npu_overlays.errors import MergeError, Problem
from npu_overlays.overlay.compiled import names
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.sources.archive_files import HEADERS
from npu_overlays.sources.tree import SourceTree
from npu_summary.changes import SCHEMES

_ROOT = "src/"
_LISTED = re.compile(r"([^/]+/)?[^/]+\.egg-info/top_level\.txt")
_SHOWN = 10


def check_left_out(overlay: Overlay, tree: SourceTree, releases: Iterable[SourceTree] = ()) -> None:
    """Refuse packages beside which upstream installs others, unless the overlay names these as ``not-built``.

    Of a release wheel it is known what it installs, of an sdist what setuptools lists in it. Where a commit is
    pinned they only stand in for it: a build from one must not be judged otherwise than a build from the commit, so
    they are looked at when the overlay is locked. Of a commit, as of every sdist, it is known that what lies beside a
    package in ``src/`` is installed as well.

    Args:
        overlay: the overlay.
        tree: what the wheel is made from.
        releases: the pinned archives that are at hand, where a commit is pinned and these are to be judged too.

    Raises:
        MergeError: with each such folder or file.
    """
    judged = releases if overlay.pin.commit else (tree,)
    listed = {path for one in judged for path in (*_beside(overlay, one), *_top_modules(overlay, one))}
    siblings = {*_siblings(overlay, tree)}
    found = siblings | {path for path in listed if f"{_ROOT}{path}" not in siblings}
    left = [path for path in sorted(found) if not any(_is_named(glob, path) for glob in overlay.not_built)]
    if not left:
        return
    shown = ", ".join(f"`{path}`" for path in left[:_SHOWN]) + (
        f" and {len(left) - _SHOWN} more" * (len(left) > _SHOWN)
    )
    what = f"upstream also installs {shown}, which nobody would have any more where this wheel is installed"
    fix = _fix(overlay, left, whole=bool(tree.wheel) and not overlay.pin.commit)
    raise MergeError(Problem(where=f"{overlay.folder / CONFIG_FILE}: tool.overlay.packages", what=what, fix=fix))


def _fix(overlay: Overlay, left: list[str], *, whole: bool) -> str:
    """Return what to do about paths that are left out.

    Args:
        overlay: the overlay.
        left: the paths.
        whole: whether a wheel of upstream's is what is pinned, each file of which can be shipped as it lies there.
    """
    named = f"or, where they may be missing, say so: not-built = {json.dumps(left)}"
    headers = [path for path in left if f"{path}/".startswith(f"{HEADERS}/")]
    shippable = [path for path in left if path not in headers and (whole or _is_package(path))]
    if shippable:
        tops = (path.removesuffix("/__init__.py") for path in shippable)
        added = ", ".join(json.dumps(_as_packages_are(overlay, path)) for path in tops)
        return f"add {added} to packages; {named}"
    if headers == left:
        place = f"installers put headers into a folder called after the distribution, here {overlay.distribution}"
        return f"{place}, where nothing looks for them: keep upstream's own wheel; {named}"
    return f"only folders and modules can be shipped: keep upstream's own wheel; {named}"


def _is_package(path: str) -> bool:
    return "." not in path or path.endswith(".py")


def check_named(overlay: Overlay, trees: Iterable[SourceTree]) -> None:
    """Refuse entries of ``not-built`` that name nothing, and that no layer says, where all that is pinned is at hand.

    Raises:
        MergeError: with each such entry.
    """
    seen = list(trees)
    pinned = {one.file for one in overlay.pin.archives} | ({""} if overlay.pin.commit else set())
    if not pinned <= {tree.source.archive for tree in seen}:
        return
    held = {path for tree in seen for path in (*tree.entries, *tree.beside, *_top_modules(overlay, tree))}
    idle = [glob for glob in overlay.own_not_built if not any(_is_named(glob, path) for path in held)]
    if idle:
        where, fix = f"{overlay.folder / CONFIG_FILE}: tool.overlay.not-built", "delete the entry, or mend its name"
        raise MergeError(Problem(where=where, what=f"`{glob}` names nothing upstream has", fix=fix) for glob in idle)


def _is_named(glob: str, path: str) -> bool:
    """Return whether ``not-built`` names a path, as it lies in the repository or in the wheel."""
    return any(names(glob, one) for one in {path, path.removeprefix(_ROOT), f"{_ROOT}{path}"})


def _as_packages_are(overlay: Overlay, path: str) -> str:
    below = all(one.startswith((_ROOT, SCHEMES)) for one in overlay.pin.packages) and not path.startswith(SCHEMES)
    return f"{_ROOT}{path.removeprefix(_ROOT)}" if below else path


def _beside(overlay: Overlay, tree: SourceTree) -> Iterator[str]:
    # Outside the library folder, what is of one kind goes together.
    homes = [*(home for _, home in overlay.pin.homes), f"{SCHEMES}/"]
    return (_unit(path, homes) for path in tree.beside)


def _unit(path: str, homes: Iterable[str]) -> str:
    """Return the topmost folder around a file in which nothing is shipped, or the file itself."""
    folders = [path[:end] for end, character in enumerate(path) if character == "/"]
    free = (folder for folder in folders if not any(f"{home}/".startswith(f"{folder}/") for home in homes))
    return next(free, path)


def _top_modules(overlay: Overlay, tree: SourceTree) -> Iterator[str]:
    """Yield what setuptools has listed in an sdist as its top modules and does not ship here."""
    # A package that would come to lie elsewhere than it is imported from is told by another check.
    homes = [home.removesuffix(".py") for _, home in overlay.pin.homes]
    tops = {name for home in homes for name in (home.partition("/")[0], home.rpartition("/")[2])}
    for path in filter(_LISTED.fullmatch, tree.entries):
        yield from (name for name in tree.read(path).decode("utf-8", "replace").split() if name not in tops)


def _siblings(overlay: Overlay, tree: SourceTree) -> Iterator[str]:
    if not all(package.startswith(_ROOT) for package in overlay.pin.packages):
        return
    shipped = {package.split("/")[1] for package in overlay.pin.packages}
    for path in tree.entries:
        parts = path.split("/")
        if path.startswith(_ROOT) and len(parts) > 2 and parts[-1] == "__init__.py" and parts[1] not in shipped:  # noqa: PLR2004  # src, a package, a module
            yield f"{_ROOT}{parts[1]}"
