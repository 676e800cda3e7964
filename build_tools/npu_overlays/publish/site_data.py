"""Site data: folders of wheels → the patched wheels, the stacks they make up, and the commands that install them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from packaging.utils import parse_wheel_filename
from packaging.version import Version

from npu_doctor.stacks import Catalogue, Stack, constraints_name
from npu_overlays.errors import OutputError, Problem, collected
from npu_overlays.overlay.stack_requirements import base_requirements
from npu_overlays.progress import step
from npu_overlays.wheels.constraints import own_pins
from npu_overlays.wheels.inspection import carries_summary, read_record
from npu_summary import outline, provenance

if TYPE_CHECKING:
    from npu_summary.changes import Changes

# Stands in commands for the address of the index where that is not known yet; the script of the site knows it.
PLACEHOLDER = "https://pypi.example.com/"
_DOCTOR_WHEELS = "npu_doctor-*.whl"
_DISTINGUISHING = ("cann", "torch", "torch_npu", "vllm", "sglang")  # components that tell stacks from each other


@dataclass(frozen=True, kw_only=True, eq=False)
class PatchedWheel:
    """A patched wheel."""

    file: Path  # where it lies
    name: str  # its distribution, normalized
    version: Version  # its version
    record: Changes  # the content of its ``changes.json``

    @property
    def pin(self) -> str:
        """The wheel, as constraints ask for it."""
        return f"{self.name}=={self.version}"

    @property
    def slug(self) -> str:
        """Its name in addresses."""
        return re.sub(r"[^a-z0-9.-]+", "-", f"{self.name}-{self.version}".lower())

    @property
    def data(self) -> dict[str, Any]:
        """What pages show of it."""
        files = self.record["files"]
        return {
            "name": self.name,
            "version": str(self.version),
            "title": f"{self.name} {self.version}",
            "page": f"changes/{self.slug}.html",
            "diff": f"changes/{self.slug}.diff",
            "file": f"simple/{self.name}/{quote(self.file.name)}",
            "made_of": provenance.upstream(self.record),
            "changes": sum(map(outline.count, files)),
            "files": len(files),
            "stacks": [],
        }


def read_patched_wheels(folders: Sequence[Path]) -> list[PatchedWheel]:
    """Return the patched wheels of some folders, by name and the newest version first.

    Raises:
        OutputError: with every wheel that cannot be read.
    """
    files: dict[str, Path] = {}
    for folder in folders:
        for file in sorted(folder.glob("*.whl")):
            files[file.name] = file
    wheels, problems = [], list[Problem]()
    for file in files.values():
        step(f"reading {file.name}")
        with collected(problems):
            if carries_summary(file):
                name, version, *_ = parse_wheel_filename(file.name)
                wheels.append(PatchedWheel(file=file, name=name, version=version, record=read_record(file)))
    OutputError.raise_for(problems)
    wheels.sort(key=lambda wheel: wheel.version, reverse=True)
    return sorted(wheels, key=lambda wheel: wheel.name)


def site_data(
    wheels: Sequence[PatchedWheel], folders: Sequence[Path], catalogue: Catalogue, index_url: str
) -> dict[str, Any]:
    """Return the data of the site's templates, which is its ``site.json`` as well.

    Args:
        wheels: the patched wheels.
        folders: which may hold constraints of stacks and npu-doctor beside them.
        catalogue: all stacks. One is offered where its constraints and every wheel that they pin are there.
        index_url: address of the index, empty if only the reader of a page knows it.
    """
    has_doctor = any(list(folder.glob(_DOCTOR_WHEELS)) for folder in folders)
    index = index_url or PLACEHOLDER
    shown = {wheel.pin: wheel.data for wheel in wheels}
    offered, missing = [], []
    for stack in catalogue.stacks:
        pins = _pins(stack, folders, shown)
        if pins:
            for pin in pins:
                shown[pin]["stacks"].append(stack.name)
            asked = base_requirements(stack, catalogue, doctor=has_doctor)
            offered.append(_stack(stack, [shown[pin] for pin in pins], shlex.join(asked), index))
        elif not stack.record:
            parts = list(_parts(stack))
            missing.append({"name": stack.name, "title": stack.title, "parts": parts, "overlays": stack.overlays})
    others = []
    for pin, wheel in shown.items():
        if not wheel["stacks"]:
            others.append({**wheel, **commands(pin, index)})
    first = offered[0]["wheels"][-1] if offered else next(iter(shown.values()), None)
    return {
        "wheels": list(shown.values()),
        "stacks": offered,
        "others": others,
        "missing": missing,
        "check": f"python -I -m {first['name'].replace('-', '_')}_summary --verify" if first else "",
        "placeholder": "" if index_url else PLACEHOLDER,
    }


def _pins(stack: Stack, folders: Sequence[Path], known: dict[str, Any]) -> list[str]:
    """Return the pins of a stack's wheels, the one to ask for last; none if the stack cannot be installed."""
    for folder in folders:
        file = folder / constraints_name(stack.name)
        if stack.record or not file.is_file():
            continue
        pins = own_pins(file.read_text("utf-8", errors="replace"))
        found = [pins.get(overlay, [""])[0] for overlay in stack.overlays]
        if set(found) <= known.keys():
            return found
    return []


def _stack(stack: Stack, wheels: list[dict[str, Any]], asked: str, index: str) -> dict[str, Any]:
    return {
        "name": stack.name,
        "anchor": stack.name.lower().replace(".", ""),
        "title": stack.title,
        "parts": list(_parts(stack)),
        "wheels": wheels,
        **commands(asked, index, constraints_name(stack.name)),
    }


def _parts(stack: Stack) -> Iterator[str]:
    """Yield the versions a stack is for."""
    if stack.python:
        yield f"Python {stack.python}"
    for component in filter(None, map(stack.component, _DISTINGUISHING)):
        name = component.name.upper() if component.install == "system" else component.name
        yield f"{name} {component.version or component.allow}".strip()


def commands(asked: str, index: str, constraints: str = "") -> dict[str, str]:
    """Return the commands of pip and of uv that install something, as a shell takes it, with constraints or without."""
    given = f"-c {index}{constraints} " if constraints else ""
    return {
        "pip": f"pip install {given}--extra-index-url {index} {asked}",
        "uv": f"uv pip install {given}--index {index} {asked}",
    }
