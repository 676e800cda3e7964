"""Origins: the path and Python's own finders → packages that Python would import from somewhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder

from .findings import Finding
from .leftovers import pth_files
from .subjects import Subject


def check(subject: Subject, path: Sequence[str] | None) -> Iterator[Finding]:
    """Yield each top-level package or module that Python does not import from where it was verified.

    What is searched without a path is all that this Python's finders know, editable installs included.
    """
    for entry in (*subject.tops, *subject.modules):
        top = entry.removesuffix(".py")
        try:
            finder, spec = _find(top, path)
        except Exception as error:  # a foreign finder may fail in any way; that is an answer too
            what = f"cannot tell where `import {top}` leads: {error}"
            yield subject.finding("shadowed", what, repairs=(), level="unknown")
            continue
        found = _location(spec)
        expected = os.path.join(os.path.abspath(subject.store.root), entry)
        if found == f"{expected}.py":
            continue  # the companion's, which says that the folder is gone; that is found missing elsewhere
        if found and os.path.realpath(found) != os.path.realpath(expected):
            what = f"`import {top}` gives {found}, not {expected}"
            cause, remedy = _why_elsewhere(found, finder)
        elif not found and subject.store.listing(top):
            # A folder that is gone is found missing elsewhere; here it is there and cannot be imported.
            what = f"`import {top}` finds nothing, though {expected} is there"
            cause, remedy = _why_unfound(subject, top)
        else:
            continue
        cause += f"; to repair, {remedy}"
        yield subject.finding("shadowed", what, cause, paths=[found] if found else [], repairs=())


def shadows(subject: Subject) -> Iterator[Finding]:
    """Yield a note for each further copy of the summary package."""
    for other in subject.place.shadows:
        what = f"{other} is not used: {subject.place.folder} comes first on sys.path"
        yield subject.finding("second copy", what, paths=[other], repairs=(), level="note")


def _why_unfound(subject: Subject, top: str) -> tuple[str, str]:
    """Return why Python does not find a package that is there, and what to do about it."""
    root = subject.store.root
    if subject.zipped and "__init__.py" not in subject.store.listing(top):
        cause = f"it has no __init__.py, and from a zip file Python imports such a folder only if the file lists {top}/"
        return cause, "install the wheel, or zip an installed folder together with the entries of its folders"
    return f"{root} is not on sys.path", f"put {root} on sys.path"


def _find(top: str, path: Sequence[str] | None) -> tuple[object, ModuleSpec | None]:
    """Return the finder that answers, and its answer; imports nothing."""
    if path is not None:
        return PathFinder, PathFinder.find_spec(top, list(path))
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = find(top, None) if find else None
        if spec is not None:
            return finder, spec
    return None, None


def _location(spec: ModuleSpec | None) -> str:
    """Return the folder a package is imported from, or the file of a plain module; empty for none."""
    if spec is None:
        return ""
    if spec.submodule_search_locations:
        return next(iter(spec.submodule_search_locations))
    return spec.origin or ""


def _why_elsewhere(found: str, finder: object) -> tuple[str, str]:
    """Return why Python looks there first, and what to do about it."""
    root = os.path.dirname(os.path.abspath(found))
    name = getattr(finder, "__module__", "") or type(finder).__module__
    if name.startswith("__editable__") or "editable" in name:
        return "an editable install", f"pip uninstall it (its finder is {name})"
    if _same(root, os.getcwd()) and sys.path and sys.path[0] in ("", os.getcwd()):
        return "the current folder holds a copy, and Python looks there first", f"cd out of {root}"
    if any(_same(root, entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry):
        return "PYTHONPATH names the folder it lies in", f"take {root} out of PYTHONPATH"
    for file, lines in pth_files(sys.path):
        if root in {os.path.realpath(line.strip()) for line in lines if line.strip()}:
            return f"{file} adds the folder it lies in, as editable installs do", f"remove that line from {file}"
    import site

    if _same(root, site.getusersitepackages()):
        return "a copy installed with --user", "uninstall it, or set PYTHONNOUSERSITE=1"
    return f"{root} comes first on sys.path", f"remove {found}, or change the order of sys.path"


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
