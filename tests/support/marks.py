"""Marks: parameters of tests, and installers → those that are left to `make test-rest`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def rarely(*values: Any, ids: Iterable[str] | None = None) -> list[Any]:
    """Return parameters that tell what the others tell already; a tuple is several at once."""
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    names = list(ids) if ids is not None else [None] * len(rows)
    return [pytest.param(*row, marks=pytest.mark.thorough, id=name) for row, name in zip(rows, names, strict=True)]


def _mostly_uv(fixture: str, *others: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(fixture, [*rarely(*others), "uv"], indirect=True)


# Marks for tests of which pip tells nothing that it does not tell in others: it takes a second to start, uv none.
VENV_MOSTLY_BY_UV = _mostly_uv("venv", "pip")
MOSTLY_BY_UV = _mostly_uv("installer", "oldest pip", "newest pip")
