"""Downloads: a pinned archive goes in, the file comes out, had through the user's own pip configuration.

No host is named here. Which index, mirror, proxy or folder serves the archive
is what ``pip config`` and the ``PIP_*`` variables say; the pinned digest says
whether it is the right one.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from npu_overlays import proc
from npu_overlays.errors import Problem, SourceError

if TYPE_CHECKING:
    from pathlib import Path

    from npu_overlays.pin import Archive
    from npu_overlays.source.cache import Progress

_TIMEOUT = 30 * 60
_FIX = "see that `pip config list` names an index that has it (PIP_INDEX_URL, PIP_FIND_LINKS, a proxy)"


def download(archive: Archive, work: Path, progress: Progress) -> Path:
    """Download one archive and return the file.

    Args:
        archive: what to download.
        work: an empty folder of this process.
        progress: told that the index is asked.

    Raises:
        SourceError: pip is missing, the index has no such file, or another one under that name.
    """
    progress(f"{archive.distribution} {archive.version}: downloading {archive.file} from the configured index")
    requirement = f"{archive.distribution}==={_version(archive)} --hash=sha256:{archive.sha256}\n"
    (work / "requirements.txt").write_text(requirement, encoding="utf-8")
    try:
        # pip sees an empty folder as the current one, so nothing lying about is taken for a module.
        proc.run(_command(archive, work), cwd=work, env=_overrides(), timeout=_TIMEOUT)
    except proc.ProcessError as error:
        raise SourceError(_explained(archive, proc.without_credentials(error.output))) from error
    files = [path for path in (work / "got").iterdir() if path.is_file()]
    if len(files) != 1:
        raise SourceError(Problem(where=archive.file, what=f"pip saved {len(files)} files instead of one"))
    return files[0]


def _command(archive: Archive, work: Path) -> list[str]:
    kind = "--only-binary=:all:" if archive.file.endswith(".whl") else "--no-binary=:all:"
    options = ("--no-deps", "--require-hashes", "--ignore-requires-python", "--no-input", "--progress-bar=off", kind)
    target = ("--dest", str(work / "got"), "--requirement", str(work / "requirements.txt"))
    return [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", *options, *target]


def _overrides() -> dict[str, str]:
    # The user's constraints are about what gets installed; this installs nothing.
    return {"PIP_CONSTRAINT": os.devnull, "PIP_BUILD_CONSTRAINT": os.devnull, "PIP_REQUIRE_VIRTUALENV": "0"}


def _version(archive: Archive) -> Version:
    # "===" and a normalised version: "==1.0" would also accept, and prefer, a 1.0+local of our own.
    try:
        return Version(archive.version)
    except InvalidVersion as error:
        raise SourceError(Problem(where=archive.file, what=str(error), fix="correct the pinned version")) from error


def _explained(archive: Archive, said: str) -> Problem:
    if "No module named pip" in said:
        what = f"release archives are downloaded by pip, which {sys.executable} does not have"
        fix = f"{sys.executable} -m ensurepip, or add pip to the build requirements"
        return Problem(where=archive.file, what=what, fix=fix)
    got = re.search(r"\bGot\s+([0-9a-f]{64})", said)
    if got:
        what = f"sha256 {archive.sha256} is pinned, but the index gave {got[1]}"
        return Problem(where=archive.file, what=what, fix="use an index with upstream's own file, or correct the pin")
    errors = [line.strip() for line in said.splitlines() if "error" in line.lower()]
    return Problem(where=archive.file, what="; ".join(errors[:2]) or said[-500:], fix=_FIX)
