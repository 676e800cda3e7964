"""Own metadata: shipped modules → those that look up their files in the metadata of upstream's distribution.

The companion has that name, and its metadata lists no files. Nothing is run: the model resolves imports, and an
argument is followed to the string constants of its name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Sequence

from packaging.utils import canonicalize_name

from npu_overlays.model import Model
from npu_overlays.model.shipped_modules import ShippedModules
from npu_overlays.model.syntax import call_arguments, text_of
from npu_overlays.overlay.project import Overlay

_METADATA = re.compile(r"importlib[._]metadata\.(?=\w+(\.from_name)?$)")
_DISTRIBUTION = ("distribution", "Distribution.from_name")
_OF_FILES = ("files", "locate_file", "read_text", "entry_points")
_MENTIONED = re.compile(rb"\b(?:%s)\b" % "|".join(_OF_FILES).encode())


def own_metadata_readers(model: Model, project: str) -> list[str]:
    """Return the repository paths of modules that look up files in their own distribution's metadata.

    Args:
        model: of the tree that is shipped.
        project: upstream's normalised name.
    """
    found: list[str] = []
    for path in model.modules.places.values():
        if path.endswith(".py") and _reads_own_metadata(model.modules, path, project):
            found.append(path)
    return found


def own_metadata_notices(overlay: Overlay, model: Model) -> list[str]:
    """Return a notice for each such module of a patched tree."""
    project = overlay.pin.project
    return [
        f"{overlay.name}: {path} looks for files in the metadata of {project}, which are the companion's and list none:"
        f" make it ask for {overlay.distribution}"
        for path in own_metadata_readers(model, project)
    ]


def _reads_own_metadata(modules: ShippedModules, path: str, project: str) -> bool:
    content = modules.read(path)
    if b"importlib" not in content or b"metadata" not in content or not _MENTIONED.search(content):
        return False
    module = modules.module(path)
    if module is None:
        return False
    name, nodes = modules.name(path), module.nodes
    imported: dict[str, str] = {}
    for node in module.parsed.imports:
        for one in modules.imported(name, node):
            imported[one.local] = one.full
    texts = _texts(nodes, name, package=modules.is_package(name))
    distributions: set[ast.AST] = set()
    for call in nodes:
        if isinstance(call, ast.Call) and project in _named(call, texts):
            function = _function(call, imported)
            if function == "files":
                return True
            if function in _DISTRIBUTION:
                distributions.add(call)
    return _ask_for_files(nodes, distributions)


def _ask_for_files(nodes: Sequence[ast.AST], distributions: Container[ast.AST]) -> bool:
    """Return whether code asks one of some distributions, directly or in a variable, for its files."""
    variables: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Assign) and node.value in distributions:
            variables.update(target.id for target in node.targets if isinstance(target, ast.Name))
    for node in nodes:
        if not isinstance(node, ast.Attribute) or node.attr not in _OF_FILES:
            continue
        if node.value in distributions or getattr(node.value, "id", "") in variables:
            return True
    return False


def _texts(nodes: Sequence[ast.AST], name: str, *, package: bool) -> dict[str, set[str]]:
    """Return the string constants that each name of a module may have."""
    texts = {"__name__": {name}, "__package__": {name if package else name.rpartition(".")[0]}}
    for node in nodes:
        if isinstance(node, ast.Assign) and (text := text_of(node.value)):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    texts.setdefault(target.id, set()).add(text)
    return texts


def _named(call: ast.Call, texts: dict[str, set[str]]) -> set[str]:
    """Return the normalised names that a call's first argument may have."""
    first = next(iter(call_arguments(call)), None)
    named = texts.get(first.id, set()) if isinstance(first, ast.Name) else {text_of(first)}
    return set(map(canonicalize_name, filter(None, named)))


def _function(call: ast.Call, imported: dict[str, str]) -> str:
    """Return the called function of `importlib.metadata`; empty for any other call."""
    first, dot, rest = ast.unparse(call.func).partition(".")
    dotted = f"{imported.get(first, first)}{dot}{rest}"
    found = _METADATA.match(dotted)
    return dotted[found.end() :] if found else ""
