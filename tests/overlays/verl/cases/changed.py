"""What the installed wheel says it changed: cases ask for an operation, not for a version of verl."""

from __future__ import annotations

import importlib
import importlib.util
import json
from importlib.resources import files
from typing import Any

_RECORD = json.loads(files("verl_npu_summary").joinpath("changes.json").read_text("utf-8"))


def changed(path: str, symbol: str) -> bool:
    """Return whether a wheel's overlay does something to a symbol, ``Class.method``, of a file of upstream's."""
    return symbol in {name for file in _RECORD["files"] if file["path"] == path for name in _symbols(file)}


def assigned(when: str) -> list[str]:
    """Return what the wheel lists as assigned at run time on one occasion, ``module:symbol``; ``*`` is any text."""
    return [name for entry in _RECORD.get("assigned", []) if entry["when"] == when for name in entry["what"]]


def helper(name: str) -> Any:
    """Return a module that the overlay adds below ``verl.utils.npu``, or None where this pin has no use for it."""
    module = f"verl.utils.npu.{name}"
    return importlib.import_module(module) if importlib.util.find_spec(module) else None


def _symbols(file: dict) -> set[str]:
    found = {one["name"] for one in file["module_changes"]}
    for entry in file["class_changes"]:
        found |= {entry["name"], *(f"{entry['name']}.{one['name']}" for one in entry["changes"])}
    return found
