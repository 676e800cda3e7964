"""Constraints files: stacks, and the wheels in a folder → a constraints file of each stack, written and checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from packaging.version import Version

from npu_doctor.stacks import constraints_name
from npu_overlays.errors import Problem
from npu_overlays.files import write_atomically
from npu_overlays.overlay.project import Overlay
from npu_overlays.pipeline.loader import Loaded, Loader
from npu_overlays.wheels.constraints import FIX, constraints_text, mistakes, own_pins, pinned, stack_of
from npu_overlays.wheels.output_folder import versions_in, wheels_of
from npu_overlays.wheels.results import Verified

_PATTERN = constraints_name("*")


def write_constraints(loaded: Sequence[Loaded], loader: Loader, built: Iterable[Path], out: Path) -> None:
    """Write the constraints of every stack that names one of the overlays.

    Args:
        loaded: the overlays that were built.
        loader: gives the locks of their partners.
        built: their wheels.
        out: where the wheels lie; the newest wheel of a partner there is pinned as well.
    """
    names = {file.name for file in built}
    for one in loaded:
        ours = {overlay.name: _pins(overlay, loader, names, out) for overlay in (one.overlay, *one.partners)}
        for stack in one.stacks.of(one.name):
            content = constraints_text(stack, one.stacks, ours).encode()
            file = out / constraints_name(stack.name)
            if not (file.is_file() and file.read_bytes() == content):
                write_atomically(file, content)


def _pins(overlay: Overlay, loader: Loader, built: set[str], out: Path) -> list[str]:
    """Return the pins of the wheel of an overlay and of its companion, where they lie in the folder."""
    versions: list[str] = []
    made: list[str] = []
    for version in versions_in(overlay, loader.metadata(overlay).version, out):
        if files := wheels_of(overlay, version, out):
            versions.append(version)
            if files[0].name in built:
                made.append(version)
    if not versions:
        return []
    newest = max(made or versions, key=Version)
    return [f"{name}=={newest}" for name in (overlay.distribution, overlay.pin.project)]


def verify_constraints(file: Path) -> Verified | None:
    """Compare a constraints file with the stack it is named after, and with the wheels beside it.

    Returns:
        The result; None if it is no constraints file of ours: neither of a stack that is known here, nor with pins
        of our own wheels.
    """
    if not (file.match(_PATTERN) and file.is_file()):
        return None
    text = file.read_text("utf-8", errors="replace")
    stack = stack_of(file)
    if stack is None and not own_pins(text):
        return None
    problems = (*_not_beside(file, text), *mistakes(file, text))
    name = stack.name if stack else file.stem.partition("-")[2]
    return Verified(wheel=file, name="constraints", version=name, files=1, kind="constraints", problems=problems)


def _not_beside(file: Path, text: str) -> Iterator[Problem]:
    """Yield each pin of a distribution whose builds lie beside the file, if the pinned one is not among them."""
    for pin in pinned(text):
        name = pin.name.replace("-", "_")
        there = [one.name.split("-")[1] for one in sorted(file.parent.glob(f"{name}-*.whl"))]
        if there and not any(pin.specifier.contains(version, prereleases=True) for version in there):
            what = f"asks for {pin}, and beside it lies {', '.join(there)}"
            yield Problem(where=str(file), what=what, fix=FIX)
