"""Project layout: upstream's files → the project's name, and the folders and modules that a wheel holds."""

from __future__ import annotations

import ast
import configparser
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

from packaging.utils import canonicalize_name

from npu_overlays.errors import Problem, UsageError
from npu_overlays.overlay.tables import parse_toml
from npu_overlays.sources.archive_files import HEADERS
from npu_summary.changes import SCHEMES

# What repositories hold beside what they install.
_BESIDE = re.compile(
    r"tests?|testing|docs?|examples?|samples?|demos?|scripts?|tools?|bench(mark(s)?)?|ci|build|dist|packaging|setup"
    r"|conftest|noxfile|tasks|[._].*",
    re.IGNORECASE,
)
_SOURCE_ROOT = "src/"
_TOP_LEVEL = re.compile(r"([^/]+/)?[^/]+\.egg-info/top_level\.txt")


def of_wheel(files: Collection[str], named: Iterable[str]) -> dict[str, str]:
    """Return every folder that a wheel installs and every file beside these, where they lie in the repository.

    Headers are not among them: they cannot be shipped under another distribution's name. The paths are as `below`
    gives them.

    Args:
        files: the files of the wheel without its metadata.
        named: paths in the repository; those of a file of the wheel give its place there.
    """
    inside: list[str] = []
    kinds: set[str] = set()
    for path in files:
        if path.startswith(f"{SCHEMES}/"):
            kinds.add("/".join(path.split("/")[:2]))
        else:
            inside.append(path)
    units = sorted(_units(inside))
    known = [unit if unit in files else f"{unit}/" for unit in units]
    roots: Counter[str] = Counter()
    for path in named:
        for unit in known:
            start = f"/{path}".find(f"/{unit}")
            if start >= 0 and path[start:] in files:
                roots[path[:start]] += 1
    found = below(roots.most_common(1)[0][0] if roots else "", units)
    found |= dict.fromkeys(kinds - {HEADERS}, "")
    return dict(sorted(found.items()))


def of_source(files: Mapping[str, bytes], project: str) -> dict[str, str]:
    """Return what a source tree installs, as far as its layout tells, as `below` gives it; empty if it does not.

    What setuptools lists in an sdist counts; else all of ``src/``; else the package or module called like the
    project, or the only package there is.

    Args:
        files: its files by repository path.
        project: upstream's distribution name.
    """
    if listed := [path for path in files if _TOP_LEVEL.fullmatch(path)]:
        beside = listed[0].rpartition("/")[0].rpartition("/")[0]
        found: dict[str, str] = {}
        for name in files[listed[0]].decode("utf-8", "replace").split():
            found |= _places_of(files, name, beside)
        return found
    modules = [path for path in files if path.endswith(".py")]
    if units := _units(path for path in modules if path.startswith(_SOURCE_ROOT)):
        return below("", sorted(units))
    units = _units(modules)
    if like := {unit for unit in units if _plain(unit.removesuffix(".py")) == _plain(project)}:
        return below("", sorted(like))
    folders = [unit for unit in units if unit not in modules and not _BESIDE.fullmatch(unit.partition("/")[0])]
    return below("", folders if len(folders) == 1 else [])


def below(root: str, units: Iterable[str]) -> dict[str, str]:
    """Return units under their repository paths, each with its import name; empty if the path shows it."""
    shown = root in ("", _SOURCE_ROOT)
    return {f"{root}{unit}": "" if shown else unit.removesuffix(".py").replace("/", ".") for unit in units}


def _places_of(files: Mapping[str, bytes], name: str, beside: str) -> dict[str, str]:
    """Return what a source tree has of a name that can be imported: in ``src/``, beside what lists it, or on top."""
    for root in dict.fromkeys((_SOURCE_ROOT, f"{beside}/" if beside else "", "")):
        if f"{root}{name}.py" in files:
            return below(root, [f"{name}.py"])
        if units := _units(path.removeprefix(root) for path in files if path.startswith(f"{root}{name}/")):
            return below(root, sorted(units))
    return {}


def _units(paths: Iterable[str]) -> set[str]:
    """Return the topmost folders that hold a file themselves, and the files around which there is none."""
    files = list(paths)
    holding = {path.rpartition("/")[0] for path in files} - {"", _SOURCE_ROOT.rstrip("/")}
    found: set[str] = set()
    for path in files:
        folders = [path[:end] for end, character in enumerate(path) if character == "/"]
        found.add(next(filter(holding.__contains__, folders), path))
    return found


def _plain(name: str) -> str:
    return re.sub(r"[-_./]+", "", name).lower()


def check_name(project: str, files: Mapping[str, bytes]) -> None:
    """Refuse a tree that names another project as its own; raises `UsageError`."""
    file, name = stated_name(files)
    if name and canonicalize_name(name) != project:
        what = f"is not what this repository holds: {file} says that its project is called {name}"
        fix = f"npu-overlays init {name} …, or name the repository of {project}"
        raise UsageError(Problem(where=project, what=what, fix=fix))


def stated_name(files: Mapping[str, bytes]) -> tuple[str, str]:
    """Return the file that names the project of a source tree, and the name; empty if none does."""
    for file, reader in _READERS.items():
        if file in files and (name := reader(files[file].decode("utf-8", "replace"))):
            return file, name
    return "", ""


def _of_pyproject(text: str) -> str:
    values = parse_toml(text.encode())
    tool = values.get("tool")
    tables = (values.get("project"), tool.get("poetry") if isinstance(tool, dict) else None)
    for table in tables:
        name = table.get("name") if isinstance(table, dict) else None
        if isinstance(name, str) and name:
            return name
    return ""


def _of_setup_cfg(text: str) -> str:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error:
        return ""
    return parser.get("metadata", "name", fallback="").strip()


def _of_setup_py(text: str) -> str:
    """Return the name that a call of ``setup`` is given as a text; upstream's code is not run."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setup"):
            for word in node.keywords:
                value = word.value.value if isinstance(word.value, ast.Constant) else None
                if word.arg == "name" and isinstance(value, str):
                    return value
    return ""


_READERS: dict[str, Callable[[str], str]] = {
    "pyproject.toml": _of_pyproject,
    "setup.cfg": _of_setup_cfg,
    "setup.py": _of_setup_py,
}
