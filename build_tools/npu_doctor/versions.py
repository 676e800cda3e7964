"""Versions of PyPI, CANN (``8.3.RC1``) and drivers (``25.0.rc1.1``) → how they compare; any text has an answer."""

from __future__ import annotations

import re

from packaging.specifiers import InvalidSpecifier, Specifier
from packaging.version import InvalidVersion, Version

# Longer texts are not versions; refusing them keeps random bytes cheap.
_LONGEST = 100
_PRE = re.compile(
    r"(?<![a-z])(alpha|a|beta|b|preview|pre|rc|c)[._-]?([0-9]{1,9})(?:\.([0-9]{1,3})(?![0-9]))?", re.IGNORECASE
)
_CLAUSE = re.compile(r"(===|==|!=|~=|>=|<=|>|<)?\s*([^\s,<>=!~]+)")
_REQUIRED = re.compile(r"(===|==|!=|~=|<=|>=|<|>)\s*([^\s,;<>=!~]+)")
_STEP = 1000


def parse(text: str) -> Version | None:
    """Return the version a text stands for, for comparing; None when it is none."""
    try:
        return Version(_comparable(text.strip())) if len(text) <= _LONGEST else None
    except InvalidVersion:
        return None


def _comparable(text: str) -> str:
    """Return a version with room for ``rc1.1``, which vendors put between ``rc1`` and ``rc2`` and pip does not know."""

    def numbered(found: re.Match[str]) -> str:
        return f"{found[1]}{int(found[2]) * _STEP + int(found[3] or 0)}"

    public, plus, local = text.partition("+")
    return _PRE.sub(numbered, public) + plus + local


def same(one: str, other: str) -> bool:
    """Return whether two texts name the same version, local segments aside; other texts must be equal."""
    left, right = parse(public(one)), parse(public(other))
    if left is None or right is None:
        return one.strip().lower() == other.strip().lower()
    return left == right


def public(text: str) -> str:
    """Return a version without its local segment."""
    return text.partition("+")[0]


def clauses_at(text: str, release: str) -> set[str]:
    """Return the operators of the clauses in a requirement that name a release: ``<=`` and ``!=`` for example."""
    clauses = _REQUIRED.findall(text)
    return {operator for operator, version in clauses if "+" not in version and same(version, release)}


def allows(specifier: str, version: str) -> bool | None:
    """Return whether a version lies in a range.

    Args:
        specifier: clauses joined by commas, ``>=8.0.RC2,<=8.3.RC1``; a bare version means that very one.
        version: the version found.

    Returns:
        None where either cannot be understood.
    """
    found = parse(version)
    if found is None:
        return None
    answers = [_allows(clause.strip(), found) for clause in specifier.split(",") if clause.strip()]
    if any(answer is False for answer in answers):
        return False
    return None if None in answers else True


def _allows(clause: str, version: Version) -> bool | None:
    matched = _CLAUSE.fullmatch(clause) if len(clause) <= _LONGEST else None
    if matched is None:
        return None
    wanted = re.sub(r"\.x$", ".*", _comparable(matched[2]), flags=re.IGNORECASE)
    try:
        return Specifier(f"{matched[1] or '=='}{wanted}").contains(version, prereleases=True)
    except InvalidSpecifier:
        return None
