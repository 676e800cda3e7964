"""JSON: changes → the report that ``summary.schema.json`` describes."""

from __future__ import annotations

import json

from .changes import SCHEMA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .changes import Changes


def render(distributions: Iterable[Changes]) -> str:
    """Render every field of the given ``changes.json`` objects as one object.

    ASCII only: then no output encoding can make it something other than JSON.
    """
    return json.dumps({"schema": SCHEMA, "distributions": list(distributions)}, indent=2) + "\n"
