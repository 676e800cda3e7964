"""Pins: a constraints file → what it pins of our own wheels, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from npu_doctor.knowledge import load as load_knowledge
from npu_doctor.stacks import Stack, constraints_name
from npu_overlays.errors import OutputError, Problem
from npu_overlays.installs.stacks import constraints, own_pins
from npu_summary.versions import local_parts

FIX = "build again: it is written anew"


def stack_of(file: Path) -> Stack | None:
    """Return the known stack that a constraints file is called after."""
    return next((one for one in load_knowledge().stacks if constraints_name(one.name) == file.name), None)


def read_constraints(file: Path, *, fix: str = FIX) -> str:
    """Return the text of a constraints file; raises `OutputError` where it has none, or not to its end."""
    try:
        text = file.read_text("utf-8")
    except OSError as error:
        raise OutputError(Problem(where=str(file), what=f"cannot be read: {error.strerror}", fix=fix)) from error
    except UnicodeDecodeError as error:
        raise OutputError(Problem(where=str(file), what=f"is not UTF-8: {error}", fix=fix)) from error
    if not text.endswith("\n"):
        what = "its last line has no end: it was cut off" if text else "is empty"
        raise OutputError(Problem(where=str(file), what=what, fix=fix))
    return text


def mistakes(file: Path, text: str) -> list[Problem]:
    """Return what a constraints file says that the stack it is called after does not, and pins that are none.

    Args:
        file: where it lies; of a stack that is not known here only the pins are looked at.
        text: its content.
    """
    ours, stack = own_pins(text), stack_of(file)
    problems = []
    if stack and text != constraints(stack, load_knowledge(), ours):
        what = f"is not what npu-overlays says of the stack {stack.name}"
        problems.append(Problem(where=str(file), what=what, fix=FIX))
    pins = [pin for own in ours.values() for pin in own]
    wrong = [pin for pin in pins if not _requirement(pin)]
    return problems + [Problem(where=str(file), what=f"{pin!r} is no requirement", fix=FIX) for pin in wrong]


def pinned(text: str) -> tuple[Requirement, ...]:
    """Return the pins of our own wheels and companions in a constraints file, those that can be read."""
    return tuple(filter(None, (_requirement(pin) for own in own_pins(text).values() for pin in own)))


def _requirement(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def older(text: str, than: str) -> tuple[Requirement, ...]:
    """Return the pins of our own wheels that are older than those of the same wheels in another constraints file."""
    others = _versions(than)
    mine = _versions(text)
    return tuple(pin for name, (version, pin) in mine.items() if name in others and version < others[name][0])


def _versions(text: str) -> Mapping[str, tuple[Version, Requirement]]:
    """Return version and pin by normalized name; from which bytes of upstream a wheel was made has no order."""
    return {
        canonicalize_name(pin.name): (Version(_without_bytes(one.version)), pin)
        for pin in pinned(text)
        for one in pin.specifier
        if one.operator == "==" and not one.version.endswith(".*")
    }


def _without_bytes(version: str) -> str:
    return version.removesuffix(f".{local_parts(version).get('bytes', '')}")
