"""Catalogue: the recipes of npu-recipes, YAML files that are read and checked, and which verl has which trainers."""

from __future__ import annotations

from npu_recipes.catalogue.pins import Trainer, VerlPin, load_pins, pin_of_version
from npu_recipes.catalogue.recipe import Layout, Part, Recipe, Translated, load, names

__all__ = [
    "Layout",
    "Part",
    "Recipe",
    "Trainer",
    "Translated",
    "VerlPin",
    "load",
    "load_pins",
    "names",
    "pin_of_version",
]
