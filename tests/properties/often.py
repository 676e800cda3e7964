"""How often a property is tried: with a part of its examples in `make test`, with all of them in `make test-rest`."""

from __future__ import annotations

import os

# Set by `test_often`, which runs the properties again.
VARIABLE = "PROPERTIES_OFTEN"
_PART = 6


def examples(whole: int) -> int:
    """Return how many examples a property is tried with, of those that it is tried with in the end."""
    return whole if VARIABLE in os.environ else -(-whole // _PART)
