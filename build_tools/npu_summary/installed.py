"""Installed: folders and zip files on a path → the patched distributions there, their changes and their problems."""

# No pathlib: importing it takes longer than all of this takes to run.
# ruff: noqa: PTH100, PTH113, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import os
import sys

from . import changes as model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .changes import Changes

SUFFIX = "_summary"
DATA = "changes.json"
DIFF = "changes.diff"
NOTHING = "no patched distribution is installed here (none of the folders on sys.path holds its *_summary package)"
_FIRST = ("verl", "transformers")
# The others alone are a damaged installation, to be told of; no other package holds files of these names.
_SIGNS = (DATA, "manifest.json", "provenance.py")


class Place:
    """Where one summary package lies.

    Attributes:
        root: the entry of the path it was found on, a folder or a zip file.
        package: its import name, e.g. ``verl_npu_summary``.
        shadows: other places of the same package further down the path, which Python does not import.
    """

    __slots__ = ("package", "root", "shadows")

    def __init__(self, root: str, package: str) -> None:
        self.root = root
        self.package = package
        self.shadows: list[str] = []

    @property
    def folder(self) -> str:
        """The package's folder, for messages and for comparing places."""
        return os.path.join(self.root, self.package)

    @property
    def project(self) -> str:
        """The upstream project's name by the package's name: ``verl``."""
        return self.distribution.rpartition("-")[0]

    @property
    def distribution(self) -> str:
        """The name pip knows: ``verl-npu``."""
        return self.package.removesuffix(SUFFIX).replace("_", "-")

    def read(self, name: str) -> bytes:
        """Return the bytes of one of the package's files; raises ``OSError`` whatever the reason it cannot."""
        if os.path.isfile(self.root):
            return _read_zipped(self.root, f"{self.package}/{name}")
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()


class Installed:
    """What the places held.

    Attributes:
        changes: one object per readable distribution, in the order of the places.
        problems: one message per unreadable one: which file, what is wrong, what to do.
    """

    __slots__ = ("changes", "problems")

    def __init__(self) -> None:
        self.changes: list[Changes] = []
        self.problems: list[str] = []


def places(path: Iterable[str] | None = None) -> list[Place]:
    """Find every summary package, each once: the first on the path wins, as for Python's own imports.

    Args:
        path: folders and zip files (wheels too); by default ``sys.path`` and where this package itself lies.

    Returns:
        The places, verl first, then transformers, then by name.
    """
    found: dict[str, Place] = {}
    for root in own_path() if path is None else path:
        for package in _packages(root):
            place = Place(root, package)
            first = found.setdefault(package, place)
            if first is not place and os.path.realpath(first.folder) != os.path.realpath(place.folder):
                first.shadows.append(place.folder)
    return sorted(found.values(), key=lambda place: (_rank(place.project), place.package))


def load(found: Iterable[Place]) -> Installed:
    """Read the changes at the given places; one that cannot be read is a problem and does not hide the others."""
    result = Installed()
    for place in found:
        try:
            result.changes.append(model.parse(place.read(DATA)))
        except (OSError, model.Unreadable) as error:
            result.problems.append(problem(place, DATA, error))
    return result


def problem(place: Place, name: str, error: Exception) -> str:
    """Return the message for a file that cannot be read: which, why, and the command that repairs it."""
    reason = getattr(error, "strerror", None) or error
    repair = f"pip install --force-reinstall --no-deps {place.distribution}"
    return f"{os.path.join(place.folder, name)}: {reason}; repair: {repair}"


def select(found: list[Place], names: Iterable[str]) -> tuple[list[Place], list[str]]:
    """Restrict places to the named distributions.

    Args:
        found: all places.
        names: distribution (``verl-npu``) or project names (``verl``) in any spelling pip accepts; none means all.

    Returns:
        The places chosen, and the names that match none.
    """
    wanted = {normal_name(name): name for name in names}
    chosen = [place for place in found if not wanted or _names(place) & wanted.keys()]
    known = {name for place in chosen for name in _names(place)}
    return chosen, [name for normal, name in wanted.items() if normal not in known]


def own_path() -> list[str]:
    """Return ``sys.path`` and where this package itself lies."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return [*(entry for entry in sys.path if isinstance(entry, str)), here]


def _packages(root: str) -> Iterator[str]:
    """Yield the summary packages directly in a folder or zip file; a folder left by an uninstall is none."""
    try:
        names = sorted(os.listdir(root or "."))
    except NotADirectoryError:
        yield from _zipped_packages(root)
        return
    except OSError:  # absent or closed to us, as entries of sys.path often are
        return
    for name in names:
        if _is_summary(name) and any(os.path.isfile(os.path.join(root, name, own)) for own in _SIGNS):
            yield name


def _is_summary(name: str) -> bool:
    """Return whether a package is called as that of a wheel; this code's own name, as npu-doctor has it, is none."""
    return name.endswith(SUFFIX) and "_" in name.removesuffix(SUFFIX)


def _zipped_packages(root: str) -> list[str]:
    import zipfile  # noqa: PLC0415  # slow to import and hardly ever needed

    try:
        with zipfile.ZipFile(root) as archive:
            names = [name.split("/") for name in archive.namelist()]
    except (OSError, zipfile.BadZipFile):
        return []
    return sorted({name[0] for name in names if _is_summary(name[0]) and name[1:] in [[own] for own in _SIGNS]})


def _read_zipped(root: str, name: str) -> bytes:
    import zipfile  # noqa: PLC0415  # slow to import and hardly ever needed

    try:
        with zipfile.ZipFile(root) as archive:
            return archive.read(name)
    except Exception as error:  # zipfile raises half a dozen unrelated types for damaged archives
        raise OSError(str(error) or type(error).__name__) from error


def _rank(project: str) -> int:
    return _FIRST.index(project) if project in _FIRST else len(_FIRST)


def _names(place: Place) -> set[str]:
    return {normal_name(place.distribution), normal_name(place.project)}


def normal_name(name: str) -> str:
    """Return the one spelling of all that pip takes for the same name."""
    return "-".join(filter(None, name.lower().replace("_", "-").replace(".", "-").split("-")))
