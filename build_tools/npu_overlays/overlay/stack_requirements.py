"""Stack requirements: a stack → its requirements for pip, and the extras of a wheel."""

from __future__ import annotations

import re
from collections.abc import Iterable

from packaging.version import Version

from npu_doctor.stacks import Catalogue, Component, Stack

BASE = "npu"
DOCTOR = "doctor"  # the extra that brings npu-doctor
ON_INDEX = ("index", "source")


def distribution(component: Component, catalogue: Catalogue) -> str:
    """Return the name the index knows a component by."""
    name: str = catalogue.settings.get("distributions", {}).get(component.name, component.name.replace("_", "-"))
    return name


def requirement(component: Component, catalogue: Catalogue) -> str:
    """Return a component as a requirement."""
    extra = f"[{component.extra}]" if component.extra else ""
    version = f"=={component.version}" if component.version else component.allow
    return f"{distribution(component, catalogue)}{extra}{version}"


def extras(stack: Stack, catalogue: Catalogue) -> dict[str, list[str]]:
    """Return the extras a stack gives verl-npu.

    Args:
        stack: the stack; components that only git has cannot stand in a wheel's metadata and are left out.
        catalogue: the names the index knows the components by.

    Returns:
        Requirements by extra: ``npu`` holds the base, and every other extra holds it too, so that each can be
        installed alone, and two of different stacks conflict instead of mixing.
    """
    if not stack.components:
        return {}
    modules = dict.fromkeys(catalogue.settings.get("cann_modules", {}).values())
    base = [*_group(stack, BASE, catalogue), *modules]
    found = {BASE: base}
    for component in stack.components:
        if component.group and component.group not in found:
            found[component.group] = [*base, *_group(stack, component.group, catalogue)]
    return found


def _group(stack: Stack, name: str, catalogue: Catalogue) -> list[str]:
    found = []
    for component in stack.components:
        # A requirement brings dependencies, so what must be installed without them cannot be one.
        askable = component.install in ON_INDEX and "--no-deps" not in component.options
        if component.group == name and askable:
            found.append(requirement(component, catalogue))
    return found


def extras_of_overlay(overlay: str, catalogue: Catalogue) -> dict[str, list[str]]:
    """Return the extras of the wheel of an overlay: those of its consistent stacks, newest torch first.

    A stack kept as a record contradicts itself, so a wheel never asks for it.
    """
    stacks = [stack for stack in catalogue.stacks if overlay in stack.overlays and not stack.record]
    merged: dict[str, list[str]] = {}
    for stack in sorted(stacks, key=_torch_version, reverse=True):
        merged = {**extras(stack, catalogue), **merged}
    return dict(sorted(merged.items()))


def base_requirements(stack: Stack, catalogue: Catalogue, *, doctor: bool) -> list[str]:
    """Return what an installer is given, beside the constraints of a stack, to install its wheels and its base.

    Args:
        stack: the stack; the wheel of its last overlay requires the others.
        catalogue: all stacks. Those of one overlay share a wheel and its extras.
        doctor: whether npu-doctor is installed too.

    Returns:
        The wheel with its extra ``npu``. If this extra holds the pins of another stack, the wheel and the names of
        what the base consists of: the constraints pin them.
    """
    wheel = f"{stack.overlays[-1].partition('@')[0]}-npu"
    base = extras(stack, catalogue).get(BASE, [])
    names, parts = [DOCTOR] if doctor else [], []
    if BASE in fitting_extras(stack, catalogue):
        names = [BASE, *names]
    else:
        parts = [re.split("[<>=!~]", text, maxsplit=1)[0] for text in base]
    return [f"{wheel}[{','.join(names)}]" if names else wheel, *parts]


def fitting_extras(stack: Stack, catalogue: Catalogue) -> list[str]:
    """Return the extras of the wheel of a stack's last overlay that hold the pins of this stack."""
    built = extras_of_overlay(stack.overlays[-1], catalogue)
    return [name for name, pins in extras(stack, catalogue).items() if built.get(name) == pins]


def _torch_version(stack: Stack) -> Version:
    torch = stack.component("torch")
    return Version(torch.version if torch else "0")


def without_extras(requires: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return upstream's requirements without those of extras that a stack replaces.

    Upstream's own ``vllm`` and ``sglang`` ask for versions and a torch that no stack has.
    """
    conditions = "|".join(rf"extra\s*==\s*[\"']{re.escape(name)}[\"']" for name in names)
    replaced = re.compile(conditions or r"(?!)")
    return [text for text in requires if not replaced.search(text.partition(";")[2])]
