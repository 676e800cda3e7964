"""Import paths: an overlay and its source tree → the packages that import themselves by another name."""

from __future__ import annotations

import re
import sys

from npu_overlays.errors import MergeError, Problem
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.sources.tree import SourceTree

_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_][\w.]*)", re.MULTILINE)


def check_imports(overlay: Overlay, tree: SourceTree) -> None:
    """Refuse a package whose own modules import it by another name than the wheel would give it.

    Raises:
        MergeError: with each such package.
    """
    explicit = dict(overlay.pin.imports)
    problems = []
    for top, home in overlay.pin.homes:
        if tree.wheel or "/" not in home or top in explicit:
            continue
        used = _imported(tree, top)
        dotted, short = home.replace("/", "."), home.rpartition("/")[2]
        if not _reached(used, dotted) and _reached(used, short) and short not in sys.stdlib_module_names:
            what = f"{top} would be installed as `{dotted}`, and its modules import `{short}`"
            fix = f'write {{ path = "{top}", import = "{short}" }} instead of "{top}"'
            where = f"{overlay.folder / CONFIG_FILE}: tool.overlay.packages"
            problems.append(Problem(where=where, what=what, fix=fix))
    if problems:
        raise MergeError(problems)


def _imported(tree: SourceTree, top: str) -> set[str]:
    modules = (path for path in tree.entries if path.startswith(f"{top}/") and path.endswith(".py"))
    return {found.decode() for path in modules for found in _IMPORT.findall(tree.read(path))}


def _reached(used: set[str], name: str) -> bool:
    return any(one == name or one.startswith(f"{name}.") for one in used)
