"""Origins: where a Python started here finds packages → those that it would import from somewhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.machinery import PathFinder

from .. import launch
from ..stores import open_store
from .findings import Finding
from .leftovers import pth_files
from .subjects import Subject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..launch import Answer

    # `sys.path`, and the answer by name.
    Origins = tuple[list[str], dict[str, Answer]]


def begin(subjects: Iterable[Subject], path: Sequence[str] | None) -> Callable[[], Origins]:
    """Begin to find out where all that is verified is imported from, and return what waits for that.

    Without a path that is what a Python started here finds, whatever this one was kept from.
    """
    names = {name for subject in subjects for name in map(_name, _entries(subject))}
    if path is not None:
        return lambda: (list(path), launch.look(names, [PathFinder], list(path)))
    return launch.ask(names)


def check(subject: Subject, origins: Origins) -> Iterator[Finding]:
    """Yield each top-level package or module that is not imported from where it was verified."""
    path, answers = origins
    untold: dict[str, list[str]] = {}
    for entry in _entries(subject):
        places, finder, problem = answers[_name(entry)]
        expected = os.path.join(os.path.abspath(subject.store.root), entry)
        if problem:
            untold.setdefault(problem, []).append(_name(entry))
        elif found := _instead(subject, places, expected):
            what = f"`import {_name(entry)}` gives {found}, not {expected}, in a Python started here"
            cause = _why_elsewhere(found, finder, path)
            yield subject.finding("shadowed", what, cause, paths=[found], repairs=())
        elif not places and subject.store.listing(entry):
            # A folder that is gone is found missing elsewhere; here it is there and cannot be imported.
            what = f"`import {entry}` finds nothing in a Python started here, though {expected} is there"
            yield subject.finding("shadowed", what, _why_unfound(subject, entry), repairs=())
    for problem, names in untold.items():
        what = f"cannot tell where `import {', '.join(names)}` leads: {problem}"
        yield subject.finding("shadowed", what, repairs=(), level="unknown")


def _entries(subject: Subject) -> tuple[str, ...]:
    return (*subject.tops, *subject.modules)


def _name(entry: str) -> str:
    return entry.removesuffix(".py")


def _instead(subject: Subject, places: Sequence[str], expected: str) -> str:
    """Return what is imported instead of a package or module of ours; empty where that is what is imported.

    A namespace package has several folders: one before ours is in the way where it holds a name that ours holds.
    """
    # The companion's module says that the folder is gone; that is found missing elsewhere.
    ours = {os.path.realpath(expected), f"{os.path.realpath(expected)}.py"}
    shared = any(os.path.realpath(place) in ours for place in places)
    names = subject.store.listing(os.path.basename(expected)).keys() - {"__pycache__"}
    for place in places:
        if os.path.realpath(place) in ours:
            break
        if not shared or not names.isdisjoint(open_store(place).listing("")):
            return place
    return ""


def workers(subject: Subject, origins: Origins) -> Iterator[Finding]:
    """Yield a note for each package or module that Ray's workers alone import from the current folder.

    Ray puts the folder that a job is started in before all others, whatever keeps the job's own process from it.
    """
    path, here = origins[0], _current()
    if not path or not here or path[0] in ("", here):
        return
    answers = launch.look(map(_name, _entries(subject)), [PathFinder], [here, *path])
    for entry in _entries(subject):
        expected = os.path.join(os.path.abspath(subject.store.root), entry)
        found = _instead(subject, answers[_name(entry)][0], expected)
        if _same(os.path.dirname(found), here):
            what = f"`import {_name(entry)}` gives {found} in Ray's workers, which look into the current folder first"
            yield subject.finding("shadowed", what, paths=[found], repairs=(), level="note")


def shadows(subject: Subject) -> Iterator[Finding]:
    """Yield a note for each further copy of the summary package."""
    for other in subject.place.shadows:
        what = f"{other} is not used: {subject.place.folder} comes first on sys.path"
        yield subject.finding("second copy", what, paths=[other], repairs=(), level="note")


def _why_unfound(subject: Subject, top: str) -> str:
    """Return why Python does not find a package that is there, and what to do about it."""
    root = subject.store.root
    if subject.zipped and "__init__.py" not in subject.store.listing(top):
        cause = f"it has no __init__.py, and from a zip file Python imports such a folder only if the file lists {top}/"
        return f"{cause}; to repair, install the wheel, or zip an installed folder with the entries of its folders"
    return f"{root} is not on sys.path; to repair, put {root} on sys.path"


def _why_elsewhere(found: str, finder: str, path: Sequence[str]) -> str:
    """Return why Python looks there first, and what to do about it."""
    root = os.path.dirname(os.path.abspath(found))
    for cause, remedy in _reasons(root, finder, path):
        return f"{cause}; to repair, {remedy}"
    return f"{root} comes first on sys.path; to repair, remove {found}, or change the order of sys.path"


def _reasons(root: str, finder: str, path: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield why Python looks into a folder, the likeliest first, and what to do about it."""
    if "editable" in finder:
        yield "an editable install", f"pip uninstall it (its finder is {finder})"
    if "RAY_RAYLET_PID" in os.environ:  # in whatever a Ray worker starts
        cause = "Ray puts it before what is installed: it is in the job's working_dir or py_modules, in the folder"
        remedy = "leave it out of those, or start the job elsewhere"
        yield f"{cause} that the job was started in, or in PYTHONPATH of `ray start`", remedy
    if _same(root, _current()) and path[:1] in ([""], [root]):
        remedy = f"start elsewhere: cd out of {root}"
        if sys.version_info >= (3, 11) and path[:1] == [""]:
            remedy += "; `python -P` and PYTHONSAFEPATH=1 keep it from one process, not from Ray's workers"
        yield "the current folder holds a copy, and Python looks there first", remedy
    if any(_same(root, entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry):
        yield "PYTHONPATH names the folder it lies in", f"take {root} out of PYTHONPATH"
    for file, lines in pth_files(path):
        if any(_same(root, line.strip()) for line in lines if os.path.isabs(line.strip())):
            yield f"{file} adds the folder it lies in, as editable installs do", f"remove that line from {file}"
    import site

    if _same(root, site.getusersitepackages()):
        yield "a copy installed with --user", "uninstall it, or set PYTHONNOUSERSITE=1"


def _current() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""


def _same(one: str, other: str) -> bool:
    return bool(one and other) and os.path.realpath(one) == os.path.realpath(other)
