"""Undefined names: patched modules → names used in them that nothing binds.

What upstream's own text left undefined is upstream's business: each place is compared with the place it was at there,
so that the same name at another place, or in the overlay's text, is found.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from npu_overlays import proc
from npu_overlays.merging.authorship import Authorship, bare
from npu_overlays.merging.shipped import Sources
from npu_overlays.syntax.parsing import line_starts
from npu_overlays.syntax.scopes import Load, Scopes
from npu_overlays.syntax.surface import unevaluated

LOWEST_PYTHON = "py310"
# F821: undefined name; F405: a name that only a star import can bring. A syntax error has no such code and is always
# reported.
_RULES = "F821,F405"
_WORTH_A_LOOK = re.compile(rb"TYPE_CHECKING|^[ \t]*global\s|[;:][ \t]*global\s", re.MULTILINE)
_NAME = re.compile("`([^`]+)`")

Kind: TypeAlias = Literal["syntax", "undefined", "star", "typing", "global"]


@dataclass(frozen=True, kw_only=True)
class PatchedModule:
    """A module whose text is not upstream's.

    Args:
        path: repository path.
        before: upstream's bytes; None for an added file.
        after: the patched bytes.
        authorship: who wrote which of them.
    """

    path: str
    before: bytes | None
    after: bytes
    authorship: Authorship


@dataclass(frozen=True, kw_only=True)
class Undefined:
    """One place that names what nothing binds.

    Args:
        module: the module it is in.
        kind: why: no binding, only perhaps a star import, only under ``if TYPE_CHECKING:``, only ``global``; or the
            text is no Python of the lowest version.
        name: the name, or the message of a syntax error.
        offset: where, in bytes without the byte order mark.
        line: its 1-based line.
        upstreams: where upstream's text of the module leaves the same name undefined, in bytes likewise.
    """

    module: PatchedModule
    kind: Kind
    name: str
    offset: int
    line: int
    upstreams: tuple[int, ...] = ()


def undefined_names(modules: list[PatchedModule], sources: Sources) -> list[Undefined]:
    """Return every undefined name and syntax error of patched modules that upstream's text does not have there."""
    found = list(_by_ruff(modules))
    for module in modules:
        found += _unbound(module, sources)
    return sorted(found, key=lambda one: (one.module.path, one.offset))


def _by_ruff(modules: list[PatchedModule]) -> Iterator[Undefined]:
    with tempfile.TemporaryDirectory(prefix="npu-overlays-gate-") as folder:
        for number, module in enumerate(modules):
            for side, content in enumerate((module.before, module.after)):
                if content is not None:
                    # Under its own name: of an __init__.py, __path__ is no undefined name.
                    file = Path(folder, f"{number}_{side}", module.path.rpartition("/")[2])
                    file.parent.mkdir()
                    file.write_bytes(bare(content))
        said: dict[tuple[int, int], list[dict[str, Any]]] = {}
        for entry in _ruff(folder) if modules else ():
            index, _, which = Path(entry["filename"]).parent.name.partition("_")
            said.setdefault((int(index), int(which)), []).append(entry)
        for position, module in enumerate(modules):
            yield from _new(module, said.get((position, 0), []), said.get((position, 1), []))


def _ruff(folder: str) -> list[dict[str, Any]]:
    """Run ruff on every file of a folder and return its findings."""
    options = ["--isolated", "--no-cache", "--exit-zero", "--ignore-noqa", "--output-format=json"]
    rules = [f"--select={_RULES}", f"--target-version={LOWEST_PYTHON}"]
    output = proc.run([sys.executable, "-m", "ruff", "check", *options, *rules, folder])
    findings: list[dict[str, Any]] = json.loads(output)
    return findings


