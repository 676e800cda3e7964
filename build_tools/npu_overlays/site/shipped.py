"""Shipped: folders of wheels → those that are patched, with their changes and diffs, and the stacks they make up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import parse_wheel_filename

from npu_doctor.stacks import Catalogue, Stack, constraints_name
from npu_overlays.errors import OutputError, OverlayError, Problem
from npu_overlays.installs.stacks import own_pins
from npu_overlays.progress import step
from npu_overlays.site.difference import difference
from npu_overlays.wheels.inspection import carries_summary, read_record, wheel_page, wheel_summary
from npu_summary import outline, page

if TYPE_CHECKING:
    from npu_summary.changes import Changes
    from npu_summary.page.diff import Hunks

_DOCTOR = "npu_doctor-*.whl"


@dataclass(frozen=True, kw_only=True, eq=False)
class Patched:
    """A patched wheel.

    Args:
        file: where it lies.
        changes: what its summary says.
        diff: as it carries it.
        summary: its page.
    """

    file: Path
    changes: Changes
    diff: bytes
    summary: bytes

    @property
    def name(self) -> str:
        """Its distribution."""
        return self.changes["distribution"]["name"]

    @property
    def version(self) -> str:
        """Its version."""
        return self.changes["distribution"]["version"]

    @property
    def title(self) -> str:
        """Both."""
        return f"{self.name} {self.version}"

    @property
    def pin(self) -> str:
        """It, as constraints ask for it."""
        return f"{self.name}=={self.version}"

    @property
    def slug(self) -> str:
        """Its name in addresses."""
        return re.sub(r"[^a-z0-9.-]+", "-", f"{self.name}-{self.version}".lower())

    @property
    def count(self) -> int:
        """How many changes it has."""
        return sum(map(outline.count, self.changes["files"]))

    @cached_property
    def hunks(self) -> dict[str, Hunks]:
        """Its diff by file."""
        return page.parse(self.diff, self.changes)

    @cached_property
    def diffs(self) -> dict[str, str]:
        """The same as markup, in colours; empty where there is nothing to show."""
        return {path: difference(path, hunks) for path, hunks in self.hunks.items()}


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A stack all of whose wheels are there.

    Args:
        stack: the stack.
        wheels: those that its constraints name, the one to ask for last.
    """

    stack: Stack
    wheels: tuple[Patched, ...]


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """All that is shipped.

    Args:
        wheels: the patched ones, the newest version of each first.
        offers: stacks that can be installed of them.
        missing: the other ones that fit.
        doctor: whether npu-doctor is there.
    """

    wheels: tuple[Patched, ...] = ()
    offers: tuple[Offer, ...] = ()
    missing: tuple[Stack, ...] = ()
    doctor: bool = False

    def stacks_of(self, wheel: Patched) -> list[Stack]:
        """Return the stacks that name a wheel."""
        return [offer.stack for offer in self.offers if wheel in offer.wheels]


def read_shelf(folders: Sequence[Path], catalogue: Catalogue) -> Shelf:
    """Return what lies in some folders; raises `OutputError` with everything that cannot be read."""
    files = {file.name: file for folder in folders for file in sorted(folder.glob("*.whl"))}
    problems: list[Problem] = []
    wheels = [wheel for file in files.values() if (wheel := _read(file, problems))]
    if problems:
        raise OutputError(problems)
    wheels.sort(key=lambda one: parse_wheel_filename(one.file.name)[1], reverse=True)
    wheels.sort(key=lambda one: one.name)
    consistent = [stack for stack in catalogue.stacks if not stack.record]
    offers = [offer for stack in consistent if (offer := _offer(stack, folders, wheels))]
    offered = [offer.stack for offer in offers]
    return Shelf(
        wheels=tuple(wheels),
        offers=tuple(offers),
        missing=tuple(stack for stack in consistent if stack not in offered),
        doctor=any(True for folder in folders for _ in folder.glob(_DOCTOR)),
    )


def _read(file: Path, problems: list[Problem]) -> Patched | None:
    """Return a patched wheel, None where it is another; what is wrong is added to `problems`."""
    step(f"reading {file.name}")
    try:
        if not carries_summary(file):
            return None
        diff = wheel_summary(file, diff=True).encode("utf-8", "surrogateescape")
        return Patched(file=file, changes=read_record(file), diff=diff, summary=wheel_page(file))
    except OverlayError as error:
        problems += error.problems
        return None


def _offer(stack: Stack, folders: Iterable[Path], wheels: Sequence[Patched]) -> Offer | None:
    by_pin = {wheel.pin: wheel for wheel in wheels}
    for file in (folder / constraints_name(stack.name) for folder in folders):
        pins = own_pins(file.read_text("utf-8", errors="replace")) if file.is_file() else {}
        found = [by_pin.get(pin) for overlay in stack.overlays for pin in pins.get(overlay, ("",))[:1]]
        if found and all(found):
            return Offer(stack=stack, wheels=tuple(filter(None, found)))
    return None
