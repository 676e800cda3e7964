"""Expiry: an overlay, its upstream and other pins → the items that can go: `drop_when` holds, or no pin needs them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from packaging.version import Version

from npu_overlays.contracts.lockfile import Lock, load_lock
from npu_overlays.errors import OverlayError, Problem
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.module import Module
from npu_overlays.model.signatures import parameters
from npu_overlays.model.syntax import is_name
from npu_overlays.overlay.conditions import Condition, condition
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.layer_content import read_layers
from npu_overlays.overlay.operations import Reason
from npu_overlays.overlay.overlay_folders import pins_on
from npu_overlays.overlay.patches import read_patch
from npu_overlays.overlay.project import Layer, Overlay
from npu_overlays.sources.tree import SourceTree

_FIX = "delete it or give it until=; if it is still needed, write another drop_when"


def unused_bounds(overlay: Overlay, lock_of: Callable[[Overlay], Lock] = load_lock) -> Iterator[Problem]:
    """Yield a problem for each item that applies to no pin, of the pin itself and of layers beside it.

    A layer elsewhere has other people's pins. If a pin is not locked, its version is unknown.

    Args:
        overlay: the pin.
        lock_of: gives the lock of a pin; may raise `ConfigError`.
    """
    for layer in overlay.chain:
        bounded = list(read_layers([layer]).bounded())
        versions = _versions(layer, overlay, lock_of) if bounded else []
        for _, where, bounds in bounded:
            if versions and not any(bounds.hold(Version(version)) for version in versions):
                what = f"is {bounds}, and no pin on {layer.name} has such a version ({', '.join(versions)})"
                fix = "correct the version, delete what it bounds, or add the pin it is for"
                yield Problem(where=where, what=what, fix=fix)


def _versions(layer: Layer, overlay: Overlay, lock_of: Callable[[Overlay], Lock]) -> list[str]:
    """Return upstream's version at every pin on a layer; none if one is unknown."""
    pins = [overlay]
    if layer.folder.resolve() != overlay.folder.resolve():
        if layer.folder.resolve().parent != overlay.folder.resolve().parent:
            return []
        pins += pins_on(layer, beside=overlay)
    try:
        return sorted({lock_of(pin).metadata.version for pin in pins}, key=Version)
    except OverlayError:
        return []


def met_drop_conditions(
    content: Content, version: str, tree: SourceTree, has_commit: Callable[[str], bool] = lambda _: False
) -> Iterator[Problem]:
    """Yield a problem for everything whose `drop_when` is a condition that holds.

    Args:
        content: the overlay's.
        version: upstream's.
        tree: upstream, unpatched.
        has_commit: returns whether a commit is part of it, as far as known.
    """
    asked: dict[Condition, bool] = {}
    for where, reason in _reasons(content):
        wanted = condition(reason.drop_when)
        if wanted is None:
            continue
        if wanted not in asked:
            asked[wanted] = _holds(wanted, version, tree, has_commit)
        if asked[wanted]:
            yield Problem(
                where=where, what=f"can be dropped: `{reason.drop_when}` holds in upstream {version}", fix=_FIX
            )


def _reasons(content: Content) -> Iterator[tuple[str, Reason]]:
    yield from dict.fromkeys((one.where, one.reason) for one in content.operations)
    for file in content.patches:
        yield file.file, read_patch(file).reason


def _holds(wanted: Condition, version: str, tree: SourceTree, has_commit: Callable[[str], bool]) -> bool:
    if wanted.kind == "version":
        return Version(version) >= Version(wanted.value)
    if wanted.kind == "commit":
        return has_commit(wanted.value)
    nodes = _nodes(wanted, tree)
    if wanted.kind == "no symbol":
        return not nodes
    return any(not wanted.parameter or _takes(node, wanted.parameter) for node in nodes)


def _nodes(wanted: Condition, tree: SourceTree) -> list[ast.stmt]:
    """Return the definitions of a symbol; none if the file is absent or not Python."""
    if wanted.path not in tree:
        return []
    try:
        module = Module(wanted.path, tree.read(wanted.path))
    except OverlayError:
        return []
    return [one.node for one in module.definitions.get(wanted.symbol, [])]


def _takes(node: ast.stmt, name: str) -> bool:
    """Return whether a function has a parameter; for a class, its own ``__init__`` counts, else its fields."""
    if isinstance(node, FUNCTIONS):
        return any(one.name == name for one in parameters(node.args))
    if not isinstance(node, ast.ClassDef):
        return False
    if made := [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]:
        return any(_takes(one, name) for one in made)
    return any(isinstance(one, ast.AnnAssign) and is_name(one.target, name) for one in node.body)
