"""Layer files: the new contents of the files of layers, before anything is written."""

from __future__ import annotations

from dataclasses import dataclass, field

from npu_overlays.overlay.project import Layer


@dataclass(frozen=True, kw_only=True)
class LayerFile:
    """A file of a layer, with its new content."""

    layer: Layer
    path: str
    # None where the file goes.
    content: bytes | None
    executable: bool = False


@dataclass(kw_only=True)
class LayerFiles:
    """The files of layers, with the changes made so far."""

    changed: dict[tuple[str, str], LayerFile] = field(default_factory=dict)

    def read(self, layer: Layer, path: str) -> bytes | None:
        """Return the content of a file; None where there is none."""
        if known := self.changed.get((layer.name, path)):
            return known.content
        file = layer.folder / path
        return file.read_bytes() if file.is_file() else None

    def write(self, layer: Layer, path: str, content: bytes | None, *, executable: bool = False) -> None:
        """Give a file new content; None deletes it."""
        self.changed[layer.name, path] = LayerFile(layer=layer, path=path, content=content, executable=executable)
