"""Pin faults: an overlay's upstream settings → those that must not reach git, an index or a file system."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from packaging.utils import (
    InvalidName,
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from npu_overlays.overlay.bounds import version_of
from npu_overlays.sources.pin import Archive

TRANSPORTS = ("https", "http", "ssh", "git", "file")
_SCP = re.compile(r"([\w.][\w.+-]*@)?[\w.][\w.-]*:[^:].*")


def url_fault(url: str) -> str:
    """Return why a URL must not be passed to git, or an empty text."""
    scheme, found, _ = url.partition("://")
    if _odd(url):
        return "holds blanks or control characters"
    if url.startswith("-"):
        return "begins with a dash, as an option does"
    if re.match(r"[\w.+-]*::", url):
        return "names a program for git to run, not a server"
    if not found:
        return "" if _SCP.fullmatch(url) else "is not a URL"
    if scheme not in TRANSPORTS:
        return f"is none of the kinds {', '.join(TRANSPORTS)}"
    return _address_fault(url, scheme)


def _address_fault(url: str, scheme: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError as error:
        return f"is not a URL: {error}"
    if parts.netloc.startswith("-") or host.startswith("-"):
        return "has a host that begins with a dash, as an option does"
    if scheme != "file" and not host:
        return "names no host"
    # A user name alone is part of how a server is reached by ssh.
    if parts.password is not None or (parts.username is not None and scheme != "ssh"):
        return "holds a user name or password"
    return ""


def archive_faults(archive: Archive) -> Iterator[tuple[str, str, str]]:
    """Yield the key, the mistake and what to do for each invalid value of an archive."""
    name = _name(archive.distribution)
    version = None if _odd(archive.version) else version_of(archive.version)
    if archive.distribution and name is None:
        yield "distribution", f"{archive.distribution!r} is not a name of a distribution", "write it as the index does"
    if archive.version and version is None:
        yield "version", f"{archive.version!r} is not a version", "write it as the index does"
    if archive.sha256 and not re.fullmatch(r"[0-9a-f]{64}", archive.sha256):
        yield "sha256", f"`{archive.sha256}` is not a sha256", "write its 64 hex digits, in lower case"
    if archive.file:
        yield from _file_faults(archive, name, version)


def _file_faults(archive: Archive, name: str | None, version: Version | None) -> Iterator[tuple[str, str, str]]:
    file = archive.file
    if not file.endswith((".whl", ".tar.gz", ".zip")):
        yield "file", f"`{file}` is neither a wheel nor an sdist", "name a .whl or .tar.gz file"
        return
    try:
        if _odd(file) or "/" in file or "\\" in file:
            yield "file", f"{file!r} is not a file name", "name the file alone, as the index does"
            return
        of = parse_wheel_filename(file)[:2] if file.endswith(".whl") else parse_sdist_filename(file)
    except (InvalidWheelFilename, InvalidSdistFilename) as error:
        yield "file", str(error), "write it as the index does"
        return
    if name is not None and version is not None and of != (name, version):
        yield (
            "file",
            f"`{file}` is {of[0]} {of[1]}, not {name} {version}",
            "correct `file`, or `distribution` and `version`",
        )


def is_folder_name(text: str) -> bool:
    """Return whether a text is certainly the name of a sibling folder."""
    return bool(text) and text not in (".", "..") and not _odd(text) and not re.search(r"[/\\:]", text)


def _odd(text: str) -> bool:
    return not text.isprintable() or any(character.isspace() for character in text)


def _name(text: str) -> str | None:
    try:
        return None if _odd(text) else canonicalize_name(text, validate=True)
    except InvalidName:
        return None
