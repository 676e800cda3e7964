"""Catalogue: the recipes that come with npu-recipes, read from the YAML files beside this and checked.

`names` lists them, `load` reads one; `pins` says which verl has which trainers.
"""

from __future__ import annotations

from npu_recipes.catalogue.pins import Pin, Trainer, load_pins, pin_of_version
from npu_recipes.catalogue.reading import load, names
from npu_recipes.catalogue.recipe import Layout, Part, Recipe, Said, Source

__all__ = [
    "Layout",
    "Part",
    "Pin",
    "Recipe",
    "Said",
    "Source",
    "Trainer",
    "load",
    "load_pins",
    "names",
    "pin_of_version",
]
