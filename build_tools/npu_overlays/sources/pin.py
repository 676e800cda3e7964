"""The pin: exactly which upstream bytes an overlay is written for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, cached_property

# The one folder that stands between a repository's root and its packages without being part of their names.
_SOURCE_ROOT = "src/"


def clone_variable(project: str) -> str:
    """Return the name of the variable that names a clone of a project: ``VERL_PATH``."""
    return re.sub(r"[^A-Z0-9]", "_", project.upper()) + "_PATH"


def home_of(path: str, name: str) -> str:
    """Return the place in a wheel of a folder or module with this dotted name."""
    return name.replace(".", "/") + (".py" if path.endswith(".py") else "")


@dataclass(frozen=True, kw_only=True)
class Archive:
    """A release archive on a package index that holds the pinned packages."""

    distribution: str  # name to ask the index for
    version: str  # its version
    file: str  # file name, a wheel or an sdist
    sha256: str  # hex digest the downloaded file must have


@dataclass(frozen=True, kw_only=True)
class Pin:
    """An upstream commit, or a release alone, and where its bytes may come from."""

    project: str  # upstream's distribution name, e.g. ``transformers``.
    repository: str = ""  # the canonical repository URL; empty where only a release archive is known
    mirrors: tuple[str, ...] = ()  # further repository URLs, tried in order after `repository`
    commit: str = ""  # the full commit id, 40 hex digits; empty if only the archive of a release is known
    tag: str = ""  # the release tag of that commit, or empty
    # release archives that may stand in for the commit. Without a commit there is exactly one, and its digest is what
    # is pinned.
    archives: tuple[Archive, ...] = ()
    # repository folders and single modules that are shipped, e.g. ``src/transformers`` or ``six.py``.
    packages: tuple[str, ...]
    # where a package is imported as something else than its path says: its path, and its place in upstream's wheel,
    # ``("python/lib", "lib")``
    imports: tuple[tuple[str, str], ...] = ()

    @property
    def short(self) -> str:
        """The pin's part of folder names: the first seven digits of the commit, or the release's version."""
        return self.commit[:7] or (self.archives[0].version if self.archives else "")

    @property
    def identity(self) -> str:
        """The identity of the pin in locks and messages: the commit, or the digest of the one archive."""
        return self.commit or (f"sha256:{self.archives[0].sha256}" if self.archives else "")

    def import_name(self, path: str) -> str:
        """Return the configured import name of a shipped path; empty if the path itself shows it."""
        return dict(self.imports).get(path, "").removesuffix(".py").replace("/", ".")

    @cached_property
    def homes(self) -> tuple[tuple[str, str], ...]:
        """Each shipped folder or module of the repository, and its place in the wheel."""
        explicit = dict(self.imports)
        return tuple((path, explicit.get(path) or path.removeprefix(_SOURCE_ROOT)) for path in self.packages)

    @cached_property
    def place(self) -> Callable[[str], str]:
        """Return the place of a repository path in the wheel, or an empty text if it is not shipped."""
        return cache(self._place)

    def __getstate__(self) -> dict[str, object]:
        """Return the fields alone: derived values, such as cached places, are not sent to another process."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _place(self, path: str) -> str:
        for top, home in self.homes:
            if f"{path}/".startswith(f"{top}/"):
                return home + path[len(top) :]
        return ""
