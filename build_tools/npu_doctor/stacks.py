"""Stacks: a folder of JSON files → versions that belong together and the overlays made for them; all mistakes at once.

One stack is one file, named after it. The doctor holds machines against them; the build tool takes from the same files
which overlays to build together, the extras of their wheels, constraints, and the install page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from npu_doctor.jsonfiles import DataError, DataMistake, decode_all, read_object

# PyTorch's own index: the only place that has what torch_npu's x86 wheels require.
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
INSTALLS = ("system", "index", "source", "git", "overlay")


@dataclass(frozen=True, kw_only=True)
class Component:
    """One component of a stack."""

    name: str  # the component: ``torch_npu``, ``cann``
    version: str = ""  # its version
    # ``system``, ``index``, ``source`` (an sdist of the index, to be built), ``git`` or ``overlay``.
    install: str = "index"
    group: str = ""  # the extra it belongs to, empty for none
    allow: str = ""  # range under which it is still compatible
    repository: str = ""  # for git
    commit: str = ""  # for git
    tag: str = ""  # for git, the tag or branch that was named
    extra: str = ""  # its own extra that is wanted
    env: Mapping[str, str] = field(default_factory=dict)  # variables to set while it is built
    options: str = ""  # options of pip to build it with
    prepare: Mapping[str, str] = field(default_factory=dict)  # what a person does before it is installed, by language
    commands: tuple[str, ...] = ()  # how it is installed where pip alone does not do it
    wheels: tuple[str, ...] = ()  # machines the index has wheels for
    source: str = ""  # where its version comes from
    note: Mapping[str, str] = field(default_factory=dict)  # what to know, ``{"en": …, "zh": …}``


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """Two statements about a stack that cannot both hold, and where they stand."""

    components: tuple[str, ...]
    says: Mapping[str, str]
    instead: Mapping[str, str]
    source: str


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A set of versions that was published together, or the nearest one that holds, and the overlays made for it."""

    name: str  # what ``--stack`` takes, and its file is called after
    overlays: tuple[str, ...]  # what is built for it, in building order
    default: bool = False  # whether it is the one that is built when nothing is named
    record: bool = False  # whether its components are as published, contradictions and all
    variant_of: str = ""  # for a consistent variant, the record it stands beside
    title: Mapping[str, str] = field(default_factory=dict)  # one line, by language
    source: str = ""  # where the record was published
    python: str = ""  # version of Python
    components: tuple[Component, ...] = ()  # what it is made of beside the overlays
    absent: tuple[str, ...] = ()  # distributions that must not be installed
    constraints: tuple[str, ...] = ()  # further ranges for the resolver
    contradictions: tuple[Contradiction, ...] = ()  # what does not fit, with sources

    def component(self, name: str) -> Component | None:
        """Return a component."""
        return next((one for one in self.components if one.name == name), None)


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """Stacks, and what holds for all of them."""

    stacks: tuple[Stack, ...] = ()  # the default one first, then by name
    # The content of ``environment.json``: names of distributions, modules CANN needs, and more.
    settings: Mapping[str, Any] = field(default_factory=dict)


def constraints_name(stack: str) -> str:
    """Return the name of the constraints file of a stack, by the stack's name."""
    return f"constraints-{stack}.txt"


def read_stacks(folder: Path) -> tuple[Stack, ...]:
    """Return the stacks of a folder, the default one first; raises `DataError` with the mistakes of all files."""

    def named(file: Path) -> dict[str, Any]:
        return {**read_object(file), "name": file.stem}

    mistakes: list[DataMistake] = []
    stacks = decode_all(Stack, sorted(folder.glob("*.json")), named, unknown_installs, mistakes)
    mistakes += _disagreements(folder, stacks)
    if mistakes:
        raise DataError(mistakes)
    return tuple(sorted(stacks, key=lambda one: (not one.default, one.name)))


def unknown_installs(stack: Stack, prefix: str) -> Iterator[DataMistake]:
    """Yield each component of a stack that says no known way to install it."""
    for number, one in enumerate(stack.components):
        if one.install not in INSTALLS:
            where, what = f"{prefix}components[{number}].install", f"`{one.install}` is no way to install something"
            yield DataMistake(where=where, what=what, fix=f"write one of {', '.join(INSTALLS)}")


def _disagreements(folder: Path, stacks: list[Stack]) -> Iterator[DataMistake]:
    """Yield where stacks do not fit each other."""
    names = [one.name for one in stacks]
    defaults = [one.name for one in stacks if one.default]
    if len(defaults) > 1:
        yield DataMistake(
            where=str(folder),
            what=f"several stacks are the default: {', '.join(defaults)}",
            fix='keep "default" in one of them',
        )
    for one in stacks:
        if one.variant_of and one.variant_of not in names:
            where, what = f"{folder / one.name}.json: variant_of", f"there is no stack `{one.variant_of}`"
            yield DataMistake(where=where, what=what, fix=f"name one of {', '.join(names)}")
