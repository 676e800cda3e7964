"""Distributions: one entry of the path → what is installed there: names, versions, requirements, files, where from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from typing import Any

from packaging.utils import canonicalize_name

from npu_doctor import files


class _Metadata(metadata.Distribution):
    """Reads a metadata folder, or the one file of an old egg, with Python's own library; never raises."""

    def __init__(self, info: str) -> None:
        self._info = info

    def read_text(self, filename: str) -> str | None:
        text = files.text(f"{self._info}/{filename}") if filename else files.text(self._info) or ""
        # The description below the fields is longer than they are, and says nothing here.
        return text and text.partition("\n\n")[0]

    def locate_file(self, path: object) -> Any:  # of no use without the library's own list of files
        raise NotImplementedError(path)

    def fields(self, *names: str) -> Iterator[str]:
        """Yield fields, each on one line, empty where it is not there."""
        found = self.metadata  # read anew whenever it is asked for
        for name in names:
            yield " ".join(str((found.get_all(name) or [""])[0]).split())


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """One installed distribution."""

    name: str  # its name, normalised
    version: str  # its version, empty where the metadata do not say
    root: str  # the folder its files lie in
    info: str  # its metadata folder, or its one metadata file

    @cached_property
    def requires(self) -> tuple[str, ...]:
        """Its requirements as written."""
        return tuple(_Metadata(self.info).requires or ())

    @cached_property
    def direct_url(self) -> dict[str, Any]:
        """Where it was installed from, if not from an index (PEP 610)."""
        try:
            value = json.loads(files.text(f"{self.info}/direct_url.json") or "{}")
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    @cached_property
    def record(self) -> dict[str, str]:
        """Its files with the digests they were installed with, by path from `root`.

        The library makes an object of every line, and there are a hundred thousand.
        """
        lines = (files.text(f"{self.info}/RECORD") or "").splitlines()
        # A path in quotes has a comma in it; none that matters here does.
        fields = (line.split(",") for line in lines if not line.startswith('"'))
        return {parts[0].replace("\\", "/"): parts[1] for parts in fields if len(parts) > 1 and parts[0]}


def distributions_in(entry: str) -> Iterator[Distribution]:
    """Yield the distributions installed in one entry of the path."""
    if entry.endswith(".egg"):
        yield _distribution(entry, f"{entry}/EGG-INFO", entry.rpartition("/")[2])
    for name in files.names(entry):
        if name.endswith((".dist-info", ".egg-info")):
            yield _distribution(entry, f"{entry}/{name}", name)


def _distribution(root: str, info: str, called: str) -> Distribution:
    """Return what a folder of metadata says; where it does not, what the folder is called."""
    written_name, written_version = _Metadata(info).fields("Name", "Version")
    name, _, version = called.rpartition(".")[0].partition("-")
    return Distribution(
        name=canonicalize_name(written_name or name),
        version=written_version or version.partition("-py")[0],
        root=root,
        info=info,
    )
