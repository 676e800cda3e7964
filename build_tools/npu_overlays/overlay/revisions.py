"""Revisions: an overlay's folder → its published revisions; and the writing of a new one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tomli_w

from npu_overlays.errors import ConfigError, Problem
from npu_overlays.files import write_atomically
from npu_overlays.overlay.project import CONFIG_FILE
from npu_overlays.overlay.tables import Table, load_toml

REVISIONS_FILE = "revisions.toml"
_HEADER = """\
# Written by `npu-overlays revise`: the revisions of this overlay, why there is each, and a digest of what it was made
# of. A build of anything else is a development build, and its version says so.

"""


@dataclass(frozen=True, kw_only=True)
class Revision:
    """A published revision."""

    number: int  # counts from 1
    why: str  # what is new in it, for its users
    sha256: str  # over every input of the overlay, hex


def read_revisions(folder: Path) -> tuple[Revision, ...]:
    """Return the revisions of the overlay in `folder`, the last one last; raises `ConfigError` for a malformed file."""
    file = folder / REVISIONS_FILE
    if not file.is_file():
        return ()
    problems: list[Problem] = []
    document = Table(load_toml(file), where=str(file), key="", problems=problems)
    revisions: list[Revision] = []
    for one in document.tables("revision"):
        number, why, sha256 = one.positive("number"), one.filled("why"), one.get("sha256", str)
        revisions.append(Revision(number=number, why=why, sha256=sha256))
        one.refuse_others()
    document.refuse_others()
    numbers = [one.number for one in revisions]
    if not problems and numbers != sorted(set(numbers)):
        what = f"the numbers are {', '.join(map(str, numbers))}: each must be higher than the one before"
        document.problem("revision", what, "restore the file of the last release, and run `npu-overlays revise` again")
    ConfigError.raise_for(problems)
    return tuple(revisions)


def record_revision(folder: Path, revision: Revision) -> None:
    """Add a revision to those of the overlay in `folder`; raises `OverlayError`."""
    values = {"revision": [asdict(one) for one in (*read_revisions(folder), revision)]}
    write_atomically(folder / REVISIONS_FILE, (_HEADER + tomli_w.dumps(values)).encode())


def set_revision(folder: Path, number: int) -> None:
    """Write the number of its last revision into the configuration of an overlay; raises `OverlayError`."""
    import tomlkit  # noqa: PLC0415  # takes a tenth of a second, which a build need not take

    file = folder / CONFIG_FILE
    document = tomlkit.parse(file.read_text("utf-8"))
    table: Any = document["tool"]["overlay"]  # tomlkit's containers
    table["revision"] = number
    write_atomically(file, tomlkit.dumps(document).encode())