def _new(module: PatchedModule, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Iterator[Undefined]:
    """Yield what ruff says of the patched module, less what it says of the same places of upstream's."""
    places = _Places(module.before or b"")
    known: dict[str, list[int]] = {}
    for entry in before:
        known.setdefault(_name_of(entry), []).append(places.offset(entry))
    syntax = {entry["message"] for entry in before if not _is_name(entry)}
    places = _Places(module.after)
    for entry in after:
        offset = places.offset(entry)
        line = entry["location"]["row"]
        if not _is_name(entry):
            if entry["message"] not in syntax:
                yield Undefined(module=module, kind="syntax", name=entry["message"], offset=offset, line=line)
        elif not places.quoted(offset):
            kind: Kind = "star" if entry["code"] == "F405" else "undefined"
            name, upstreams = _name_of(entry), tuple(known.get(_name_of(entry), []))
            if module.authorship.origin(offset) not in upstreams:
                yield Undefined(module=module, kind=kind, name=name, offset=offset, line=line, upstreams=upstreams)


def _is_name(entry: dict[str, Any]) -> bool:
    return entry["code"] in _RULES.split(",")


def _name_of(entry: dict[str, Any]) -> str:
    match = _NAME.search(entry["message"])
    return match.group(1) if match else str(entry["message"])


class _Places:
    """Byte offsets of the places ruff names by line and character."""

    def __init__(self, content: bytes) -> None:
        self._content = bare(content)
        self._lines = self._content.splitlines(keepends=True) or [b""]
        self._starts = line_starts(self._lines)

    def offset(self, entry: dict[str, Any]) -> int:
        row = min(int(entry["location"]["row"]), len(self._lines)) - 1
        text = self._lines[row].decode("utf-8", errors="replace")
        column = int(entry["location"]["column"])
        return self._starts[row] + len(text[: column - 1].encode())

    def quoted(self, offset: int) -> bool:
        """Return whether a string stands there: a name listed in ``__all__``, which is looked at elsewhere."""
        return self._content[offset : offset + 1] in (b"'", b'"')


def _unbound(module: PatchedModule, sources: Sources) -> Iterator[Undefined]:
    """Yield names that only type checkers see bound, and names declared ``global`` that nothing binds."""
    before = _half_bound(module.before, sources) if module.before is not None else {}
    for (kind, name), places in _half_bound(module.after, sources).items():
        was_bound = module.before is not None and name in sources.surface(module.before).bound
        upstreams = tuple(offset for offset, _ in before.get((kind, name), []))
        for offset, line in places:
            if was_bound or module.authorship.at(offset).origin is None:
                yield Undefined(module=module, kind=kind, name=name, offset=offset, line=line, upstreams=upstreams)


def _half_bound(content: bytes, sources: Sources) -> dict[tuple[Kind, str], list[tuple[int, int]]]:
    """Return the bytes and lines on which a module reads names that it only seems to bind, by why and by name."""
    tree = sources.tree(content) if _WORTH_A_LOOK.search(content) else None
    if tree is None:
        return {}
    scopes, typing = sources.scopes(content), sources.surface(content).typing_only
    names: list[tuple[Kind, str]] = [("typing", name) for name in sorted(typing)]
    names += [("global", name) for name in sorted(_global_only(tree, scopes) - typing)]
    return {
        (kind, name): [(sources.offset(content, load.at), load.at.lineno) for load in _evaluated(tree, scopes, name)]
        for kind, name in names
    }


def _global_only(tree: ast.Module, scopes: Scopes) -> set[str]:
    """Return the names declared ``global`` of which every binding is a declaration or needs an earlier one."""
    declared = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    extended = {node.target for node in ast.walk(tree) if isinstance(node, ast.AugAssign)} if declared else set()
    bound = {
        name
        for name in declared
        for binding in scopes.module.bindings.get(name, [])
        if binding.how != "del" and binding.node not in extended
    }
    return declared - bound - set(dir(builtins)) if not scopes.stars else set()


def _evaluated(tree: ast.Module, scopes: Scopes, name: str) -> Iterator[Load]:
    """Yield the places that read a name of the module when they run: nothing that only type checkers evaluate."""
    never = unevaluated(tree)
    for load in scopes.global_loads.get(name, []):
        if not isinstance(load.at, ast.Constant) and load.at not in never:
            yield load
