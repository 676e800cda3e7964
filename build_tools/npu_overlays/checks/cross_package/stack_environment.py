"""Stack environment: the overlays of a stack → their packages as they are installed beside one another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from npu_overlays.merge.results import Applied
from npu_overlays.model import model_of_files
from npu_overlays.model.lookup import Upstream
from npu_overlays.model.parsed_modules import ParsedModules
from npu_overlays.overlay.content import Content


@dataclass(frozen=True, kw_only=True)
class StackMember:
    """One overlay of a stack."""

    content: Content  # what it says
    applied: Applied  # what applying it gave

    @property
    def absent(self) -> frozenset[str]:
        """Paths that its pin has and the source at hand lacks."""
        return self.applied.before.absent

    @property
    def name(self) -> str:
        """The overlay's name."""
        return self.content.overlay.name

    @property
    def homes(self) -> tuple[str, ...]:
        """What it installs, as dotted names."""
        pin = self.content.overlay.pin
        return tuple(home.removesuffix(".py").replace("/", ".") for _, home in pin.homes)

    def owns(self, module: str) -> bool:
        """Return whether a dotted name is one of its modules, or would be."""
        return any(module == home or module.startswith(f"{home}.") for home in self.homes)

    def path_of(self, place: str) -> str:
        """Return the repository path of a place of its before it was patched; empty where it has none there."""
        pin = self.content.overlay.pin
        return next((path for path in self.applied.tree.upstream.entries if pin.place(path) == place), "")

    def places(self) -> dict[str, str]:
        """Return by place in the environment the repository path of everything it installs."""
        pin = self.content.overlay.pin
        return {place: path for path in self.applied.tree.paths() if (place := pin.place(path))}


def environment(sides: Iterable[StackMember], *, patched: bool, parsed: ParsedModules) -> Upstream:
    """Return what can be imported where a stack is installed; its paths are those below ``site-packages``.

    Args:
        sides: the overlays.
        patched: whether as they make it, or as upstream has it.
        parsed: parses the modules, most of which are the same in both.
    """
    files: dict[str, bytes] = {}
    homes: list[str] = []
    absent: set[str] = set()
    for side in sides:
        pin, tree = side.content.overlay.pin, side.applied.tree
        homes += [home for _, home in pin.homes]
        absent |= {place for path in side.absent if (place := pin.place(path))}
        for path in tree.paths() if patched else tree.upstream.entries:
            place, text = pin.place(path), tree.after(path) if patched else tree.before(path)
            if place and text is not None:
                files[place] = text
    return Upstream(model_of_files(files, homes, absent=frozenset(absent), parsed=parsed))
