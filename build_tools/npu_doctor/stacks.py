"""Stacks: JSON in, sets of versions that belong together, their pins and contradictions out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Pin:
    """One component of a stack.

    Args:
        name: the component: ``torch_npu``, ``cann``.
        version: its version.
        install: ``system``, ``index``, ``source`` (an sdist of the index, to be built), ``git`` or ``overlay``.
        group: the extra it belongs to, empty for none.
        allow: range under which it is still compatible.
        repository: for git.
        commit: for git.
        tag: for git, the tag or branch that was named.
        extra: its own extra that is wanted.
        env: variables to set while it is built.
        options: options of pip to build it with.
        commands: how it is installed where pip alone does not do it.
        wheels: machines the index has wheels for.
        source: where the pin comes from.
        note: what to know, ``{"en": …, "zh": …}``.
    """

    name: str
    version: str = ""
    install: str = "index"
    group: str = ""
    allow: str = ""
    repository: str = ""
    commit: str = ""
    tag: str = ""
    extra: str = ""
    env: Mapping[str, str]
    options: str = ""
    commands: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()
    source: str = ""
    note: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """Two statements about a stack that cannot both hold, and where they stand."""

    components: tuple[str, ...]
    says: Mapping[str, str]
    instead: Mapping[str, str]
    source: str


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A set of versions that was published together, or the nearest one that holds.

    Args:
        name: what ``--stack`` takes.
        record: whether these are pins as published, contradictions and all.
        variant_of: for a consistent variant, the record it stands beside.
        title: one line, by language.
        source: where the record was published.
        python: version of Python.
        overlays: the wheels that go with it.
        pins: its components.
        absent: distributions that must not be installed.
        constraints: further ranges for the resolver.
        contradictions: what does not fit, with sources.
    """

    name: str
    record: bool
    variant_of: str
    title: Mapping[str, str]
    source: str
    python: str
    overlays: tuple[str, ...]
    pins: tuple[Pin, ...]
    absent: tuple[str, ...]
    constraints: tuple[str, ...]
    contradictions: tuple[Contradiction, ...]

    def pin(self, name: str) -> Pin | None:
        """Return a component's pin."""
        return next((pin for pin in self.pins if pin.name == name), None)


def stack(item: dict[str, Any]) -> Stack:
    """Return a stack from its JSON; raises `TypeError` where it has a field that no stack has."""
    own = {"pins", "contradictions"}
    lists = {name: tuple(item.get(name, ())) for name in ("overlays", "absent", "constraints")}
    return Stack(
        **{
            "record": False,
            "variant_of": "",
            **{key: value for key, value in item.items() if key not in own},
            **lists,
            "pins": tuple(_pin(pin) for pin in item["pins"]),
            "contradictions": tuple(
                Contradiction(**{**one, "components": tuple(one["components"])})
                for one in item.get("contradictions", ())
            ),
        }
    )


def _pin(item: dict[str, Any]) -> Pin:
    lists = {name: tuple(item.get(name, ())) for name in ("wheels", "commands")}
    return Pin(**{"env": {}, "note": {}, **item, **lists})
