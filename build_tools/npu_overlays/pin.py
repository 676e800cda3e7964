"""The pin: exactly which upstream bytes an overlay is written for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Archive:
    """A release archive on a package index that holds the pinned commit's packages.

    Args:
        distribution: name to ask the index for.
        version: its version.
        file: file name, a wheel or an sdist.
        sha256: hex digest the downloaded file must have.
    """

    distribution: str
    version: str
    file: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Pin:
    """An upstream commit and where its bytes may come from.

    Args:
        project: upstream's distribution name, e.g. ``transformers``.
        repository: the canonical repository URL.
        mirrors: further repository URLs, tried in order after `repository`.
        commit: the full commit id, 40 hex digits.
        tag: the release tag of that commit, or empty.
        archives: release archives that may stand in for the commit.
        packages: repository folders that are shipped, e.g. ``src/transformers``; the last
            component is the import name and the folder inside a wheel.
    """

    project: str
    repository: str
    mirrors: tuple[str, ...] = ()
    commit: str
    tag: str = ""
    archives: tuple[Archive, ...] = ()
    packages: tuple[str, ...]

    @property
    def short(self) -> str:
        """The first seven digits of the commit, as overlay folders are named."""
        return self.commit[:7]


def installed_path(pin: Pin, path: str) -> str:
    """Return where a repository path lies in the wheel, or an empty text where it is not shipped."""
    for package in pin.packages:
        if path.startswith(f"{package}/"):
            return package.rpartition("/")[2] + path[len(package) :]
    return ""
