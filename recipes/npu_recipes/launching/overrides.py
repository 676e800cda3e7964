"""Overrides: options as Hydra reads them on a command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from npu_recipes.errors import Problem, RecipeError

# What needs no quotes; that some of it is a number or a word of Hydra's own, is asked apart.
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%-]+")
_OTHER = re.compile(r"(?i)(true|false|null|nan|-?inf|[-+]?[0-9._]+(e[-+]?[0-9]+)?)")
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
    """Return options as overrides, with the user's own in place of those of the same key, and the rest behind.

    Args:
        options: keys, ``+`` before them where they are added, and values.
        given: what the user wants otherwise, as Hydra reads it.

    Raises:
        RecipeError: something given is no override.
    """
    users = {key: (mark, rest) for mark, key, rest in _parsed(list(given))}
    found = []
    for option, value in options.items():
        key = option.lstrip("+")
        mark = option[: len(option) - len(key)]
        if key not in users:
            found.append(f"{option}={value_text(value)}")
            continue
        own, rest = users.pop(key)
        if own == "~" and mark:
            continue  # what would be added, is not
        # A key of ours that is added has to be added by the user's value too.
        found.append(f"{own or mark}{key}{rest}")
    return found + [f"{mark}{key}{rest}" for key, (mark, rest) in users.items()]


def _parsed(given: Sequence[str]) -> list[tuple[str, str, str]]:
    matches = [(text, _OVERRIDE.fullmatch(text)) for text in given]
    problems = [
        Problem(where=text, what="is no override of Hydra", fix="write key=value, +key=value or ~key")
        for text, match in matches
        if match is None or (match[3] is None and match[1] != "~") or text.startswith("-")
    ]
    if problems:
        raise RecipeError(problems)
    return [(match[1] or "", match[2], match[3] or "") for _, match in matches if match]
