"""Loads files the layer of verl adds, without verl: they are parts of the namespace package ``verl`` below tree/."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

OVERLAYS = Path(__file__).parents[3] / "overlays"
TREE = OVERLAYS / "verl" / "tree"


def load(name: str) -> ModuleType:
    """Return an added module by its name below ``verl``; no module it imports needs torch."""
    if str(TREE) not in sys.path:
        sys.path.append(str(TREE))
    return importlib.import_module(f"verl.{name}")
