"""Overrides: options as Hydra reads them on a command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from npu_recipes.errors import Problem, RecipeError

# What needs no quotes, unless it is a number or a word of Hydra's own.
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%-]+")
_OTHER = re.compile(r"(?i)(true|false|null|nan|-?inf|[-+]?[0-9._]+(e[-+]?[0-9]+)?)")
# A mapping is merged into what is there, and a function may extend it.
_PART = re.compile(r"=\s*(\{|\w+\()")
_QUOTES = re.compile(r"""^(['"])(.*)\1$""", re.DOTALL)
_OVERRIDE = re.compile(r"(\+\+|\+|~)?([^=\s]+)(=.*)?", re.DOTALL)


def value_text(value: Any) -> str:
    """Return a value as Hydra reads it back."""
    if isinstance(value, bool) or value is None:
        return {True: "True", False: "False", None: "null"}[value]
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{value_text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and not _OTHER.fullmatch(value) else _quoted(value)
    return "[" + ",".join(map(value_text, value)) + "]"


def _quoted(text: str) -> str:
    # A backslash is one of its own but before a quote.
    escaped = re.sub(r"(\\*)'", lambda found: found[1] * 2 + r"\'", text)
    trailing = len(escaped) - len(escaped.rstrip("\\"))
    return f"'{escaped}{chr(92) * trailing}'"


def merged(options: Mapping[str, Any], given: Iterable[str]) -> list[str]:
    """Return options as overrides, and all of the user's own behind them, as written and in their order.

    Args:
        options: keys, ``+`` before them where they are added, and values.
        given: what the user wants otherwise, as Hydra reads it.

    Raises:
        RecipeError: something given is no override.
    """
    texts = list(given)
    users = _parsed(texts)
    ours = [f"{option}={value_text(value)}" for option, value in options.items() if not _replaced(option, users)]
    return ours + texts


def untouched(options: Mapping[str, Any], given: Iterable[str]) -> dict[str, Any]:
    """Return the options that the user leaves as they are: nothing given is of their key or of what holds it."""
    keys = tuple(f"{key}." for _, key, _ in _parsed(list(given)))
    return {one: value for one, value in options.items() if not f"{one.lstrip('+')}.".startswith(keys)}


def assigned(overrides: Iterable[str], key: str) -> str | None:
    """Return what overrides give a key in the end, without the quotes around it; None where none does.

    Raises:
        RecipeError: they do so within another value, or take the key away.
    """
    parent, _, last = key.rpartition(".")
    found, within = None, ""
    for text, (mark, name, rest) in zip(texts := list(overrides), _parsed(texts), strict=True):
        if name == key and mark != "~":
            found, within = _QUOTES.sub(r"\2", rest.removeprefix("=")), ""
        elif name == key or (name == parent and re.search(rf"\b{last}\b", rest)):
            within = text
    if within:
        raise RecipeError(Problem(where=within, what=f"hides what {key} is", fix=f"write {key}=… behind it"))
    return found


def _replaced(option: str, users: Sequence[tuple[str, str, str]]) -> bool:
    """Return whether the user's only override of an option's key states its whole value, so that ours is not needed."""
    key = option.lstrip("+")
    own = [(mark, rest) for mark, name, rest in users if name == key]
    if len(own) != 1:
        return False
    mark, rest = own[0]
    # What ours adds has to be there for what only changes it.
    return mark != "~" and not _PART.match(rest) and (bool(mark) or option == key)


def _parsed(given: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the mark, the key and the rest of each override; raises `RecipeError` with every text that is not one."""
    parsed, problems = [], []
    for text in given:
        match = _OVERRIDE.fullmatch(text)
        if match is None or (match[3] is None and match[1] != "~") or text.startswith("-"):
            fix = "write key=value, +key=value or ~key"
            problems.append(Problem(where=text, what="is no override of Hydra", fix=fix))
        else:
            parsed.append((match[1] or "", match[2], match[3] or ""))
    if problems:
        raise RecipeError(problems)
    return parsed
