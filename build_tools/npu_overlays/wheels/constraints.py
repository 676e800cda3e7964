"""Constraints: a stack → its constraints file, and such a file → its pins of our wheels and its mistakes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from npu_doctor.knowledge import load as load_knowledge
from npu_doctor.stacks import CPU_INDEX, Catalogue, Component, Stack, constraints_name
from npu_overlays.errors import OutputError, Problem
from npu_overlays.overlay.stack_requirements import ON_INDEX, distribution
from npu_summary.versions import local_parts

FIX = "build again: it is written anew"
_OURS = "# of {overlay}:"
_NOT_OURS = "# not built beside this file: {overlay}"


def constraints_text(stack: Stack, catalogue: Catalogue, ours: Mapping[str, Sequence[str]]) -> str:
    """Return the constraints file of a stack, with comments for what a constraint cannot express.

    Args:
        stack: the stack.
        catalogue: the names the index knows the components by.
        ours: by the name of an overlay, the pins of its wheel and companion, where they lie beside the file. Without
            them installers may take another build of the same version, or upstream's.
    """
    lines = [f"# {stack.title.get('en', stack.name)}", *_origin(stack)]
    for overlay in stack.overlays:
        pins = ours.get(overlay, ())
        header = _OURS if pins else _NOT_OURS
        lines += [header.format(overlay=overlay), *pins]
    lines += _index_pins(stack, catalogue)
    lines += stack.constraints
    for component in stack.components:
        if component.install == "git":
            lines.append(f"# not on the index: {_description(component)}")
    for name in stack.absent:
        lines.append(f"# must not be installed: {name}")
    return "\n".join(lines) + "\n"


def _origin(stack: Stack) -> Iterator[str]:
    """Yield comments: the system a stack is for, its source, and its contradictions."""
    if stack.components:
        system = [f"{one.name.upper()} {one.version}" for one in stack.components if one.install == "system"]
        yield f"# Python {stack.python}; {', '.join(system)}"
        yield f"# from: {stack.source}"
    if stack.record:
        yield "# Kept as published. It contradicts itself:"
        for one in stack.contradictions:
            yield f"# - {one.says['en']} Instead: {one.instead['en']}. ({one.source})"


def _index_pins(stack: Stack, catalogue: Catalogue) -> list[str]:
    lines: list[str] = []
    for component in stack.components:
        if component.install in ON_INDEX:
            lines += _constraint(component, catalogue)
    return ["# of the index:", *lines] if lines else []


def _constraint(component: Component, catalogue: Catalogue) -> list[str]:
    name = distribution(component, catalogue)
    if component.name == "torch":
        # Without the local version pip could take a CUDA build on x86, which torch_npu refuses.
        x86 = 'platform_machine == "x86_64"'
        return [
            f"# on x86 of {CPU_INDEX}, or as a wheel by --find-links; else pip says: conflicting dependencies",
            f"{name}=={component.version}+cpu ; {x86}",
            f"{name}=={component.version} ; {x86.replace('==', '!=')}",
        ]
    return [f"{name}=={component.version}" if component.version else f"{name}{component.allow}"]


def _description(component: Component) -> str:
    revision = component.commit or component.tag
    source = f"{component.repository}@{revision}" if revision else component.repository
    return " ".join(filter(None, [component.name, component.version, f"from {source}" if source else ""]))


def own_pins(text: str) -> dict[str, list[str]]:
    """Return the pins of our own wheels in a constraints file, by the name of their overlay."""
    pattern = re.escape(_OURS).replace(re.escape("{overlay}"), r"(\S+)")
    found = re.findall(rf"^{pattern}\n((?:[^#\n]+\n)*)", text, re.MULTILINE)
    return {overlay: pins.splitlines() for overlay, pins in found}


def combined(earlier: str, text: str) -> str:
    """Return a constraints file with the pins of an earlier one of the same stack for wheels that it does not pin."""
    for overlay, pins in own_pins(earlier).items():
        section = "\n".join([_OURS.format(overlay=overlay), *pins])
        text = text.replace(f"{_NOT_OURS.format(overlay=overlay)}\n", f"{section}\n")
    return text


def stack_of(file: Path) -> Stack | None:
    """Return the stack that a constraints file is named after; None if it is unknown here."""
    return next((one for one in load_knowledge().stacks if constraints_name(one.name) == file.name), None)


def read_constraints(file: Path, *, fix: str = FIX) -> str:
    """Return the text of a constraints file; raises `OutputError` if it cannot be read, is empty, or was cut off."""
    try:
        text = file.read_text("utf-8")
    except OSError as error:
        raise OutputError(Problem(where=str(file), what=f"cannot be read: {error.strerror}", fix=fix)) from error
    except UnicodeDecodeError as error:
        raise OutputError(Problem(where=str(file), what=f"is not UTF-8: {error}", fix=fix)) from error
    if not text.endswith("\n"):
        what = "is cut off: its last line has no end" if text else "is empty"
        raise OutputError(Problem(where=str(file), what=what, fix=fix))
    return text


def mistakes(file: Path, text: str) -> list[Problem]:
    """Return where a constraints file differs from its stack, and its pins that are no requirements.

    Args:
        file: its path; if its stack is unknown here, only the pins are checked.
        text: its content.
    """
    problems = []
    pins, stack = own_pins(text), stack_of(file)
    if stack and text != constraints_text(stack, load_knowledge(), pins):
        what = f"differs from what npu-overlays writes for the stack {stack.name}"
        problems.append(Problem(where=str(file), what=what, fix=FIX))
    for pin in _pin_lines(text):
        if not _requirement(pin):
            problems.append(Problem(where=str(file), what=f"{pin!r} is no requirement", fix=FIX))
    return problems


def pinned(text: str) -> tuple[Requirement, ...]:
    """Return the pins of our own wheels and companions in a constraints file; other lines are left out."""
    return tuple(filter(None, map(_requirement, _pin_lines(text))))


def _pin_lines(text: str) -> list[str]:
    lines: list[str] = []
    for pins in own_pins(text).values():
        lines += pins
    return lines


def _requirement(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def older(text: str, than: str) -> tuple[Requirement, ...]:
    """Return the pins of our own wheels that are older than those of the same wheels in another constraints file."""
    others = _versions(than)
    found = []
    for name, (version, pin) in _versions(text).items():
        if name in others and version < others[name][0]:
            found.append(pin)
    return tuple(found)


def _versions(text: str) -> dict[str, tuple[Version, Requirement]]:
    """Return version and pin by normalized name, without the part that names upstream's bytes: it has no order."""
    found: dict[str, tuple[Version, Requirement]] = {}
    for pin in pinned(text):
        for one in pin.specifier:
            if one.operator == "==" and not one.version.endswith(".*"):
                version = one.version.removesuffix(f".{local_parts(one.version).get('bytes', '')}")
                found[canonicalize_name(pin.name)] = Version(version), pin
    return found
