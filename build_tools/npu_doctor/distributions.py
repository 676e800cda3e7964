"""Distributions: one entry of the path in, what is installed there out: name, version, requirements, files, origin."""

# Paths are the strings of sys.path and of the environment, thousands of them.
# ruff: noqa: PTH113, PTH118, PTH119

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from npu_doctor import system

_HEADERS = ("METADATA", "PKG-INFO")


def normal(name: str) -> str:
    """Return a distribution's name as the index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """One installed distribution.

    Args:
        name: its name, normalised.
        version: its version, empty where the metadata do not say.
        root: the folder its files lie in.
        info: its metadata folder, or its one metadata file.
        requires: its requirements as written.
    """

    name: str
    version: str
    root: str
    info: str
    requires: tuple[str, ...] = ()

    @cached_property
    def direct_url(self) -> dict[str, Any]:
        """Where it was installed from, if not from an index (PEP 610)."""
        try:
            value = json.loads(system.text(os.path.join(self.info, "direct_url.json")) or "{}")
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    @cached_property
    def record(self) -> dict[str, str]:
        """Its files with the digests they were installed with, by path from `root`."""
        lines = (system.text(os.path.join(self.info, "RECORD")) or "").splitlines()
        # A path in quotes has a comma in it; none that matters here does.
        fields = (line.split(",") for line in lines if not line.startswith('"'))
        return {parts[0].replace("\\", "/"): parts[1] for parts in fields if len(parts) > 1 and parts[0]}


def distributions_in(entry: str) -> Iterator[Distribution]:
    """Yield the distributions installed in one entry of the path."""
    if entry.endswith(".egg"):
        yield from _read(entry, os.path.join(entry, "EGG-INFO"))
    for name in system.names(entry):
        if name.endswith((".dist-info", ".egg-info")):
            yield from _read(entry, os.path.join(entry, name))


def _read(root: str, info: str) -> Iterator[Distribution]:
    file = next((path for name in _HEADERS if os.path.isfile(path := os.path.join(info, name))), info)
    content = system.text(file)
    headers = _headers(content) if content else {}
    stem = os.path.basename(info if not info.endswith("EGG-INFO") else root).rpartition(".")[0]
    name, version = (headers.get(key, [""])[0].strip() for key in ("name", "version"))
    guessed, _, guessed_version = stem.partition("-")
    requires = [*headers.get("requires-dist", []), *_egg_requires(info)]
    yield Distribution(
        name=normal(name or guessed),
        version=version or guessed_version.partition("-py")[0],
        root=root,
        info=info,
        requires=tuple(requires),
    )


def _headers(content: str) -> dict[str, list[str]]:
    """Return the fields of a metadata file by lower-case name; what is no field is passed over."""
    found: dict[str, list[str]] = {}
    for line in content.splitlines():
        if not line.strip():
            break
        name, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            found.setdefault(name.strip().lower(), []).append(value.strip())
    return found


def _egg_requires(info: str) -> Iterator[str]:
    """Yield the unconditional requirements of an egg; its sections are extras or conditions."""
    for line in (system.text(os.path.join(info, "requires.txt")) or "").splitlines():
        if line.startswith("["):
            return
        if line.strip():
            yield line.strip()
