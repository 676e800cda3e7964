"""Project layout: upstream's files → the project's name, and the folders and modules that a wheel holds."""

from __future__ import annotations

import ast
import configparser
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from packaging.utils import canonicalize_name

from npu_overlays.authoring.init.alternatives import alternatives
from npu_overlays.authoring.init.base_layers import BaseLayers
from npu_overlays.authoring.init.overlay_files import InitialSettings
from npu_overlays.authoring.init.request import InitRequest
from npu_overlays.errors import Problem, UsageError
from npu_overlays.overlay.compiled import BINARY, names
from npu_overlays.overlay.tables import parse_toml
from npu_overlays.progress import step
from npu_overlays.sources import acquisition
from npu_overlays.sources.archive_contents import list_files
from npu_overlays.sources.archive_files import HEADERS
from npu_overlays.sources.commits import find_tagged
from npu_overlays.sources.pin import Pin, home_of
from npu_overlays.sources.releases import find_release
from npu_summary.changes import SCHEMES


def initial_settings(request: InitRequest, layered: BaseLayers) -> InitialSettings:
    """Return the settings of a new overlay, except its layers.

    Raises:
        SourceError: the release or commit cannot be fetched.
        UsageError: it does not show what is shipped, or it is another project's.
    """
    start = InitialSettings(
        pin=Pin(project=request.project, packages=()),
        layers=layered.entries,
        suffix=request.suffix,
        label=request.label,
        not_built=tuple(dict.fromkeys([*(layered.base.own_not_built if layered.base else ()), *request.not_built])),
    )
    if request.commit:
        return replace(start, pin=_of_commit(request, layered))
    if request.release or request.archive or layered.base is None:
        return _of_release(request, layered, start)
    return replace(start, pin=_with_packages(request, layered, layered.base.pin, {}, ()))


def _of_release(request: InitRequest, layered: BaseLayers, start: InitialSettings) -> InitialSettings:
    cache = acquisition.cache_root().absolute()
    release = find_release(request.project, request.release, file=request.archive, cache=cache, progress=step)
    name = release.archive.file
    files = list_files(release.content, name)
    pin = replace(start.pin, archives=(release.archive,))
    found, not_built = of_source(files, request.project), start.not_built
    if name.endswith(".whl"):
        installed = of_wheel(files, request.named)
        found = {path: name for path, name in installed.items() if not _is_named(path, not_built)}
        if name.endswith("-any.whl"):
            # Upstream says that it is for any platform, and has these in it for some of them.
            compiled = sorted(filter(BINARY.search, files))
            not_built += tuple(path for path in compiled if not _is_named(path, start.not_built))
    pin = _with_packages(request, layered, pin, found, files)
    return replace(start, pin=pin, not_built=not_built, offer=alternatives(release, files, cache=cache))


def _is_named(path: str, not_built: Iterable[str]) -> bool:
    return any(names(glob, path) for glob in not_built)


def _of_commit(request: InitRequest, layered: BaseLayers) -> Pin:
    repository = request.repository or layered.repository
    clone = request.choice.clone(request.project)
    pin = Pin(project=request.project, repository=repository, commit=request.commit, packages=())
    if request.tag:
        tagged = replace(pin, commit="", tag=request.tag)
        commit = find_tagged(tagged, clone=clone, cache=acquisition.cache_root().absolute(), progress=step)
        pin = replace(tagged, commit=commit)
    tree = acquisition.acquire(pin, mode="git", local=clone, progress=step)
    project = request.project
    file, name = stated_name(tree.content)
    if name and canonicalize_name(name) != project:
        what = f"is not what this repository holds: {file} says that its project is called {name}"
        fix = f"run `npu-overlays init {name} …`, or name the repository of {project}"
        raise UsageError(Problem(where=project, what=what, fix=fix))
    return _with_packages(request, layered, pin, of_source(tree.content, request.project), tree.entries)


def _with_packages(
    request: InitRequest, layered: BaseLayers, pin: Pin, found: Mapping[str, str], files: Iterable[str]
) -> Pin:
    """Return a pin with the packages of the request, else none where the layers name them, else those found.

    `found` has the import name of each path, empty if the path shows it; `files` are all paths, for messages.
    """
    asked = request.packages
    if not asked and "packages" not in layered.settings:
        asked = tuple(found.items())
        if not asked:
            tops = sorted({path.partition("/")[0] for path in files if path.endswith(".py")})
            listed = ", ".join(tops) or "no Python module"
            what = f"its build settings do not tell which folders are shipped; it has {listed}"
            options = (("--package", tops[0] if tops else "PATH"),)
            fix = "name each shipped folder, as src/NAME where it lies in src/"
            raise UsageError(Problem(where=pin.project, what=what, fix=fix, options=options))
    imports = tuple((path, home_of(path, name)) for path, name in asked if name)
    return replace(pin, packages=tuple(path for path, _ in asked), imports=imports)


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
