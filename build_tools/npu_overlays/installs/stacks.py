"""Installs: a stack in, extras of the wheel, a constraints file and commands out, all from the doctor's data."""

from __future__ import annotations

import re
from collections.abc import Iterable

from npu_doctor.data import Knowledge
from npu_doctor.stacks import Pin, Stack

# PyTorch's own index: the only place that has what torch_npu's x86 wheels require.
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
BASE = "npu"
DOCTOR = "doctor"  # the extra that brings npu-doctor
_ON_INDEX = ("index", "source")
_ORDER = {"source": 0, "git": 1, "index": 2}  # engines before what is built against them


def distribution(pin: Pin, knowledge: Knowledge) -> str:
    """Return the name the index knows a component by."""
    name: str = knowledge.settings["distributions"].get(pin.name, pin.name.replace("_", "-"))
    return name


def requirement(pin: Pin, knowledge: Knowledge) -> str:
    """Return a pin as a requirement."""
    extra = f"[{pin.extra}]" if pin.extra else ""
    return f"{distribution(pin, knowledge)}{extra}{f'=={pin.version}' if pin.version else pin.allow}"


def extras(stack: Stack, knowledge: Knowledge) -> dict[str, list[str]]:
    """Return the extras a stack gives verl-npu.

    Args:
        stack: the stack; pins that only git has cannot stand in a wheel's metadata and are left out.
        knowledge: the names the index knows the components by.

    Returns:
        Requirements by extra: ``npu`` holds the base, and every other extra holds it too, so that each of them can be
        asked for alone and two of different stacks are refused together instead of mixed.
    """
    modules = dict.fromkeys(knowledge.settings["cann_modules"].values())
    base = [*_group(stack, BASE, knowledge), *modules]
    names = dict.fromkeys(pin.group for pin in stack.pins if pin.group and pin.group != BASE)
    return {BASE: base, **{name: [*base, *_group(stack, name, knowledge)] for name in names}}


def _group(stack: Stack, name: str, knowledge: Knowledge) -> list[str]:
    return [requirement(pin, knowledge) for pin in stack.pins if pin.group == name and pin.install in _ON_INDEX]


def extras_of_overlay(overlay: str, knowledge: Knowledge) -> dict[str, list[str]]:
    """Return the extras of the wheel of an overlay: those of its consistent stacks, the first named one first.

    A stack kept as a record contradicts itself, so a wheel never asks for it.
    """
    merged: dict[str, list[str]] = {}
    for stack in stacks_of((overlay,), knowledge):
        if not stack.record:
            merged = {**extras(stack, knowledge), **merged}
    return dict(sorted(merged.items()))


def without_extras(requires: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return upstream's requirements without those of extras that a stack takes the place of.

    Upstream's own ``vllm`` and ``sglang`` ask for versions and a torch that no stack has.
    """
    replaced = re.compile("|".join(rf"extra\s*==\s*[\"']{re.escape(name)}[\"']" for name in names) or r"(?!)")
    return [text for text in requires if not replaced.search(text.partition(";")[2])]


def stacks_of(overlays: Iterable[str], knowledge: Knowledge) -> list[Stack]:
    """Return the stacks that go with any of the overlays, in the order of the data."""
    wanted = set(overlays)
    return [stack for stack in knowledge.stacks if wanted & set(stack.overlays)]


def constraints_name(stack: Stack) -> str:
    """Return the name of a stack's constraints file."""
    return f"constraints-{stack.name}.txt"


def constraints(stack: Stack, knowledge: Knowledge) -> str:
    """Return the constraints file of a stack; what a constraint cannot say stands in it as a comment."""
    lines = [
        f"# {stack.title['en']}",
        f"# Python {stack.python}; {', '.join(_system(stack))}",
        f"# from: {stack.source}",
    ]
    if stack.record:
        lines.append("# Kept as published. It contradicts itself:")
        lines += [f"# - {one.says['en']} Instead: {one.instead['en']}. ({one.source})" for one in stack.contradictions]
    pins = [pin for pin in stack.pins if pin.install in _ON_INDEX]
    lines += [line for pin in pins for line in _constraint(pin, knowledge)]
    lines += list(stack.constraints)
    lines += [f"# not on the index: {described(pin)}" for pin in stack.pins if pin.install == "git"]
    lines += [f"# must not be installed: {name}" for name in stack.absent]
    return "\n".join(lines) + "\n"


def _system(stack: Stack) -> list[str]:
    return [f"{pin.name.upper()} {pin.version}" for pin in stack.pins if pin.install == "system"]


def _constraint(pin: Pin, knowledge: Knowledge) -> list[str]:
    name = distribution(pin, knowledge)
    if pin.name == "torch":
        # Without the local version pip could take a CUDA build on x86, which torch_npu refuses.
        x86 = 'platform_machine == "x86_64"'
        return [f"{name}=={pin.version}+cpu ; {x86}", f"{name}=={pin.version} ; {x86.replace('==', '!=')}"]
    return [f"{name}=={pin.version}" if pin.version else f"{name}{pin.allow}"]


def described(pin: Pin) -> str:
    """Return what a pin says, for people."""
    revision = pin.commit or pin.tag
    source = f"{pin.repository}@{revision}" if revision else pin.repository
    return " ".join(filter(None, [pin.name, pin.version, f"from {source}" if source else ""]))


def commands(stack: Stack, knowledge: Knowledge, *, x86: bool = False) -> list[str]:
    """Return the shell commands that install a consistent stack, in their order.

    Args:
        stack: the stack.
        knowledge: the names the index knows the components by.
        x86: whether for x86, where torch comes from PyTorch's own index.
    """
    file = constraints_name(stack)
    given = f"-c {file}" + (f" --extra-index-url {CPU_INDEX}" if x86 else "")
    lines = [
        "source /usr/local/Ascend/ascend-toolkit/set_env.sh",
        f"python{stack.python} -m venv npu && source npu/bin/activate",
        "source /usr/local/Ascend/nnal/atb/set_env.sh",
        f"pip install {given} --find-links wheels 'verl-npu[{BASE},{DOCTOR}]'",
    ]
    built = [pin for pin in stack.pins if pin.group and pin.group != BASE]
    for pin in sorted(built, key=lambda pin: _ORDER[pin.install]):
        lines += _install(pin, given, knowledge)
    lines += _removals(stack, knowledge)
    return [*lines, "python -I -m verl_npu_summary --verify", f"python -I -m npu_doctor --stack {stack.name}"]


def _install(pin: Pin, given: str, knowledge: Knowledge) -> list[str]:
    env = "".join(f"{key}={value} " for key, value in pin.env.items())
    options = f"{pin.options} " if pin.options else ""
    if pin.install == "index":
        return [f"{env}pip install {given} {options}'{requirement(pin, knowledge)}'", *pin.commands]
    if pin.commands:
        return list(pin.commands)
    revision = pin.commit or pin.tag
    target = f"{distribution(pin, knowledge)} @ git+{pin.repository}{f'@{revision}' if revision else ''}"
    return [f"{env}pip install {given} {options}'{target}'"]


def _removals(stack: Stack, knowledge: Knowledge) -> list[str]:
    """Return the commands that remove what must not be there; triton takes files of triton-ascend with it."""
    lines = [f"pip uninstall -y {' '.join(stack.absent)}"] if stack.absent else []
    ours = stack.pin("triton_ascend")
    if "triton" in stack.absent and ours is not None and ours.install == "index":
        lines.append(f"pip install --force-reinstall --no-deps '{requirement(ours, knowledge)}'")
    return lines
