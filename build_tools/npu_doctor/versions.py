"""Versions: text in, something comparable out: of PyPI (PEP 440), CANN (``8.3.RC1``), driver (``25.3.rc1``)."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Longer texts are not versions; refusing them also keeps int() and the pattern fast on random bytes.
_LONGEST = 100
_VERSION = re.compile(
    r"v?(?P<release>[0-9]+(?:\.[0-9]+)*)"
    r"(?:[._-]?(?P<pre>alpha|a|beta|b|preview|pre|rc|c)[._-]?(?P<pre_number>[0-9]*(?:\.[0-9]+)*))?"
    r"(?:[._-]?(?P<post>post|rev|r)[._-]?(?P<post_number>[0-9]*))?"
    r"(?:[._-]?(?P<dev>dev)[._-]?(?P<dev_number>[0-9]*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[._-][a-z0-9]+)*))?",
    re.IGNORECASE,
)
_RANKS = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_CLAUSE = re.compile(r"(===|==|!=|~=|>=|<=|>|<)?\s*([^\s,<>=!~]+)")
_LAST = 9  # sorts after every pre-release
_FIRST = -1  # sorts before every one

Part = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Version:
    """One version.

    Args:
        release: its numbers, without trailing zeros.
        pre: rank and number of the pre-release; sorts development versions first, releases last.
        post: number of the post-release, -1 without.
        dev: number of the development version, large without.
        local: what stands behind the plus sign.
    """

    release: Part
    pre: Part
    post: int
    dev: int
    local: str

    @property
    def key(self) -> tuple[Part, Part, int, int]:
        """What versions are ordered by; the local segment does not count."""
        return self.release, self.pre, self.post, self.dev

    @property
    def is_pre(self) -> bool:
        """Whether this is a pre-release or development version."""
        return self.pre[0] != _LAST or self.dev != _NO_DEV


_NO_DEV = 10**12


def parse(text: str) -> Version | None:
    """Return the version a text stands for; None when it is none."""
    found = _VERSION.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if found is None:
        return None
    release = [int(number) for number in found["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    dev = int(found["dev_number"] or 0) if found["dev"] else _NO_DEV
    post = int(found["post_number"] or 0) if found["post"] else -1
    pre: Part = (_LAST,)
    if found["pre"]:
        pre = (_RANKS[found["pre"].lower()], *(int(number or 0) for number in found["pre_number"].split(".")))
    elif found["dev"] and not found["post"]:
        pre = (_FIRST,)
    return Version(release=tuple(release), pre=pre, post=post, dev=dev, local=(found["local"] or "").lower())


def same(one: str, other: str) -> bool:
    """Return whether two texts name the same version, local segments aside; other texts must be equal."""
    left, right = parse(one), parse(other)
    if left is None or right is None:
        return one.strip().lower() == other.strip().lower()
    return left.key == right.key


def public(text: str) -> str:
    """Return a version without its local segment."""
    return text.partition("+")[0]


def allows(specifier: str, version: str) -> bool | None:
    """Return whether a version lies in a range.

    Args:
        specifier: clauses joined by commas, ``>=8.0.RC2,<=8.3.RC1``; a bare version means that very one.
        version: the version found.

    Returns:
        None where either cannot be understood.
    """
    found = parse(version)
    clauses = [clause.strip() for clause in specifier.split(",") if clause.strip()]
    if found is None:
        return None
    answers = [_allows(clause, found) for clause in clauses]
    if any(answer is False for answer in answers):
        return False
    return None if None in answers else True


def _allows(clause: str, version: Version) -> bool | None:
    matched = _CLAUSE.fullmatch(clause)
    if matched is None:
        return None
    operator, text = matched[1] or "==", matched[2]
    if text.lower().endswith((".*", ".x")):
        stem = parse(text[:-2])
        return None if stem is None else _starts(version, text[:-2]) is (operator == "==")
    wanted = parse(text)
    if wanted is None:
        return None
    if operator == "~=":
        return version.key >= wanted.key and _starts(version, text.rpartition(".")[0])
    return _compare(operator, version, wanted)


def _starts(version: Version, stem: str) -> bool:
    """Return whether a version's first numbers are those of the stem, which keeps its zeros."""
    numbers = [int(number) for number in stem.split(".") if number.isdecimal()]
    padded = [*version.release, *([0] * len(numbers))]
    return padded[: len(numbers)] == numbers


def _compare(operator: str, version: Version, wanted: Version) -> bool:
    if operator in {"==", "==="}:
        return version.key == wanted.key and wanted.local in {"", version.local}
    if operator == "!=":
        return version.key != wanted.key
    if operator == ">=":
        return version.key >= wanted.key
    if operator == "<=":
        return version.key <= wanted.key
    alike = version.release == wanted.release
    if operator == ">":
        # A post-release of 2.0 is not what `>2` means.
        after = alike and version.pre == wanted.pre and version.post >= 0 > wanted.post and wanted.dev == _NO_DEV
        return version.key > wanted.key and not after
    # Nor is a pre-release of 2.0 what `<2` means.
    before = alike and version.is_pre and not wanted.is_pre and version.post == wanted.post
    return version.key < wanted.key and not before
