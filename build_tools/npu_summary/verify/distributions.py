"""Distributions: the metadata folders on the path → what is installed, and the files each claims."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property

from ..frozen import Frozen
from ..installed import normal_name
from ..stores import Store, open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SUFFIXES = (".dist-info", ".egg-info")
_COMMANDS = "entry_points.txt"


class Dist(Frozen):
    """One installed distribution."""

    store: Store  # the folder or zip file on the path that holds it
    info: str  # the name of its metadata folder there, or of a single ``.egg-info`` file

    @cached_property
    def _metadata(self) -> list[tuple[str, str]]:
        return self._fields("METADATA", "PKG-INFO", "")

    @property
    def key(self) -> str:
        """The normalized name by the folder's name, which is what Python's own lookup goes by."""
        stem = self.info.rpartition(".")[0] if self.info.endswith(_SUFFIXES) else self.name
        return normal_name(stem.partition("-")[0])

    @cached_property
    def name(self) -> str:
        """The name as it is spelled, by the metadata or else by the folder."""
        return dict(self._metadata).get("Name") or self.info.rpartition(".")[0].partition("-")[0]

    @cached_property
    def version(self) -> str:
        """The version, likewise; empty where the metadata is damaged and the folder's name has none."""
        version = self.info.rpartition(".")[0].partition("-")[2]
        by_folder = version.partition("-py")[0] if self.info.endswith("egg-info") else version
        return dict(self._metadata).get("Version") or by_folder

    @cached_property
    def requires(self) -> tuple[str, ...]:
        """Its requirements as the metadata spell them."""
        return tuple(value for key, value in self._metadata if key == "Requires-Dist")

    @property
    def tags(self) -> tuple[str, ...]:
        """For which Pythons and platforms its wheel says it is."""
        return tuple(value for key, value in self._fields("WHEEL") if key == "Tag")

    @property
    def installer(self) -> str:
        """What installed it: ``pip``, ``uv``; empty where it does not say."""
        return self._text("INSTALLER").strip().lower()

    @property
    def direct_url(self) -> dict[str, Any]:
        """Where it was installed from, if not from an index (PEP 610)."""
        try:
            origin = json.loads(self._text("direct_url.json") or "{}")
        except (ValueError, RecursionError):
            return {}
        return origin if isinstance(origin, dict) else {}

    @property
    def editable(self) -> str:
        """The source folder of an editable install, else empty."""
        from urllib.parse import unquote, urlsplit  # few are

        origin = self.direct_url
        info, url = origin.get("dir_info"), origin.get("url")
        if not isinstance(info, dict) or not info.get("editable") or not isinstance(url, str):
            return ""
        with suppress(ValueError):
            return unquote(urlsplit(url).path)
        return ""

    @property
    def commands(self) -> list[str]:
        """The path of its entry points, where it has any."""
        return [f"{self.info}/{_COMMANDS}"] if _COMMANDS in self.store.listing(self.info) else []

    @cached_property
    def record(self) -> dict[str, str]:
        """The files it claims, with the digest it gives them as it is spelled there, up to the first row that is none.

        Of thousands of digests only a few are ever asked for; `sha256_of` tells the bytes of one.
        """
        import csv

        files = {}
        with suppress(csv.Error):
            for row in csv.reader(self._text("RECORD").splitlines()):
                if row:
                    files[row[0]] = row[1] if len(row) > 1 else ""
        if not files:
            for line in filter(None, map(str.strip, self._text("installed-files.txt").splitlines())):
                files[os.path.normpath(f"{self.info}/{line}").replace(os.sep, "/")] = ""
        return files

    @cached_property
    def unusable(self) -> tuple[str, ...]:
        """Those of METADATA and RECORD without which installers refuse to replace it: missing, cut short or no text."""
        if not self.info.endswith(".dist-info"):
            return ()
        metadata, record = f"{self.info}/METADATA", f"{self.info}/RECORD"
        usable = {metadata: {"Name", "Version"} <= dict(self._fields("METADATA")).keys()}
        usable[record] = metadata in self.record
        for path in usable:
            try:
                self.store.read(path).decode()
            except (OSError, ValueError):
                usable[path] = False
        return tuple(path for path, good in usable.items() if not good)

    def claims(self, roots: Iterable[str]) -> dict[str, str]:
        """Return the files it claims whose paths begin like one of these; quick for the many that claim none."""
        text = self._text("RECORD") or self._text("installed-files.txt")
        wanted = tuple(roots)
        if not any(root in text for root in wanted):
            return {}
        return {path: digest for path, digest in self.record.items() if path.startswith(wanted)}

    def differing(self, paths: Iterable[str]) -> list[str]:
        """Return those of these files that are missing or differ from its RECORD, where that gives a digest."""
        found = []
        for path in paths:
            expected, actual = sha256_of(self.record[path]), ""
            with suppress(OSError):
                actual = hashlib.sha256(self.store.read(path)).hexdigest() if expected else ""
            if actual != expected:
                found.append(path)
        return found

    def _fields(self, *names: str) -> list[tuple[str, str]]:
        """Return the fields of a metadata file, up to its first empty line."""
        head = self._text(*names).replace("\r\n", "\n").partition("\n\n")[0]
        fields = (line.partition(":") for line in head.splitlines())
        return [(key, value.strip()) for key, colon, value in fields if colon]

    def _text(self, *names: str) -> str:
        for name in names:
            with suppress(OSError):
                return self.store.read(f"{self.info}/{name}".rstrip("/")).decode("utf-8", "replace")
        return ""


def scan(path: Iterable[str]) -> tuple[Dist, ...]:
    """Return every distribution on the path, in the order in which Python looks them up."""
    found: dict[tuple[str, str], Dist] = {}
    for root in path:
        store = open_store(root)
        for name in sorted(store.listing("")):
            if name.endswith(_SUFFIXES) or name == "EGG-INFO":
                found.setdefault((os.path.realpath(root), name), Dist(store=store, info=name))
    return tuple(found.values())


def sha256_of(digest: str) -> str:
    """Return a RECORD's ``sha256=<urlsafe base64>`` as hex; empty for none and for other algorithms."""
    algorithm, _, value = digest.partition("=")
    if algorithm != "sha256":
        return ""
    try:
        return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).hex()
    except ValueError:
        return ""
