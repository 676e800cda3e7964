"""Distributions: the path → what is installed there, as the summary's verification reads it, with its requirements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from typing import Any

from packaging.utils import canonicalize_name

from npu_doctor import files
from npu_summary.verify.distributions import Dist, scan


class _Metadata(metadata.Distribution):
    """Reads the requirements in a metadata folder with Python's own library; never raises."""

    def __init__(self, info: str) -> None:
        self._info = info

    def read_text(self, filename: str) -> str | None:
        text = files.text(f"{self._info}/{filename}") if filename else files.text(self._info) or ""
        # The description below the fields is longer than they are, and says nothing here.
        return text and text.partition("\n\n")[0]

    def locate_file(self, path: object) -> Any:  # of no use without the library's own list of files
        raise NotImplementedError(path)


@dataclass(frozen=True, kw_only=True)
class InstalledDistribution:
    """One installed distribution."""

    name: str  # its name, normalised
    version: str  # its version, empty where the metadata do not say
    root: str  # the folder its files lie in
    info: str  # its metadata folder, or its one metadata file
    found: Dist  # what the verification reads of it

    @cached_property
    def requires(self) -> tuple[str, ...]:
        """Its requirements as written, those in an egg's own file too."""
        return tuple(_Metadata(self.info).requires or ())

    @cached_property
    def direct_url(self) -> dict[str, Any]:
        """Where it was installed from, if not from an index (PEP 610)."""
        return self.found.direct_url

    @property
    def record(self) -> dict[str, str]:
        """Its files with the digests they were installed with, by path from `root`."""
        return self.found.record


def distributions_on(path: Iterable[str]) -> Iterator[InstalledDistribution]:
    """Yield the distributions on a path, those first on it first."""
    for one in scan(path):
        name, info = canonicalize_name(one.name), f"{one.store.root}/{one.info}"
        yield InstalledDistribution(name=name, version=one.version, root=one.store.root, info=info, found=one)
