"""Inputs: a pin and its layers → the input files of a wheel, and their digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.overlay.project import CONFIG_FILE, LAYER_FILE, Layer, Overlay

LOCK_FILE = "overlay.lock"
# What an unfinished port remembers; it is gone when the port is through.
PORT_FILE = ".port.json"
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


@dataclass(frozen=True, kw_only=True)
class Input:
    """An input file of a wheel."""

    layer: str  # name of the layer it belongs to
    path: str  # its path in the layer's folder
    executable: bool  # whether it is
    sha256: str  # of its content, hex

    @property
    def name(self) -> str:
        """Its name, independent of the folder's place."""
        return f"{self.layer}/{self.path}"


def is_ignored(path: Path, root: Path) -> bool:
    """Return whether a file below `root` is a by-product of tools."""
    return any(map(_IGNORED.fullmatch, path.relative_to(root).parts))


def is_left_over(path: Path, root: Path) -> bool:
    """Return whether a file below `root` has the name of an editor's or a merge's left-over."""
    return any(map(_LEFT_OVER.fullmatch, path.relative_to(root).parts))


def layer_files(layer: Layer) -> Iterator[tuple[str, Path]]:
    """Yield every input file of one layer, with its path inside the layer's folder."""
    named = (layer.settings[0], *LICENCE_FILES) if layer.settings[0] == LAYER_FILE else _OF_A_PIN
    paths = [layer.folder / name for name in named]
    for folder in CONTENT_FOLDERS:
        paths += sorted((layer.folder / folder).rglob("*"))
    for path in paths:
        if path.is_file() and not is_ignored(path, layer.folder):
            yield path.relative_to(layer.folder).as_posix(), path


def input_files(overlay: Overlay) -> tuple[Input, ...]:
    """Return every input of a pin and its layers, independent of their place."""
    found: list[Input] = []
    for layer in overlay.chain:
        for name, path in layer_files(layer):
            executable = bool(path.stat().st_mode & 0o100)
            sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
            found.append(Input(layer=layer.name, path=name, executable=executable, sha256=sha256))
    return tuple(found)


def inputs_digest(inputs: Iterable[Input], *, without: Container[str] = ()) -> str:
    """Return the sha256 over all inputs except some paths, hex."""
    digest = hashlib.sha256()
    for one in inputs:
        if one.path not in without:
            executable = "x" if one.executable else "-"
            digest.update(f"{one.name}\0{executable}\0{one.sha256}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
