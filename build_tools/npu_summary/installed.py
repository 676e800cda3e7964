"""Installed: folders and zip files on a path → the patched distributions there, their changes and their problems."""

from __future__ import annotations

import os
import sys

from . import changes as model
from .stores import open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .changes import Changes
    from .stores import Store

SUFFIX = "_summary"
DATA = "changes.json"
DIFF = "changes.diff"
MANIFEST = "manifest.json"
NOTHING = "no patched distribution is installed here (none of the folders on sys.path holds its *_summary package)"
# Without the first, the installation is damaged, and is reported; no other package has files of these names.
_SIGNS = (DATA, MANIFEST, "provenance.py")


class Place:
    """Where one summary package lies."""

    __slots__ = ("package", "root", "shadows")

    def __init__(self, root: str, package: str) -> None:
        self.root = root  # the entry of the path it was found on, a folder or a zip file
        self.package = package  # its import name: ``verl_npu_summary``
        self.shadows: list[str] = []  # other places of the package further down the path, which Python does not import

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

    @property
    def store(self) -> Store:
        """What reads the root."""
        return open_store(self.root)

    def read(self, name: str) -> bytes:
        """Return the bytes of one of the package's files; every failure raises ``OSError``."""
        return self.store.read(f"{self.package}/{name}")


def places(path: Iterable[str] | None = None) -> list[Place]:
    """Find every summary package, each once: the first on the path wins, as for Python's own imports.

    Args:
        path: folders and zip files (wheels too); by default ``sys.path`` and where this package itself lies.

    Returns:
        The places, verl first, then transformers, then by name.
    """
    found: dict[str, Place] = {}
    path = own_path() if path is None else path
    for root in path:
        for package in _packages(root):
            place = Place(root, package)
            first = found.setdefault(package, place)
            if first is not place and os.path.realpath(first.folder) != os.path.realpath(place.folder):
                first.shadows.append(place.folder)
    return sorted(
        found.values(), key=lambda place: (place.project != "verl", place.project != "transformers", place.package)
    )


def load(found: Iterable[Place]) -> tuple[list[Changes], list[str]]:
    """Return the changes at the places, and a message for each place whose changes cannot be read."""
    read: list[Changes] = []
    problems: list[str] = []
    for place in found:
        try:
            read.append(model.parse(place.read(DATA)))
        except (OSError, model.Unreadable) as error:
            problems.append(problem(place, DATA, error))
    return read, problems


def problem(place: Place, name: str, error: Exception) -> str:
    """Return the message for a file that cannot be read: which, why, and the command that repairs it."""
    repair = f"pip install --force-reinstall --no-deps {place.distribution}"
    return f"{os.path.join(place.folder, name)}: {reason(error)}; repair: {repair}"


def reason(error: Exception) -> str:
    """Return why something cannot be read or written, without the path, which the message already has."""
    return str(getattr(error, "strerror", None) or error)


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
    known = set[str]().union(*map(_names, chosen))
    return chosen, [name for normal, name in wanted.items() if normal not in known]


def own_path() -> list[str]:
    """Return ``sys.path`` and where this package itself lies."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return [*(entry for entry in sys.path if isinstance(entry, str)), here]


def _packages(root: str) -> Iterator[str]:
    """Yield the summary packages directly in a folder or zip file; a folder left by an uninstall is none."""
    store = open_store(root)
    for name in sorted(store.listing("")):
        # The name of this code's own package, as npu-doctor has it, is none of a wheel's.
        is_summary = name.endswith(SUFFIX) and "_" in name.removesuffix(SUFFIX)
        if is_summary and any(store.listing(name).get(own) == "file" for own in _SIGNS):
            yield name


def _names(place: Place) -> set[str]:
    return {normal_name(place.distribution), normal_name(place.project)}


def normal_name(name: str) -> str:
    """Return the normal spelling of a name, as pip compares names."""
    return "-".join(filter(None, name.lower().replace("_", "-").replace(".", "-").split("-")))
