"""Shipped: the files of an upstream → the folders and modules of it that a wheel holds, and what these cannot find."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from packaging.utils import canonicalize_name

from npu_overlays.archives import HEADERS
from npu_summary.changes import SCHEMES

# What repositories hold beside what they install.
_BESIDE = re.compile(
    r"tests?|testing|docs?|examples?|samples?|demos?|scripts?|tools?|bench(mark(s)?)?|ci|build|dist|packaging|setup"
    r"|conftest|noxfile|tasks|[._].*",
    re.IGNORECASE,
)
_SOURCE_ROOT = "src/"
# A module that asks for the files of a distribution, as cmake asks for its own.
_FILES_OF = re.compile(
    rb"""\bdistribution\(\s*["']([\w.-]+)["']\s*\)\.(?:files|locate_file|read_text|entry_points)\b"""
)
_TOP_LEVEL = re.compile(r"([^/]+/)?[^/]+\.egg-info/top_level\.txt")


def of_wheel(paths: Iterable[str]) -> list[str]:
    """Return every folder that a wheel installs, and every file beside these, given its files without its metadata.

    Headers are not among them: they cannot be shipped under another distribution's name.
    """
    files = list(paths)
    outside = {path for path in files if path.startswith(f"{SCHEMES}/")}
    kinds = {"/".join(path.split("/")[:2]) for path in outside}
    return sorted(_units(path for path in files if path not in outside) | kinds - {HEADERS})


def asking(modules: Iterable[tuple[str, bytes]], project: str) -> list[str]:
    """Return the paths of modules that look for files in the metadata of their own distribution.

    Under its name there is the companion, whose metadata lists none of them.
    """
    named = ((path, map(bytes.decode, _FILES_OF.findall(content))) for path, content in modules)
    return [path for path, names in named if any(canonicalize_name(name) == project for name in names)]


def of_source(files: Mapping[str, bytes], project: str) -> list[str]:
    """Return what a source tree installs, as far as its layout tells; empty where that is not clear.

    What setuptools lists in an sdist counts; else all of ``src/``; else the package or module called like the
    project, or the only package there is.

    Args:
        files: its files by repository path.
        project: upstream's distribution name.
    """
    if listed := [path for path in files if _TOP_LEVEL.fullmatch(path)]:
        names = files[listed[0]].decode("utf-8", "replace").split()
        return sorted({unit for name in names for unit in _places_of(files, name)})
    modules = [path for path in files if path.endswith(".py")]
    if units := _units(path for path in modules if path.startswith(_SOURCE_ROOT)):
        return sorted(units)
    units = _units(modules)
    if like := {unit for unit in units if _plain(unit.removesuffix(".py")) == _plain(project)}:
        return sorted(like)
    folders = [unit for unit in units if unit not in modules and not _BESIDE.fullmatch(unit.partition("/")[0])]
    return folders if len(folders) == 1 else []


def _places_of(files: Mapping[str, bytes], name: str) -> set[str]:
    """Return what a source tree has of a name that can be imported."""
    for start in (_SOURCE_ROOT, ""):
        if f"{start}{name}.py" in files:
            return {f"{start}{name}.py"}
        if units := _units(path for path in files if path.startswith(f"{start}{name}/")):
            return units
    return set()


def _units(paths: Iterable[str]) -> set[str]:
    """Return the topmost folders that hold a file themselves, and the files around which there is none."""
    files = list(paths)
    holding = {path.rpartition("/")[0] for path in files} - {"", _SOURCE_ROOT.rstrip("/")}
    return {next((folder for folder in _folders(path) if folder in holding), path) for path in files}


def _folders(path: str) -> list[str]:
    return [path[:end] for end, character in enumerate(path) if character == "/"]


def _plain(name: str) -> str:
    return re.sub(r"[-_./]+", "", name).lower()
