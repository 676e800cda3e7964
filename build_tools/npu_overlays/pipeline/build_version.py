"""Build version: an overlay, and every input of its wheels → a version that no other content has.

A revision is what ``revisions.toml`` records: a number, and the digest of the overlay's inputs. Anything else
is a development build after the last revision, and its version says when the overlay's files last changed, which
installers order by, and a digest.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import version
from pathlib import Path

import npu_overlays
import npu_summary
from npu_overlays.errors import Problem, UsageError
from npu_overlays.files import canonical_json
from npu_overlays.overlay.inputs import CONTENT_FOLDERS, is_ignored, layer_files
from npu_overlays.overlay.project import Overlay
from npu_overlays.pipeline.loader import Loaded
from npu_overlays.sources.tree import Source

EPOCH = "SOURCE_DATE_EPOCH"
# The end of the year 9999, the last one with four digits.
_LAST_SECOND = 253402300799
_STAMP_DIGITS = 17

# The kinds of file that count as code, and that travel in wheels.
CODE = (".css", ".js", ".json", ".py")
# Whose code makes a wheel or travels in it; npu-doctor's does neither.
_TOOL = tuple(Path(package.__path__[0]) for package in (npu_overlays, npu_summary))

# What a wheel's bytes follow from, in words.
INPUT_NAMES = {
    "overlay": "all of the overlay's files, sha256",
    "requires": "what it is paired with",
    "extras": "extras of its stacks, sha256",
    "tool": "npu-overlays itself, sha256",
    "hatchling": "hatchling",
}


def wheel_inputs(loaded: Loaded, digest: str) -> dict[str, str]:
    """Return every input of a wheel except the pinned bytes, given the digest of its overlay's files."""
    return {**_own_inputs(loaded, digest), "tool": _tool_digest(), "hatchling": version("hatchling")}


def _own_inputs(loaded: Loaded, digest: str) -> dict[str, str]:
    """Return the inputs in the folders of overlays and stacks."""
    pairs = (
        f"{pair.requirement} from {pair.overlay} revision {pair.revision} ({', '.join(pair.builds)})"
        for pair in loaded.pairs
    )
    return {
        "overlay": digest,
        "requires": "; ".join(pairs),
        "extras": hashlib.sha256(canonical_json(loaded.extras)).hexdigest(),
    }


@cache
def _tool_digest() -> str:
    digest = hashlib.sha256()
    for package in _TOOL:
        for file in sorted(package.rglob("*")):
            if file.suffix in CODE:
                content = hashlib.sha256(file.read_bytes()).hexdigest()
                digest.update(f"{file.relative_to(package.parent).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def revision_digest(loaded: Loaded, digest: str) -> str:
    """Return the sha256 that a revision records for an overlay with these files, hex."""
    return hashlib.sha256(canonical_json(_own_inputs(loaded, digest))).hexdigest()


def is_revision(loaded: Loaded, digest: str) -> bool:
    """Return whether an overlay with these files is the last revision of it, rather than in development."""
    last = loaded.revisions[-1] if loaded.revisions else None
    number = loaded.overlay.revision
    return last is not None and (last.number, last.sha256) == (number, revision_digest(loaded, digest))


def wheel_version(loaded: Loaded, source: Source, digest: str) -> str:
    """Return the version of the wheels of an overlay whose files have a digest.

    Raises `UsageError` where ``SOURCE_DATE_EPOCH`` is no time.
    """
    return loaded.overlay.version(loaded.metadata.version, source, build_of(loaded, digest))


def build_of(loaded: Loaded, digest: str) -> str:
    """Return the build part of an overlay's version; raises `UsageError` likewise."""
    dated = epoch()
    if loaded.build:
        return loaded.build
    revision = str(loaded.overlay.revision)
    return revision if is_revision(loaded, digest) else f"{revision}.{_development(loaded, digest, dated)}"


def _development(loaded: Loaded, digest: str, dated: int | None) -> str:
    """Return a development build's part of the version: when its files changed, or a given time, and a digest."""
    followed = hashlib.sha256(canonical_json(wheel_inputs(loaded, digest))).hexdigest()
    own = f"dev{followed[:7]}"
    if dated is not None:
        return f"{_stamp(dated * 1000)}.{own}"
    newest = max(loaded.earlier, default="")
    if newest.endswith(f".{own}"):
        return newest  # touched, and the same
    # Nobody can set the time of a change, as opposed to that of writing: copying and moving an old file count, too.
    stamp = _stamp(max(path.stat().st_ctime_ns for path in _changing(loaded.overlay)) // 1_000_000)
    # What was deleted leaves no date behind, and a clock may have been set back.
    if newest >= stamp:
        stamp = str(int(newest[:_STAMP_DIGITS]) + 1)
    return f"{stamp}.{own}"


def _stamp(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds // 1000, timezone.utc)
    return f"{moment:%Y%m%d%H%M%S}{milliseconds % 1000:03d}"


def _changing(overlay: Overlay) -> Iterator[Path]:
    """Yield every file of an overlay, and the folders from which one may have been deleted."""
    for layer in overlay.chain:
        for _, file in layer_files(layer):
            yield file
        for name in CONTENT_FOLDERS:
            folder = layer.folder / name
            if folder.is_dir():
                yield folder
                for path in folder.rglob("*"):
                    if path.is_dir() and not is_ignored(path, folder):
                        yield path


def epoch() -> int | None:
    """Return the seconds in ``SOURCE_DATE_EPOCH``; None if it is not set; raises `UsageError`.

    It dates a development build instead of its files. Dates inside wheels do not depend on it.
    """
    text = os.environ.get(EPOCH, "")
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) > _LAST_SECOND:
        what = f"`{text}` is no time: it takes whole seconds since 1970, from 0 to {_LAST_SECOND} (the year 9999)"
        raise UsageError(Problem(where=EPOCH, what=what, fix=f"unset {EPOCH}, or {EPOCH}=$(git log -1 --format=%ct)"))
    return int(text)
