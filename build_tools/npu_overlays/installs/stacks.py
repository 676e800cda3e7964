"""Installs: a stack in, extras of the wheel, a constraints file and commands out, all from the same data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from packaging.version import Version

from npu_doctor.stacks import CPU_INDEX, Catalogue, Component, Stack, constraints_name

BASE = "npu"
DOCTOR = "doctor"  # the extra that brings npu-doctor
_ON_INDEX = ("index", "source")
_OURS = "# of {overlay}:"
_NOT_OURS = "# not built beside this file: {overlay}"
_ORDER = {"source": 0, "git": 1, "index": 2}  # engines before what is built against them


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
        Requirements by extra: ``npu`` holds the base, and every other extra holds it too, so that each of them can be
        asked for alone and two of different stacks are refused together instead of mixed.
    """
    if not stack.components:
        return {}
    modules = dict.fromkeys(catalogue.settings.get("cann_modules", {}).values())
    base = [*_group(stack, BASE, catalogue), *modules]
    names = dict.fromkeys(
        component.group for component in stack.components if component.group and component.group != BASE
    )
    return {BASE: base, **{name: [*base, *_group(stack, name, catalogue)] for name in names}}


def _group(stack: Stack, name: str, catalogue: Catalogue) -> list[str]:
    return [
        requirement(component, catalogue)
        for component in stack.components
        # What is installed without its dependencies cannot be asked for: a requirement brings them.
        if component.group == name and component.install in _ON_INDEX and "--no-deps" not in component.options
    ]


def extras_of_overlay(overlay: str, catalogue: Catalogue) -> dict[str, list[str]]:
    """Return the extras of the wheel of an overlay: those of its consistent stacks, newest torch first.

    A stack kept as a record contradicts itself, so a wheel never asks for it.
    """
    merged: dict[str, list[str]] = {}
    for stack in sorted(stacks_of((overlay,), catalogue), key=_torch, reverse=True):
        if not stack.record:
            merged = {**extras(stack, catalogue), **merged}
    return dict(sorted(merged.items()))


def _torch(stack: Stack) -> Version:
    torch = stack.component("torch")
    return Version(torch.version if torch else "0")


