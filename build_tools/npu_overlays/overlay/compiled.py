"""Compiled parts: an overlay and its source tree → the tag of its wheel, or compiled parts that the wheel would lack.

A wheel built here has the files of the source. It cannot have what upstream's own build compiles from them, or installs
outside its packages.
"""

from __future__ import annotations

import ast
import json
import posixpath
import re
from collections.abc import Iterable, Iterator
from email.parser import HeaderParser
from fnmatch import fnmatchcase
from typing import Any

from packaging.tags import Tag, parse_tag
from packaging.utils import parse_wheel_filename

from npu_overlays.errors import MergeError, Problem
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.overlay.tables import parse_toml, place_in
from npu_overlays.sources.tree import SourceTree

PURE = "py3-none-any"
BINARY = re.compile(r"\.(so(\.\d+)*|pyd|dylib|dll)$")
_SOURCE = re.compile(r"\.(c|cc|cpp|cxx|cu|hip|pyx|f|f90|rs)$")
_BACKENDS = frozenset(
    ["maturin", "mesonpy", "scikit_build_core", "skbuild", "sipbuild", "py_build_cmake", "cmeel", "enscons"]
)
_COMPILERS = frozenset(["cython", "pybind11", "nanobind", "cffi", "setuptools-rust", "scikit-build", "mypy"])
_HOOKS = frozenset(["cython", "mypyc", "cmake"])
_ARGUMENTS = {
    "ext_modules": "compiles extension modules",
    "rust_extensions": "compiles extension modules",
    "cffi_modules": "compiles extension modules",
    "data_files": "installs files outside its packages",
    "scripts": "installs scripts",
}
_SHOWN = 10


def wheel_tag(tree: SourceTree) -> tuple[str, bool]:
    """Return the tag of a wheel from this tree, and whether the wheel is pure Python.

    The name of upstream's wheel decides, as for installers: some wheels got their platform by renaming.

    Raises:
        MergeError: the wheel's name is for any platform, and its metadata for one.
    """
    if not tree.wheel:
        return PURE, True
    header = HeaderParser().parsestr(tree.wheel)
    tags: set[Tag] = set()
    for text in header.get_all("Tag", []):
        tags |= parse_tag(str(text))
    if all(map(_is_for_any, parse_wheel_filename(tree.source.archive)[3])):
        if all(map(_is_for_any, tags)):
            return PURE, True
        what = f"is for {', '.join(sorted(map(str, tags)))} by its WHEEL file, and for any by its name"
        raise MergeError(Problem(where=tree.source.archive, what=what, fix="pin another file of the release"))
    tag = "-".join(tree.source.archive.removesuffix(".whl").split("-")[-3:])
    return tag, str(header["Root-Is-Purelib"]).lower() == "true"


def _is_for_any(tag: Tag) -> bool:
    return tag.platform == "any" and tag.abi == "none"


def check_compiled(overlay: Overlay, tree: SourceTree) -> None:
    """Refuse a tree from which upstream builds files that this wheel would lack, unless the overlay names them.

    Raises:
        MergeError: with every such file and the evidence.
    """
    tag, _ = wheel_tag(tree)
    signs = dict(_compiled_files(overlay, tree, binaries=tag == PURE, sources=not tree.wheel))
    if not tree.wheel:
        signs |= dict(_build(tree))
    unnamed: dict[str, str] = {}
    for path, why in signs.items():
        if not any(names(glob, path) for glob in overlay.not_built):
            unnamed[path] = why
    if not unnamed:
        return
    where = place_in(overlay.folder / CONFIG_FILE, "tool.overlay.not-built")
    listed = [f"{path} {why}" for path, why in [*unnamed.items()][:_SHOWN]]
    rest = f"; {len(unnamed)} in all" if len(unnamed) > _SHOWN else ""
    what = f"the wheel would lack what upstream's build makes: {'; '.join(listed)}{rest}"
    fix = (
        "pin a wheel of upstream's that holds it compiled, and use --source archive; or, where the package works"
        f" without, name what is shipped as it is or left out: not-built = {_globs(unnamed)}"
    )
    raise MergeError(Problem(where=where, what=what, fix=fix))


def _compiled_files(overlay: Overlay, tree: SourceTree, *, binaries: bool, sources: bool) -> Iterator[tuple[str, str]]:
    """Yield shipped binaries, then shipped source in compiled languages, with how each shows."""
    kinds = ((binaries, BINARY, "is compiled for one platform"), (sources, _SOURCE, "is source to compile"))
    for wanted, pattern, sign in kinds:
        if wanted:
            for path in tree.entries:
                if pattern.search(path) and overlay.pin.place(path):
                    yield path, sign


def _globs(paths: Iterable[str]) -> str:
    """Return a short list that names the paths: a folder stands for all its files."""
    alone: list[str] = []
    folders: set[str] = set()
    for path in paths:
        folder, _, name = path.rpartition("/")
        if folder:
            folders.add(folder)
        else:
            alone.append(name)
    common = posixpath.commonpath(sorted(folders)) if folders else ""
    return json.dumps([*([common] if common else sorted(folders)), *alone])


def names(glob: str, path: str) -> bool:
    """Return whether an entry of ``not-built`` names a path: itself, as a glob, or the folder it lies in."""
    return fnmatchcase(path, glob) or path.startswith(f"{glob}/")


def _build(tree: SourceTree) -> Iterator[tuple[str, str]]:
    """Yield the signs in build scripts."""
    if "pyproject.toml" in tree:
        values = parse_toml(tree.read("pyproject.toml"))
        reasons = [*_project_signs(values)]
        if reasons:
            yield "pyproject.toml", " and ".join(reasons)
    if "setup.py" in tree:
        reasons = [*dict.fromkeys(_setup_signs(tree.read("setup.py")))]
        if reasons:
            yield "setup.py", " and ".join(reasons)


def _project_signs(values: dict[str, Any]) -> Iterator[str]:
    system, tool = _table(values, "build-system"), _table(values, "tool")
    backend = str(system.get("build-backend", "")).partition(":")[0]
    if backend.partition(".")[0] in _BACKENDS:
        yield f"is built by {backend}, which compiles"
    requires = system.get("requires", [])
    if isinstance(requires, list):
        required = [re.split(r"[^\w.-]", str(one).strip())[0].lower() for one in requires]
        if found := sorted(_COMPILERS.intersection(required)):
            yield f"needs {', '.join(found)} to be built"
    if _table(tool, "setuptools").get("ext-modules"):
        yield "compiles extension modules"
    if found := sorted(_HOOKS & _table(_table(_table(tool, "hatch"), "build"), "hooks").keys()):
        yield f"has the build hook {', '.join(found)}"
    if _table(tool, "poetry").get("build"):
        yield "runs a build script"


def _table(values: dict[str, Any], key: str) -> dict[str, Any]:
    found = values.get(key, {})
    return found if isinstance(found, dict) else {}


def _setup_signs(text: bytes) -> Iterator[str]:
    """Yield the signs in arguments of ``setup()``, in any form of call; nothing is run."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return
    for node in nodes:
        if isinstance(node, ast.keyword) and node.arg in _ARGUMENTS and not _is_empty(node.value):
            yield _ARGUMENTS[node.arg]
        elif isinstance(node, ast.Constant) and node.value in ("ext_modules", "rust_extensions"):
            yield _ARGUMENTS["ext_modules"]


def _is_empty(node: ast.expr) -> bool:
    return (isinstance(node, (ast.List, ast.Tuple)) and not node.elts) or (
        isinstance(node, ast.Constant) and not node.value
    )
