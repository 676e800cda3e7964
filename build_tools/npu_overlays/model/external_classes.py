"""External classes: classes from outside the tree → their MRO and their members."""

from __future__ import annotations

import abc
import builtins
import collections
import collections.abc
import enum
import typing
from collections.abc import Callable, Sequence

from npu_overlays.model.symbols import Target

# These hold nothing that upstream's code asks for by name, and say nothing of how a class is called.
BARE = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol"})
_KNOWN = {"builtins": builtins, "enum": enum, "collections": collections, "collections.abc": collections.abc}
_ORDERED = {**_KNOWN, "abc": abc, "typing": typing}
_TYPING = ("typing.", "typing_extensions.")
_GENERIC = "typing.Generic"
# A class derived from one of these has one of Python's own classes as its base instead.
_MADE = {"NamedTuple": "builtins.tuple", "TypedDict": "builtins.dict"}
# Their `C[T]` is no alias of typing's, and leaves out no Generic.
_PLAIN = ("builtins.", "collections.")


def external_line(name: str) -> tuple[str, ...] | None:
    """Return the MRO of a class without `object`; None if the class is unknown."""
    home, _, leaf = name.rpartition(".")
    known = getattr(_ORDERED.get(home), leaf, None)
    if not isinstance(known, type):
        return None
    return tuple(f"{one.__module__}.{one.__qualname__}" for one in known.__mro__[:-1])


def external_has(name: str, member: str) -> bool | None:
    """Return whether a class has a member that `object` lacks; None if the class is unknown."""
    if name in BARE:
        return False
    home, _, leaf = name.rpartition(".")
    known = getattr(_KNOWN.get(home), leaf, None)
    return hasattr(known, member) if isinstance(known, type) else None


def is_named_tuple(target: Target) -> bool:
    """Return whether a base makes its subclass a named tuple."""
    return made_of(target) == _MADE["NamedTuple"]


def made_of(target: Target) -> str:
    """Return the kind of class that a base such as ``typing.NamedTuple`` makes, or an empty text."""
    if not isinstance(target, str) or not target.startswith(_TYPING):
        return ""
    return _MADE.get(target.rpartition(".")[2], "")


def actual_bases(stated: Sequence[tuple[Target, bool]], is_generic: Callable[[Target], bool]) -> list[Target]:
    """Return the actual bases of a class, after ``__mro_entries__`` of each stated one.

    Args:
        stated: the bases in the class's header, each with whether it is subscripted.
        is_generic: returns whether a class derives from ``typing.Generic``.
    """
    plain = [target for target, subscripted in stated if not subscripted]
    found: list[Target] = []
    for number, (target, subscripted) in enumerate(stated, start=1):
        later = stated[number:]
        aliased = any(_is_alias(*one, is_generic) for one in later)
        if target == _GENERIC and subscripted:
            found += [] if aliased or "typing.Protocol" in plain else [target]
        elif origin := _origin(target):
            found += [origin] if origin not in plain else []
            found += [] if aliased or any(is_generic(one) for one, _ in later) else [_GENERIC]
        else:
            found.append(made_of(target) or target)
    return found


def _is_alias(target: Target, subscripted: bool, is_generic: Callable[[Target], bool]) -> bool:  # noqa: FBT001  # a pair
    """Return whether a stated base is an alias of `typing`."""
    if isinstance(target, str):
        return bool(_origin(target)) or (subscripted and not target.startswith(_PLAIN))
    return subscripted and is_generic(target)


def _origin(target: Target) -> str:
    """Return the class behind an alias such as ``typing.List``; empty for any other name."""
    home, _, leaf = target.rpartition(".") if isinstance(target, str) else ("", "", "")
    alias = getattr(typing, leaf, None) if home == "typing" else None
    origin = getattr(alias, "__origin__", None)
    return f"{origin.__module__}.{origin.__qualname__}" if isinstance(origin, type) else ""
