"""Requirements of installed distributions: a ``Requires-Dist`` line in, its name, range and whether it applies out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from npu_doctor import versions

_REQUIREMENT = re.compile(
    r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(?:@\s*\S+|\(?([^;)]*)\)?)\s*(?:;(.*))?$"
)
_TOKEN = re.compile(r"\s*(\(|\)|and\b|or\b|not\s+in\b|in\b|[<>=!~]=?=?|\"[^\"]*\"|'[^']*'|[A-Za-z_][A-Za-z0-9_.]*)")
_LONGEST = 2000


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """What one distribution asks of another.

    Args:
        name: the other's name as written.
        specifier: the range, empty for any version.
        marker: the condition, empty for always.
    """

    name: str
    specifier: str
    marker: str


def parse(text: str) -> Requirement | None:
    """Return a requirement; None where the text is none."""
    found = _REQUIREMENT.match(text) if len(text) <= _LONGEST else None
    if found is None:
        return None
    return Requirement(name=found[1], specifier=(found[2] or "").strip(), marker=(found[3] or "").strip())


def applies(marker: str, environment: Mapping[str, str]) -> bool:
    """Return whether a condition holds; one that cannot be understood does not."""
    if not marker:
        return True
    try:
        parser = _Parser(_tokens(marker), environment)
        value = parser.either()
        return value and not parser.tokens
    except (IndexError, KeyError, ValueError):
        return False


def _tokens(marker: str) -> list[str]:
    tokens, at = [], 0
    while marker[at:].strip():
        found = _TOKEN.match(marker, at)
        if found is None:
            raise ValueError(marker)
        tokens.append(" ".join(found[1].split()))
        at = found.end()
    return tokens


class _Parser:
    """Evaluates ``or`` of ``and`` of comparisons, with parentheses."""

    def __init__(self, tokens: list[str], environment: Mapping[str, str]) -> None:
        self.tokens = tokens
        self._environment = environment

    def either(self) -> bool:
        value = self._both()
        while self.tokens[:1] == ["or"]:
            self.tokens.pop(0)
            value = self._both() or value
        return value

    def _both(self) -> bool:
        value = self._one()
        while self.tokens[:1] == ["and"]:
            self.tokens.pop(0)
            value = self._one() and value
        return value

    def _one(self) -> bool:
        # Iterating would blow the stack only beyond what `_LONGEST` allows.
        if self.tokens[0] == "(":
            self.tokens.pop(0)
            value = self.either()
            if self.tokens.pop(0) != ")":
                raise ValueError(")")
            return value
        left, operator, right = self._value(), self.tokens.pop(0), self._value()
        return _holds(left, operator, right)

    def _value(self) -> str:
        token = self.tokens.pop(0)
        return token[1:-1] if token[0] in "\"'" else self._environment[token]


def _holds(left: str, operator: str, right: str) -> bool:
    if operator in {"in", "not in"}:
        return (left in right) is (operator == "in")
    answer = versions.allows(f"{operator}{right}", left) if right else None
    if answer is not None:
        return answer
    if operator in {"==", "===", "!="}:
        return (left == right) is (operator != "!=")
    raise ValueError(operator)


def environment(*, python: str, machine: str) -> dict[str, str]:
    """Return the values of a Linux machine that conditions may ask for; extras are never asked for."""
    return {
        "python_version": ".".join(python.split(".")[:2]),
        "python_full_version": python,
        "platform_machine": machine,
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_version": "",
        "extra": "",
    }
