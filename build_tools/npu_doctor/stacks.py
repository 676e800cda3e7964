"""Stacks: a folder of JSON files → versions that belong together and the overlays made for them; all mistakes at once.

One stack is one file, named after it. The doctor holds machines against them; the build tool takes from the same files
which overlays to build together, the extras of their wheels, constraints, and the install page.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_origin, get_type_hints

T = TypeVar("T")

INSTALLS = ("system", "index", "source", "git", "overlay")
_KINDS = {str: "a text", bool: "true or false", tuple: "a list", Mapping: "an object"}


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """What is wrong with a file of data.

    Args:
        where: file and key.
        what: the mistake.
        fix: what to do.
    """

    where: str
    what: str
    fix: str


class DataError(ValueError):
    """Files of data are not what they should be; the message says which and what.

    Args:
        mistakes: all of them.
    """

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(f"{one.where}: {one.what}; {one.fix}" for one in self.mistakes))


@dataclass(frozen=True, kw_only=True)
class Component:
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
        source: where its version comes from.
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
    env: Mapping[str, str] = field(default_factory=dict)
    options: str = ""
    commands: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()
    source: str = ""
    note: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """Two statements about a stack that cannot both hold, and where they stand."""

    components: tuple[str, ...]
    says: Mapping[str, str]
    instead: Mapping[str, str]
    source: str


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A set of versions that was published together, or the nearest one that holds, and the overlays made for it.

    Args:
        name: what ``--stack`` takes, and its file is called after.
        overlays: what is built for it, in building order.
        default: whether it is the one that is built when nothing is named.
        record: whether its components are as published, contradictions and all.
        variant_of: for a consistent variant, the record it stands beside.
        title: one line, by language.
        source: where the record was published.
        python: version of Python.
        components: what it is made of beside the overlays.
        absent: distributions that must not be installed.
        constraints: further ranges for the resolver.
        contradictions: what does not fit, with sources.
    """

    name: str
    overlays: tuple[str, ...]
    default: bool = False
    record: bool = False
    variant_of: str = ""
    title: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    python: str = ""
    components: tuple[Component, ...] = ()
    absent: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()

    def component(self, name: str) -> Component | None:
        """Return a component."""
        return next((one for one in self.components if one.name == name), None)


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """Stacks, and what holds for all of them.

    Args:
        stacks: the default one first, then by name.
        settings: the content of ``environment.json``: names of distributions, modules CANN needs, and more.
    """

    stacks: tuple[Stack, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


def read_stacks(folder: Path) -> tuple[Stack, ...]:
    """Return the stacks of a folder, the default one first; raises `DataError` with the mistakes of all files."""
    mistakes: list[Mistake] = []
    stacks = []
    for file in sorted(folder.glob("*.json")):
        try:
            value = read_json(file)
        except DataError as error:
            mistakes += error.mistakes
            continue
        stacks.append(_stack({**value, "name": file.stem}, str(file), mistakes))
    mistakes += _disagreements(folder, [one for one in stacks if one])
    if mistakes:
        raise DataError(mistakes)
    return tuple(sorted((one for one in stacks if one), key=lambda one: (not one.default, one.name)))


def parse_stack(value: Mapping[str, Any], where: str) -> Stack:
    """Return the stack that a file of the user's holds, its name among the fields; raises `DataError`."""
    mistakes: list[Mistake] = []
    stack = _stack(value, where, mistakes)
    if stack is None or mistakes:
        raise DataError(mistakes)
    return stack


def read_json(file: Path) -> dict[str, Any]:
    """Return the object a JSON file holds; raises `DataError`."""
    try:
        value = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError([Mistake(where=str(file), what=f"cannot be read as JSON: {error}", fix="mend it")]) from error
    if not isinstance(value, dict):
        raise DataError([Mistake(where=str(file), what="not an object", fix="put its keys between { and }")])
    return value


def _disagreements(folder: Path, stacks: list[Stack]) -> Iterator[Mistake]:
    """Yield where stacks do not fit each other."""
    names = [one.name for one in stacks]
    defaults = [one.name for one in stacks if one.default]
    if len(defaults) > 1:
        yield Mistake(where=str(folder), what=f"several stacks are the default: {', '.join(defaults)}", fix="keep one")
    for one in stacks:
        if one.variant_of and one.variant_of not in names:
            where, what = f"{folder / one.name}.json: variant_of", f"there is no stack `{one.variant_of}`"
            yield Mistake(where=where, what=what, fix=f"one of: {', '.join(names)}")


def _stack(value: Mapping[str, Any], where: str, mistakes: list[Mistake]) -> Stack | None:
    components = tuple(_items(value, "components", Component, where, mistakes))
    contradictions = tuple(_items(value, "contradictions", Contradiction, where, mistakes))
    given = {**value, "components": components, "contradictions": contradictions}
    stack = _made(Stack, given, where, mistakes)
    for number, one in enumerate(components):
        if one.install not in INSTALLS:
            what = f"`{one.install}` is no way to install something"
            at = f"{where}: components[{number}].install"
            mistakes.append(Mistake(where=at, what=what, fix=f"one of: {', '.join(INSTALLS)}"))
    return stack


def _items(value: Mapping[str, Any], key: str, kind: type[T], where: str, mistakes: list[Mistake]) -> Iterator[T]:
    listed = value.get(key, [])
    if not isinstance(listed, list):
        mistakes.append(_misfit(f"{where}: {key}", tuple))
        return
    for number, item in enumerate(listed):
        place = f"{where}: {key}[{number}]"
        if not isinstance(item, dict):
            mistakes.append(_misfit(place, Mapping))
        elif (made := _made(kind, item, place, mistakes)) is not None:
            yield made


def _made(kind: type[T], value: Mapping[str, Any], where: str, mistakes: list[Mistake]) -> T | None:
    """Return the object that a JSON object describes; None, and why, where it does not."""
    wanted = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]  # only data classes are read
    types_ = _types(kind)  # type: ignore[arg-type]  # every class is hashable
    given = {name: tuple(item) if isinstance(item, list) else item for name, item in value.items()}
    found: list[Mistake] = []
    for name in given.keys() - wanted.keys():
        nearest = difflib.get_close_matches(name, wanted, n=1)
        fix = f"meant is perhaps `{nearest[0]}`" if nearest else f"known are: {', '.join(wanted)}"
        found.append(Mistake(where=_key(where, name), what="is not known", fix=fix))
    for name, one in wanted.items():
        needed = one.default is MISSING and one.default_factory is MISSING
        if name not in given and needed:
            found.append(Mistake(where=_key(where, name), what="is missing", fix="say it"))
        elif name in given and not _fits(given[name], types_[name], name):
            found.append(_misfit(_key(where, name), types_[name]))
    mistakes += sorted(found, key=lambda one: one.where)
    return None if found else kind(**given)


@cache  # some hundred objects are of the same three kinds
def _types(kind: type) -> Mapping[str, type]:
    """Return the type of each field of a data class, without what it is of."""
    return {name: get_origin(hint) or hint for name, hint in get_type_hints(kind).items()}


def _key(where: str, name: str) -> str:
    return f"{where}.{name}" if where.endswith("]") else f"{where}: {name}"


def _fits(value: object, kind: type, name: str) -> bool:
    if not isinstance(value, kind):
        return False
    if isinstance(value, Mapping):
        return all(isinstance(one, str) for one in value.values())
    nested = name in ("components", "contradictions")
    return not isinstance(value, tuple) or nested or all(isinstance(one, str) for one in value)


def _misfit(where: str, kind: type) -> Mistake:
    name = _KINDS[kind]
    return Mistake(where=where, what=f"must be {name}", fix=f"write {name} there")
