"""Own metadata: shipped modules → those that look for their files in the metadata of upstream's distribution.

Under that name there is the companion, whose metadata lists none of them. Nothing is run: names are followed to imports
and to the texts that the module gives them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from packaging.utils import canonicalize_name

from npu_overlays.model.imports import all_imported
from npu_overlays.model.shipped_modules import is_package_file, module_name
from npu_overlays.model.syntax import all_of
from npu_overlays.overlay.project import Overlay
from npu_overlays.tree import PatchedTree

_METADATA = re.compile(r"importlib[._]metadata\.(?=\w+(\.from_name)?$)")
_DISTRIBUTION = ("distribution", "Distribution.from_name")
_OF_FILES = ("files", "locate_file", "read_text", "entry_points")


def own_metadata_readers(modules: Iterable[tuple[str, str, bytes]], project: str) -> list[str]:
    """Return the repository paths of modules that look for files in the metadata of their own distribution.

    Args:
        modules: the repository path, place in the wheel and content of each.
        project: upstream's normalised name.
    """
    mentioning = (one for one in modules if b"importlib" in one[2] and b"metadata" in one[2])
    return [path for path, place, content in mentioning if _asks(place, content, project)]


def own_metadata_notices(overlay: Overlay, tree: PatchedTree) -> list[str]:
    """Return a notice for each such module of a patched tree."""
    project, place = overlay.pin.project, overlay.pin.place
    paths = (path for path in tree.paths() if path.endswith(".py") and place(path))
    modules = ((path, place(path), tree.after(path) or b"") for path in paths)
    return [
        f"{overlay.name}: {path} looks for files in the metadata of {project}, which are the companion's and list none:"
        f" make it ask for {overlay.distribution}"
        for path in own_metadata_readers(modules, project)
    ]


def _asks(place: str, content: bytes, project: str) -> bool:
    """Return whether a module in a place of the wheel asks for files in the metadata of a project."""
    try:
        module = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        return False
    name, package = module_name(place), is_package_file(place)
    imports = {one.local: one.full for one in all_imported(module, name, package=package)}
    texts = _texts(module, name, name if package else name.rpartition(".")[0])
    own: set[ast.expr] = set()
    for call in all_of(module, ast.Call):
        function = _function(call, imports) if project in _named(call, texts) else ""
        if function == "files":
            return True
        if function in _DISTRIBUTION:
            own.add(call)
    names: set[str] = set()
    for node in all_of(module, ast.Assign):
        if node.value in own:
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    for read in all_of(module, ast.Attribute):
        if read.attr in _OF_FILES and (read.value in own or getattr(read.value, "id", "") in names):
            return True
    return False


def _texts(module: ast.Module, name: str, package: str) -> dict[str, set[str]]:
    """Return the texts that each name of a module may be given."""
    texts = {"__name__": {name}, "__package__": {package}}
    for node in all_of(module, ast.Assign):
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    texts.setdefault(target.id, set()).add(node.value.value)
    return texts


def _named(call: ast.Call, texts: dict[str, set[str]]) -> set[str]:
    """Return the normalised names that the first argument of a call may be."""
    first = next(iter([*call.args, *(one.value for one in call.keywords)]), None)
    if isinstance(first, ast.Constant):
        return {canonicalize_name(first.value)} if isinstance(first.value, str) else set()
    return set(map(canonicalize_name, texts.get(first.id, ()))) if isinstance(first, ast.Name) else set()


def _function(call: ast.Call, imported: dict[str, str]) -> str:
    """Return which function of `importlib.metadata` is called; empty for another."""
    first, dot, rest = ast.unparse(call.func).partition(".")
    dotted = f"{imported.get(first, first)}{dot}{rest}"
    found = _METADATA.match(dotted)
    return dotted[found.end() :] if found else ""
