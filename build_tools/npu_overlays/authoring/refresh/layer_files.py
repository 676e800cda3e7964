"""Layer files: the new contents of the files of layers, before anything is written."""

from __future__ import annotations

from dataclasses import dataclass, field

from npu_overlays.overlay.project import Layer


@dataclass(frozen=True, kw_only=True)
class LayerFile:
    """A file of a layer as it is to be; None where it goes."""

    layer: Layer
    path: str
    content: bytes | None
    executable: bool = False


@dataclass(kw_only=True)
class LayerFiles:
    """The files of layers, as they are by now."""

    changed: dict[tuple[str, str], LayerFile] = field(default_factory=dict)

    def read(self, layer: Layer, path: str) -> bytes | None:
        """Return the content of a file; None where there is none."""
        if known := self.changed.get((layer.name, path)):
            return known.content
        file = layer.folder / path
        return file.read_bytes() if file.is_file() else None

    def write(self, layer: Layer, path: str, content: bytes | None, *, executable: bool = False) -> None:
        """Make a file be so; None takes it away."""
        self.changed[layer.name, path] = LayerFile(layer=layer, path=path, content=content, executable=executable)
