"""Inputs: an overlay's folder in, the files a wheel follows from and their digest out."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from npu_overlays.overlay.project import CONFIG_FILE, Overlay

LOCK_FILE = "overlay.lock"
LICENCE_FILES = ("LICENSE", "NOTICE")
CONTENT_FOLDERS = ("tree", "shared", "patches")
# What tools and desktops write as they go, and editors while a file is open. Nobody means a file by such a name.
_IGNORED = re.compile(
    r"__pycache__|\.(ruff|mypy|pytest)_cache|\.hypothesis|.*\.pyc"
    r"|\.ds_store|\._.*|thumbs\.db|desktop\.ini|\.directory|\..*\.sw[a-px]|\.#.*|\.~lock\..*#",
    re.IGNORECASE,
)
# Copies that editors, merges and patches leave when they are done. Somebody could have meant one, so each is named.
_LEFT_OVER = re.compile(
    r".*~|#.*#|.*\.(orig|rej|bak|old|save|tmp|swp|swo)|\.ipynb_checkpoints|\.idea|\.vscode", re.IGNORECASE
)


def is_ignored(path: Path, root: Path) -> bool:
    """Return whether a file below `root` is only what tools write as they go, and is no content."""
    return any(map(_IGNORED.fullmatch, path.relative_to(root).parts))


def is_left_over(path: Path, root: Path) -> bool:
    """Return whether a file below `root` is, by its name, a copy that an editor or a merge has left."""
    return any(map(_LEFT_OVER.fullmatch, path.relative_to(root).parts))


def input_files(overlay: Overlay) -> Iterator[tuple[str, Path]]:
    """Yield every file a wheel follows from, with its path inside the overlay's folder."""
    paths = [overlay.folder / name for name in (CONFIG_FILE, LOCK_FILE, *LICENCE_FILES)]
    paths += [path for folder in CONTENT_FOLDERS for path in sorted((overlay.folder / folder).rglob("*"))]
    for path in paths:
        if path.is_file() and not is_ignored(path, overlay.folder):
            yield path.relative_to(overlay.folder).as_posix(), path


def inputs_digest(chain: Iterable[Overlay]) -> str:
    """Return the sha256 over every input of a lineage, hex."""
    digest = hashlib.sha256()
    for overlay in chain:
        for name, path in input_files(overlay):
            executable = "x" if path.stat().st_mode & 0o100 else "-"
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{overlay.name}/{name}\0{executable}\0{content}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
