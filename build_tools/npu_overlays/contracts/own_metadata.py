"""Own metadata: shipped modules → those that look for their files in the metadata of upstream's distribution.

Under that name there is the companion, whose metadata lists none of them. Nothing is run: names are followed to imports
and to the texts that the module gives them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from packaging.utils import canonicalize_name

from npu_overlays.overlay.project import Overlay
from npu_overlays.sources.tree import PatchedTree

_METADATA = re.compile(r"importlib[._]metadata\.(?=\w+(\.from_name)?$)")
_DISTRIBUTION = ("distribution", "Distribution.from_name")
_OF_FILES = ("files", "locate_file", "read_text", "entry_points")


def asking(modules: Iterable[tuple[str, str, bytes]], project: str) -> list[str]:
    """Return the repository paths of modules that look for files in the metadata of their own distribution.

    Args:
        modules: the repository path, place in the wheel and content of each.
        project: upstream's normalised name.
    """
    mentioning = (one for one in modules if b"importlib" in one[2] and b"metadata" in one[2])
    return [path for path, place, content in mentioning if _asks(place, content, project)]


def asking_notices(overlay: Overlay, tree: PatchedTree) -> list[str]:
    """Return a notice for each such module of a patched tree."""
    project, place = overlay.pin.project, overlay.pin.place
    paths = (path for path in tree.paths() if path.endswith(".py") and place(path))
    modules = ((path, place(path), tree.after(path) or b"") for path in paths)
    return [
        f"{overlay.name}: {path} looks for files in the metadata of {project}, which are the companion's and list none:"
        f" make it ask for {overlay.distribution}"
        for path in asking(modules, project)
    ]


def _asks(place: str, content: bytes, project: str) -> bool:
    try:
        module = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        return False
    nodes = list(ast.walk(module))
    imported = dict(_imported(nodes))
    texts = _texts(nodes, place)
    calls = [one for one in nodes if isinstance(one, ast.Call) and project in _named(one, texts)]
    if any(_function(one, imported) == "files" for one in calls):
        return True
    own = {one for one in calls if _function(one, imported) in _DISTRIBUTION}
    given = {
        target.id
        for one in nodes
        if isinstance(one, ast.Assign) and one.value in own
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    read = (one.value for one in nodes if isinstance(one, ast.Attribute) and one.attr in _OF_FILES)
    return any(one in own or (isinstance(one, ast.Name) and one.id in given) for one in read)


def _imported(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield each name that an import binds, with what it stands for."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((one.asname, one.name) for one in node.names if one.asname)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((one.asname or one.name, f"{node.module}.{one.name}") for one in node.names)


def _texts(nodes: Iterable[ast.AST], place: str) -> dict[str, set[str]]:
    """Return the texts that each name of a module may be given."""
    name = place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    package = name if place.endswith("/__init__.py") else name.rpartition(".")[0]
    texts = {"__name__": {name}, "__package__": {package}}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
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
