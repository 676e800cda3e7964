"""Artefacts: every pin → digests of what its wheels and source distributions hold, of its lock, and of its summary.

The files inside are digested, not the archives: deflated bytes depend on the machine's zlib, and ``WHEEL`` names the
version of hatchling.
"""

from __future__ import annotations

import json
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from environments import ROOT
from golden.run import digest, output

_LEFT_OUT = ("/WHEEL", "/RECORD")
_FORMS = ("text", "yaml", "json")
# Exit codes of `build --keep-going` and `sdist`: all made, or a source that cannot be reached.
_CODES = (0, 4)


def artefacts(work: Path) -> dict[str, str]:
    """Return digests by overlay, source and artefact; pins whose source cannot be reached are missing.

    Args:
        work: an empty folder to build in.
    """
    found = {f"{path.parent.name} lock": digest(path.read_bytes()) for path in ROOT.glob("overlays/*@*/overlay.lock")}
    for source in ("git", "archive"):
        for built in _built(source, work / source):
            origin = f"{built['overlay']} {source}"
            found |= _wheel(f"{origin} wheel", Path(built["wheel"]))
            found |= _wheel(f"{origin} companion", Path(built["companion"]))
            found |= dict(_summaries(f"{origin} summary", Path(built["wheel"])))
            found |= dict(_sdists(origin, built["overlay"], source, work / "sdists" / origin))
    return found


def _built(source: str, folder: Path) -> list[dict[str, Any]]:
    """Build every overlay that has this source, and return what the command says of each."""
    options = ("--source", source, "--keep-going", "--force", "--jobs", "auto", "--json", "--out", folder)
    return [one for one in json.loads(output("build", "--all", *options, codes=_CODES)) if one.get("wheel")]


def _wheel(label: str, path: Path) -> dict[str, str]:
    """Return digests of the patched files, the summary's data, its code and the metadata of a wheel."""
    parts: dict[str, dict[str, bytes]] = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(_LEFT_OUT):
                content = b"%o " % (info.external_attr >> 16) + archive.read(info)
                parts.setdefault(_part(info.filename), {})[info.filename] = content
    return {f"{label} {part}": _of_files(files) for part, files in parts.items()}


def _part(member: str) -> str:
    """Return which part of a wheel a member belongs to; the summary's code is the same in all wheels."""
    top = member.split("/", maxsplit=1)[0]
    if top.endswith(".dist-info"):
        return "metadata"
    if top.endswith("_npu_summary"):
        return "summary's code" if member.endswith((".py", ".js", ".css")) else member.rpartition("/")[2]
    return "files"


def _summaries(label: str, path: Path) -> Iterator[tuple[str, str]]:
    for form in _FORMS:
        yield f"{label} {form}", digest(output("summary", path, "--format", form))


def _sdists(origin: str, overlay: str, source: str, folder: Path) -> Iterator[tuple[str, str]]:
    output("sdist", overlay, "--source", source, "--out", folder)
    for path in sorted(folder.glob("*.tar.gz")):
        with tarfile.open(path) as archive:
            files = {
                member.name: b"%o " % member.mode + stream.read()
                for member in archive
                if (stream := archive.extractfile(member))
            }
        yield f"{origin} sdist {path.name}", _of_files(files)


def _of_files(files: Mapping[str, bytes]) -> str:
    lines = (f"{name} {digest(content)}\n" for name, content in sorted(files.items()))
    return digest("".join(lines))
