"""Origins: where a Python started here finds packages → those that it would import from somewhere else."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.machinery import PathFinder

from .. import launch
from .findings import Finding
from .leftovers import pth_files
from .subjects import Subject

_QUOTED = re.compile(r"""["']([^"']+)["']""")
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..launch import Answer

    # `sys.path`, and the answer by name.
    Origins = tuple[list[str], dict[str, Answer]]


def begin(subjects: Iterable[Subject], path: Sequence[str] | None) -> Callable[[], Origins]:
    """Begin to find out from where the verified modules are imported; return a function that waits for the result.

    Without a path the result is what a Python started here finds, even if options limit this one.
    """
    names: set[str] = set()
    for subject in subjects:
        names.update(subject.importable.values())
    if path is not None:
        return lambda: (list(path), launch.look(names, [PathFinder], list(path)))
    return launch.ask(names)


def check(subject: Subject, origins: Origins) -> Iterator[Finding]:
    """Yield each top-level package or module that is not imported from where it was verified."""
    path, answers = origins
    unanswered: dict[str, list[str]] = {}
    for entry, name in subject.importable.items():
        places, finder, problem = answers[name]
        found, package = _instead(subject, name, places)
        expected = os.path.join(os.path.abspath(subject.store.root), package or entry)
        if problem:
            unanswered.setdefault(problem, []).append(name)
        elif found:
            imported = (package or name).replace("/", ".")
            what = f"`import {imported}` gives {found}, not {expected}, in a Python started here"
            top = next(place for place in places if found.startswith(place))
            cause = _why_elsewhere(found, top, finder, path)
            yield subject.finding("shadowed", what, cause, paths=[found], repairs=())
        elif not places and subject.store.listing(entry):
            # A folder that is gone is found missing elsewhere; here it is there and cannot be imported.
            what = f"`import {name}` finds nothing in a Python started here, though {expected} is there"
            yield subject.finding("shadowed", what, _why_nowhere(subject, entry), repairs=())
    for problem, names in unanswered.items():
        what = f"cannot tell where `import {', '.join(names)}` leads: {problem}"
        yield subject.finding("shadowed", what, repairs=(), level="unknown")


def _instead(subject: Subject, top: str, places: Sequence[str]) -> tuple[str, str]:
    """Return what is imported instead of ours, and the package of a namespace that it hides; else two empty texts.

    A namespace has folders in several places; one before ours is in the way where it holds something that ours holds.
    """
    root = os.path.abspath(subject.store.root)
    # Of a module in two forms, for example a compiled one, Python takes either. The companion replaces a folder that is
    # gone with a module that reports it; another check finds the folder missing.
    ours: set[str] = set()
    for entry, name in subject.importable.items():
        if name == top:
            ours |= {os.path.realpath(os.path.join(root, entry)), os.path.realpath(os.path.join(root, f"{entry}.py"))}
    packages = [one for one in subject.packages if one.startswith(f"{top}/")]
    held = packages or {"/".join(path.split("/")[:2]) for path in subject.inside if path.startswith(f"{top}/")}
    for place in places:
        if os.path.realpath(place) in ours:
            return "", ""
        hidden = next((one for one in held if os.path.exists(f"{place}{one.removeprefix(top)}")), "")
        if hidden:
            return (f"{place}{hidden.removeprefix(top)}", hidden) if packages else (place, "")
    return (places[0], "") if places else ("", "")


def workers(subject: Subject, origins: Origins, working_dir: str = "") -> Iterator[Finding]:
    """Yield a note for each package or module that Ray's workers alone import from a folder that Ray puts first.

    That is the folder that a job is started in, even if the job's own process does not look there, and the
    `working_dir` of the job's `runtime_env`.
    """
    path, here = origins[0], _current()
    first: dict[str, tuple[str, str]] = {}
    if working_dir and path:
        remedy = "leave the copy out of it, by `excludes`, or name another folder"
        first[os.path.abspath(working_dir)] = "the job's working_dir", f"Ray unpacks a copy of it; to repair, {remedy}"
    if here and path and path[0] not in ("", here):
        first[here] = "the current folder", ""
    for folder, (shown, cause) in first.items():
        answers = launch.look(subject.importable.values(), [PathFinder], [folder, *path])
        for name in dict.fromkeys(subject.importable.values()):
            places = answers[name][0]
            found, package = _instead(subject, name, places)
            if found and _same(os.path.dirname(places[0]), folder):
                imported = (package or name).replace("/", ".")
                what = f"`import {imported}` gives {found} in Ray's workers, which look into {shown} first"
                yield subject.finding("shadowed", what, cause, paths=[found], repairs=(), level="note")


def shadows(subject: Subject) -> Iterator[Finding]:
    """Yield a note for each further copy of the summary package."""
    for other in subject.place.shadows:
        what = f"{other} is not used: {subject.place.folder} comes first on sys.path"
        yield subject.finding("second copy", what, paths=[other], repairs=(), level="note")


def _why_nowhere(subject: Subject, top: str) -> str:
    """Return why Python does not find a package that is there, and what to do about it."""
    root = subject.store.root
    if subject.zipped and "__init__.py" not in subject.store.listing(top):
        cause = f"it has no __init__.py, and from a zip file Python imports such a folder only if the file lists {top}/"
        return f"{cause}; to repair, install the wheel, or zip an installed folder with the entries of its folders"
    return f"{root} is not on sys.path; to repair, put {root} on sys.path"


def _why_elsewhere(found: str, top: str, finder: str, path: Sequence[str]) -> str:
    """Return why Python imports what was found, in the package `top`, and what to do about it.

    `finder` is the module of the finder that names it, `path` is ``sys.path``.
    """
    root = os.path.dirname(os.path.abspath(top))
    for cause, remedy in _reasons(root, finder, path):
        return f"{cause}; to repair, {remedy}"
    return f"{root} comes first on sys.path; to repair, remove {found}, or change the order of sys.path"


def _reasons(root: str, finder: str, path: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield why Python looks into a folder, the likeliest first, and what to do about it."""
    if "editable" in finder:
        yield "an editable install", f"pip uninstall it (its finder is {finder})"
    if "RAY_RAYLET_PID" in os.environ:  # in a Ray worker and its children
        cause = "Ray puts it before what is installed: it is in the job's working_dir or py_modules, in the folder"
        remedy = "leave it out of those, or start the job elsewhere"
        yield f"{cause} that the job was started in, or in PYTHONPATH of `ray start`", remedy
    if _same(root, _current()) and path[:1] in ([""], [root]):
        remedy = f"start elsewhere: cd out of {root}"
        if sys.version_info >= (3, 11) and path[:1] == [""]:
            remedy += "; `python -P` and PYTHONSAFEPATH=1 keep it from one process, not from Ray's workers"
        yield "the current folder holds a copy, and Python looks there first", remedy
    if any(_same(root, entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        yield "PYTHONPATH names the folder it lies in", f"take {root} out of PYTHONPATH"
    import site

    if _same(root, site.getusersitepackages()):
        yield "a copy installed with --user", "uninstall it, or set PYTHONNOUSERSITE=1"
    yield from _startup(root, path)


def _startup(root: str, path: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the .pth files that add a folder, then those that may do so by code, and what to do about them."""
    files = list(pth_files(path))
    for file, lines in files:
        if any(_same(root, os.path.join(os.path.dirname(file), text)) for text in _paths(lines)):
            yield f"{file} adds the folder it lies in, as editable installs do", f"remove that line from {file}"
    for file, lines in files:
        if any(_is_code(line) and "sys.path" in line for line in lines):
            yield f"{file} changes sys.path by code, which may add {root}", f"correct or remove {file}"


def _paths(lines: Sequence[str]) -> Iterator[str]:
    """Yield what lines of a .pth file may add to the path: a line itself, or texts in one that Python runs."""
    for line in lines:
        yield from filter(None, _QUOTED.findall(line) if _is_code(line) else [line.strip()])


def _is_code(line: str) -> bool:
    """Return whether Python runs a line of a .pth file; any other is a folder."""
    return line.startswith(("import ", "import\t"))


def _current() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""


def _same(one: str, other: str) -> bool:
    return bool(one and other) and os.path.realpath(one) == os.path.realpath(other)
