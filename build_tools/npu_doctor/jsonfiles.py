"""Files of JSON → data classes, or all mistakes at once: which file and key, what is wrong with it, what to do."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")

_KINDS = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    tuple: "a list",
    Mapping: "an object",
}


@dataclass(frozen=True, kw_only=True)
class DataMistake:
    """What is wrong with a file of data."""

    where: str  # file and key
    what: str  # the mistake
    fix: str  # what to do


class DataError(ValueError):
    """Files of data are not what they should be; the message says which and what.

    Args:
        mistakes: all of them.
    """

    def __init__(self, mistakes: Iterable[DataMistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(f"{one.where}: {one.what}; {one.fix}" for one in self.mistakes))


def read_object(file: Path) -> dict[str, Any]:
    """Return the object a JSON file holds; raises `DataError`."""
    try:
        value = json.loads(file.read_bytes())
    except OSError as error:
        what, fix = f"cannot be read: {error.strerror}", "name a JSON file that is there"
        raise DataError([DataMistake(where=str(file), what=what, fix=fix)]) from error
    except (ValueError, RecursionError) as error:
        raise DataError(
            [DataMistake(where=str(file), what=f"cannot be read as JSON: {error}", fix="mend it")]
        ) from error
    if not isinstance(value, dict):
        raise DataError([DataMistake(where=str(file), what="not an object", fix="put its keys between { and }")])
    return value


def decode(kind: type[T], value: Mapping[str, Any], prefix: str, mistakes: list[DataMistake]) -> T | None:
    """Return the data class that a JSON object describes.

    Args:
        kind: a class whose fields are texts, truths, numbers, lists, objects, data classes in those, or anything.
        value: the object.
        prefix: what stands before its keys when they are named.
        mistakes: the list to which its mistakes are added.

    Returns:
        None where anything is.
    """
    found: list[DataMistake] = []
    hints, needed = _shape(kind)  # type: ignore[arg-type]  # mypy takes no type variable for hashable
    for name in value.keys() - hints.keys():
        nearest = difflib.get_close_matches(name, hints, n=1)
        fix = f"did you mean `{nearest[0]}`?" if nearest else f"write one of {', '.join(hints)}, or delete it"
        found.append(DataMistake(where=f"{prefix}{name}", what="is not known", fix=fix))
    found += [DataMistake(where=f"{prefix}{name}", what="is missing", fix="add it") for name in needed - value.keys()]
    given = {name: _decoded(hints[name], value[name], f"{prefix}{name}", found) for name in hints.keys() & value.keys()}
    mistakes += sorted(found, key=lambda one: one.where)
    return None if found else kind(**given)


def decode_all(
    kind: type[T],
    paths: Iterable[Path],
    read: Callable[[Path], dict[str, Any]],
    check: Callable[[T, str], Iterable[DataMistake]],
    mistakes: list[DataMistake],
) -> list[T]:
    """Return the data classes that files describe; `mistakes` takes what `read`, `decode` and `check` find wrong."""
    found: list[T] = []
    for path in paths:
        prefix = f"{path}: "
        try:
            value = read(path)
        except DataError as error:
            mistakes += error.mistakes
            continue
        if one := decode(kind, value, prefix, mistakes):
            found.append(one)
            mistakes += check(one, prefix)
    return found


@cache  # some hundred objects are of a handful of classes
def _shape(kind: type) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the types of a class's fields by name, and the names of those it cannot do without."""
    needed = [one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING]
    return get_type_hints(kind), frozenset(needed)


def _decoded(hint: Any, value: Any, where: str, mistakes: list[DataMistake]) -> object:
    if hint is Any:
        return value
    kind, written, inner = _form(hint)
    # Python counts truths as numbers, JSON does not.
    if type(value) not in written:
        name = _KINDS.get(kind, _KINDS[Mapping])
        mistakes.append(DataMistake(where=where, what=f"must be {name}", fix=f"write {name} there"))
        return None
    if kind is tuple:
        return tuple(_decoded(inner, one, f"{where}[{n}]", mistakes) for n, one in enumerate(value))
    if kind is Mapping:
        return {name: _decoded(inner, one, f"{where}.{name}", mistakes) for name, one in value.items()}
    return decode(kind, value, f"{where}.", mistakes) if written == (dict,) else value


@cache  # likewise
def _form(hint: Any) -> tuple[Any, Any, Any]:
    """Return the class that a type means, those in which JSON has it, and the type of what is in it."""
    if get_origin(hint) is UnionType:  # what may be left out, and is of its type where it is there
        hint = get_args(hint)[0]
    kind = get_origin(hint) or hint
    written = {tuple: (list,), Mapping: (dict,), float: (int, float)}.get(kind, (kind,))
    inner = (get_args(hint) or (None,))[{tuple: 0, Mapping: 1}.get(kind, 0)]
    return kind, (dict,) if is_dataclass(kind) else written, inner
