"""Packages: the path → the distributions and modules Python would find on it. Nothing is imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.machinery import EXTENSION_SUFFIXES

from packaging.utils import canonicalize_name

from npu_doctor import files
from npu_doctor.distributions import InstalledDistribution, distributions_on

_FINDER = re.compile(r"^__editable___.*_finder\.py$")
_SUFFIXES = (*EXTENSION_SUFFIXES, ".py")
_ENDS = (*(f"/__init__{suffix}" for suffix in _SUFFIXES), *_SUFFIXES)  # of a package's file, then of a module's
_MAPPING = re.compile(r"^MAPPING\b[^=]*=\s*(\{.*\})\s*$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Located:
    """What an import would take."""

    file: str  # the module's file; for a namespace package its folder
    folder: str  # the package's folder, empty for a plain module
    entry: str  # the entry of the path it was found on


@dataclass(frozen=True)
class Packages:
    """The distributions and modules of one path."""

    path: Sequence[str]  # the folders Python imports from, in order
    # Folder or file by top-level name, where Python's own finders were asked.
    found: Mapping[str, str] = field(default_factory=dict)
    _located: dict[str, Located | None] = field(default_factory=dict, repr=False)

    @cached_property
    def all(self) -> tuple[InstalledDistribution, ...]:
        """Every distribution, those first on the path first."""
        seen = dict.fromkeys(files.absolute(entry or ".") for entry in self.path)
        return tuple(distributions_on(seen))

    @cached_property
    def by_name(self) -> dict[str, InstalledDistribution]:
        """The distributions `importlib.metadata` would find."""
        return {one.name: one for one in reversed(self.all)}

    def get(self, name: str) -> InstalledDistribution | None:
        """Return a distribution by its name in any spelling."""
        return self.by_name.get(canonicalize_name(name))

    def version(self, name: str) -> str:
        """Return a distribution's version, empty where it is not installed or does not say."""
        found = self.get(name)
        return found.version if found else ""

    def locate(self, module: str) -> Located | None:
        """Return the file an import of a dotted name would take; None where there is none."""
        if module not in self._located:
            self._located[module] = self._locate(module)
        return self._located[module]

    def python_files(self, distribution: InstalledDistribution) -> list[str]:
        """Return the Python files of a distribution: of its record, or of an editable install's packages."""
        recorded: list[str] = []
        for path in distribution.record:
            if path.endswith(".py") and not path.startswith("__editable__"):
                recorded.append(f"{distribution.root}/{path}")
        if recorded:
            return recorded
        modules = files.text(f"{distribution.info}/top_level.txt") or distribution.name.replace("-", "_")
        paths: list[str] = []
        for located in filter(None, map(self.locate, modules.split())):
            paths += files.python_files(located.folder) if located.folder else [located.file]
        return paths

    def copies(self, module: str) -> list[Located]:
        """Return every copy of a module on the path, the one that is imported first."""
        copies: dict[str, Located] = {}
        for entry in self.path:
            copy = _in_folder(entry or ".", module.split("."))
            if copy:
                copies.setdefault(files.real(copy.file), copy)
        return list(copies.values())

    def _locate(self, module: str) -> Located | None:
        parts = module.split(".")
        told = files.absolute(self.found[parts[0]]).rpartition("/")[0] if parts[0] in self.found else ""
        if told and (located := _in_folder(told, parts)):
            return located
        namespace: Located | None = None
        for entry in self.path:
            found = _in_folder(entry or ".", parts[:1])
            if found and files.is_folder(found.file):
                namespace = namespace or _in_folder(entry or ".", parts)
            elif found:
                return _in_folder(entry or ".", parts)
        mapped = self._editables.get(parts[0])
        return (mapped and _in_folder(mapped.rpartition("/")[0], parts)) or namespace

    @cached_property
    def _editables(self) -> dict[str, str]:
        """Folders by package of editable installs that work through a finder instead of the path."""
        found: dict[str, str] = {}
        for entry in self.path:
            for name in filter(_FINDER.match, files.names(entry or ".")):
                found = {**_mapping(f"{entry}/{name}"), **found}
        return found


def _mapping(file: str) -> dict[str, str]:
    match = _MAPPING.search(files.text(file) or "")
    try:
        value = ast.literal_eval(match[1]) if match else {}
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return {}
    return {str(name): str(folder) for name, folder in value.items()} if isinstance(value, dict) else {}


def _in_folder(folder: str, parts: Sequence[str]) -> Located | None:
    """Return what a dotted name means below a folder; a folder without ``__init__`` is a namespace."""
    here = folder
    for part in parts[:-1]:
        here = f"{here}/{part}"
    target = f"{here}/{parts[-1]}"
    if found := next((target + end for end in _ENDS if files.is_file(target + end)), ""):
        inside = target if found.startswith(f"{target}/") else ""
        return Located(file=found, folder=inside, entry=folder)
    if files.is_folder(target) and (len(parts) == 1 or files.names(target)):
        return Located(file=target, folder=target, entry=folder)
    return None
