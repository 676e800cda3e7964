"""Inputs: a pin and its layers → the files a wheel follows from, and their digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterator
from pathlib import Path

from npu_overlays.overlay.project import CONFIG_FILE, LAYER_FILE, Layer, Overlay

LOCK_FILE = "overlay.lock"
LICENCE_FILES = ("LICENSE", "NOTICE")
_OF_A_PIN = (CONFIG_FILE, LOCK_FILE, *LICENCE_FILES)
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


def layer_files(layer: Layer) -> Iterator[tuple[str, Path]]:
    """Yield every file of one layer that a wheel follows from, with its path inside the layer's folder."""
    named = (layer.settings[0], *LICENCE_FILES) if layer.settings[0] == LAYER_FILE else _OF_A_PIN
    paths = [layer.folder / name for name in named]
    paths += [path for folder in CONTENT_FOLDERS for path in sorted((layer.folder / folder).rglob("*"))]
    for path in paths:
        if path.is_file() and not is_ignored(path, layer.folder):
            yield path.relative_to(layer.folder).as_posix(), path


def inputs_digest(overlay: Overlay, *, without: Container[str] = ()) -> str:
    """Return the sha256 over every input of a pin and its layers but those named, hex; the same wherever they lie."""
    digest = hashlib.sha256()
    for layer in overlay.chain:
        for name, path in layer_files(layer):
            if name in without:
                continue
            executable = "x" if path.stat().st_mode & 0o100 else "-"
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{layer.label(name)}\0{executable}\0{content}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
