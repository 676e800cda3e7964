"""Requirements of installed distributions: a ``Requires-Dist`` line → what it asks for, and whether it applies."""

from __future__ import annotations

import re

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement

_LONGEST = 2000
_OF_AN_EXTRA = re.compile(r";(?!.*\bor\b).*\bextra\s*==\s*[\"'][A-Za-z0-9]")
_BEFORE = re.compile(r"\s*[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[^\]]*\])?\s*")


def parse(text: str) -> Requirement | None:
    """Return a requirement; None where the text is none."""
    try:
        return Requirement(text) if len(text) <= _LONGEST else None
    except InvalidRequirement:
        return None


def of_an_extra(text: str) -> bool:
    """Return whether a requirement says in so many words that it is one of an extra, as most lines of a record do."""
    return _OF_AN_EXTRA.search(text) is not None


def range_of(text: str) -> str:
    """Return the range of a requirement as it is written, empty for any version; `packaging` sorts its clauses."""
    found = _BEFORE.match(text)
    rest = text[found.end() :].partition(";")[0].strip() if found else ""
    return "" if rest.startswith("@") else rest.strip("()").strip()


def applies(requirement: Requirement, *, python: str, machine: str) -> bool:
    """Return whether a requirement's condition holds on a Linux machine that asks for no extra.

    Args:
        requirement: the requirement.
        python: version of Python, ``3.10.13``.
        machine: the processor's name.
    """
    try:
        return requirement.marker is None or requirement.marker.evaluate(_environment(python, machine))
    except (UndefinedComparison, UndefinedEnvironmentName):
        return False


def _environment(python: str, machine: str) -> dict[str, str]:
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