def without_extras(requires: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return upstream's requirements without those of extras that a stack takes the place of.

    Upstream's own ``vllm`` and ``sglang`` ask for versions and a torch that no stack has.
    """
    replaced = re.compile("|".join(rf"extra\s*==\s*[\"']{re.escape(name)}[\"']" for name in names) or r"(?!)")
    return [text for text in requires if not replaced.search(text.partition(";")[2])]


def stacks_of(overlays: Iterable[str], catalogue: Catalogue) -> list[Stack]:
    """Return the stacks that go with any of the overlays, in the order of the data."""
    wanted = set(overlays)
    return [stack for stack in catalogue.stacks if wanted & set(stack.overlays)]


def constraints(stack: Stack, catalogue: Catalogue, ours: Mapping[str, Sequence[str]]) -> str:
    """Return the constraints file of a stack; what a constraint cannot say stands in it as a comment.

    Args:
        stack: the stack.
        catalogue: the names the index knows the components by.
        ours: by the name of an overlay, the pins of its wheel and companion, where they lie beside the file. Without
            them installers may take another build of the same version, or upstream's.
    """
    lines = [f"# {stack.title.get('en', stack.name)}"]
    if stack.components:
        lines += [f"# Python {stack.python}; {', '.join(_system(stack))}", f"# from: {stack.source}"]
    if stack.record:
        lines.append("# Kept as published. It contradicts itself:")
        lines += [f"# - {one.says['en']} Instead: {one.instead['en']}. ({one.source})" for one in stack.contradictions]
    for overlay in stack.overlays:
        own = ours.get(overlay, ())
        lines += [_OURS.format(overlay=overlay), *own] if own else [_NOT_OURS.format(overlay=overlay)]
    pins = [component for component in stack.components if component.install in _ON_INDEX]
    lines += ["# of the index:"] if pins else []
    lines += [line for component in pins for line in _constraint(component, catalogue)]
    lines += list(stack.constraints)
    lines += [
        f"# not on the index: {described(component)}" for component in stack.components if component.install == "git"
    ]
    lines += [f"# must not be installed: {name}" for name in stack.absent]
    return "\n".join(lines) + "\n"


def own_pins(text: str) -> dict[str, list[str]]:
    """Return what a constraints file says of our own wheels: by the name of the overlay, the pins below it."""
    pattern = re.escape(_OURS).replace(re.escape("{overlay}"), r"(\S+)")
    found = re.findall(rf"^{pattern}\n((?:[^#\n]+\n)*)", text, re.MULTILINE)
    return {overlay: pins.splitlines() for overlay, pins in found}


def combined(texts: Sequence[str]) -> str:
    """Return one constraints file of several of a stack, which were written beside different wheels of ours.

    Args:
        texts: the files, the one to be believed most last; what that has no pins of is pinned as the others say.
    """
    text = texts[-1]
    for overlay, pins in {name: own for one in texts for name, own in own_pins(one).items()}.items():
        said = "\n".join([_OURS.format(overlay=overlay), *pins])
        text = text.replace(f"{_NOT_OURS.format(overlay=overlay)}\n", f"{said}\n")
    return text


def _system(stack: Stack) -> list[str]:
    return [
        f"{component.name.upper()} {component.version}"
        for component in stack.components
        if component.install == "system"
    ]


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


def described(component: Component) -> str:
    """Return what a component says, for people."""
    revision = component.commit or component.tag
    source = f"{component.repository}@{revision}" if revision else component.repository
    return " ".join(filter(None, [component.name, component.version, f"from {source}" if source else ""]))


def commands(stack: Stack, catalogue: Catalogue, *, x86: bool = False) -> list[str]:
    """Return the shell commands that install a consistent stack, in their order.

    Args:
        stack: the stack.
        catalogue: the names the index knows the components by.
        x86: whether for x86, where torch comes from PyTorch's own index.
    """
    file = constraints_name(stack.name)
    given = f"-c {file}" + (f" --extra-index-url {CPU_INDEX}" if x86 else "")
    lines = [
        "source /usr/local/Ascend/ascend-toolkit/set_env.sh",
        f"python{stack.python} -m venv npu && source npu/bin/activate",
        "source /usr/local/Ascend/nnal/atb/set_env.sh",
        f"pip install {given} --find-links wheels 'verl-npu[{BASE},{DOCTOR}]'",
    ]
    built = [component for component in stack.components if component.group and component.group != BASE]
    for component in sorted(built, key=lambda component: _ORDER[component.install]):
        lines += _install(component, given, catalogue)
    lines += _removals(stack, catalogue)
    return [*lines, "python -I -m verl_npu_summary --verify", f"python -I -m npu_doctor --stack {stack.name}"]


def _install(component: Component, given: str, catalogue: Catalogue) -> list[str]:
    env = "".join(f"{key}={value} " for key, value in component.env.items())
    options = f"{component.options} " if component.options else ""
    if component.install == "index":
        return [f"{env}pip install {given} {options}'{requirement(component, catalogue)}'", *component.commands]
    if component.commands:
        return list(component.commands)
    revision = component.commit or component.tag
    target = f"{distribution(component, catalogue)} @ git+{component.repository}{f'@{revision}' if revision else ''}"
    return [f"{env}pip install {given} {options}'{target}'"]


def _removals(stack: Stack, catalogue: Catalogue) -> list[str]:
    """Return the commands that remove what must not be there; triton takes files of triton-ascend with it."""
    lines = [f"pip uninstall -y {' '.join(stack.absent)}"] if stack.absent else []
    ours = stack.component("triton_ascend")
    if "triton" in stack.absent and ours is not None:
        installed = (one for one in _install(ours, "--no-deps", catalogue) if one.startswith("pip install "))
        lines += [one.replace("pip install ", "pip install --force-reinstall ", 1) for one in installed]
    return lines
