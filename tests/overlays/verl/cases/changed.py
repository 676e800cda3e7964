"""What the installed wheel says it changed: cases ask for an operation, not for a version of verl."""

from __future__ import annotations

import json
from importlib.resources import files

_RECORD = json.loads(files("verl_npu_summary").joinpath("changes.json").read_text("utf-8"))


def changed(path: str, symbol: str) -> bool:
    """Return whether a wheel's overlay does something to a symbol, ``Class.method``, of a file of upstream's."""
    return symbol in {name for file in _RECORD["files"] if file["path"] == path for name in _symbols(file)}


def _symbols(file: dict) -> set[str]:
    found = {one["name"] for one in file["module_changes"]}
    for entry in file["class_changes"]:
        found |= {entry["name"], *(f"{entry['name']}.{one['name']}" for one in entry["changes"])}
    return found
