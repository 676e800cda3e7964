"""Wheels: small ones written by hand, and reading those that were built."""

from __future__ import annotations

import base64
import csv
import email
import email.message
import hashlib
import io
import re
import zipfile
from collections.abc import Mapping
from importlib.metadata import distribution
from itertools import chain
from pathlib import Path


def write_wheel(  # noqa: PLR0913  # one argument for each part of a wheel
    folder: Path, name: str, version: str, files: Mapping[str, bytes], *, metadata: str = "", tag: str = "py3-none-any"
) -> Path:
    """Write an installable wheel and return it.

    Args:
        folder: where to.
        name: distribution name, without dashes.
        version: its version.
        files: content by path.
        metadata: the METADATA file, or only further headers for a minimal one.
        tag: what it is for.
    """
    info = f"{name}-{version}.dist-info"
    if not metadata.startswith("Metadata-Version"):
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}"
    pure = str(tag.endswith("-any")).lower()
    about = f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: {pure}\nTag: {tag}\n"
    members = {**files, f"{info}/METADATA": metadata.encode(), f"{info}/WHEEL": about.encode()}
    record = [f"{path},sha256={_digest(content)},{len(content)}" for path, content in members.items()]
    members[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for path, content in members.items():
            member = zipfile.ZipInfo(path)
            is_run = path.endswith(".sh") or ".data/scripts/" in path
            member.external_attr = (0o100755 if is_run else 0o100644) << 16
            archive.writestr(member, content)
    return file


def pack_installed(folder: Path, name: str) -> Path:
    """Write a wheel of a pure distribution that is installed here, and return it; needs no index."""
    found = distribution(name)
    files = {str(path): Path(str(path.locate())).read_bytes() for path in found.files or () if path.suffix == ".py"}
    own = {path: content for path, content in files.items() if path.startswith(f"{name}/")}
    return write_wheel(folder, name, found.version, own)


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files that lie in a folder, by their names."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def members(wheel: Path) -> dict[str, bytes]:
    """Return every file of a wheel by its path; a path that occurs twice is an error."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert len(names) == len(set(names)), sorted(names)
        return {name: archive.read(name) for name in names}


def metadata(wheel: Path) -> email.message.Message:
    """Return a wheel's core metadata."""
    (text,) = (content for path, content in members(wheel).items() if re.fullmatch(r"[^/]+\.dist-info/METADATA", path))
    return email.message_from_string(text.decode())


def record_problems(wheel: Path) -> list[str]:
    """Return what is wrong with a wheel's RECORD: files it lacks, digests and sizes that differ."""
    files = members(wheel)
    (name,) = (path for path in files if path.endswith(".dist-info/RECORD"))
    rows = {path: (digest, size) for path, digest, size in csv.reader(io.StringIO(files[name].decode()))}
    wrong = [f"{path}: not in RECORD" for path in files.keys() - rows.keys()]
    wrong += [f"{path}: only in RECORD" for path in rows.keys() - files.keys()]
    for path in (files.keys() & rows.keys()) - {name}:
        if rows[path] != (f"sha256={_digest(files[path])}", str(len(files[path]))):
            wrong.append(f"{path}: digest or size differs")
    return wrong


def record_problems_below(folder: Path) -> list[str]:
    """Return what is wrong with the RECORD of any wheel in a folder."""
    return list(chain.from_iterable(map(record_problems, folder.glob("*.whl"))))
