"""Parsing: a module's bytes in, its syntax tree out, the same one for every stage that looks at these bytes."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache

# The modules of an overlay and what it makes of them; a stage that looks at more parses some of them again.
_KEPT = 512


@lru_cache(maxsize=_KEPT)
def parsed(content: bytes) -> ast.Module:
    """Return the syntax tree of a module, which nobody may change.

    Raises:
        SyntaxError: where this Python cannot parse it.
        ValueError: likewise.
        RecursionError: where it is nested too deeply.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # upstream's invalid escape sequences are upstream's business
        return ast.parse(content)
