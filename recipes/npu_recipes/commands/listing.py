"""`list`: the recipes that there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from npu_recipes.catalogue import Recipe, load, names
from npu_recipes.commands.command import Command
from npu_recipes.commands.parser import add_json
from npu_recipes.console import Console

_DESCRIPTION = """\
List the recipes: settings with which verl trains, on what they run, and the
pins of verl whose options they name.
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for: whether the list is JSON."""

    json: bool


def summary(recipe: Recipe) -> dict[str, Any]:
    """Return what tells a recipe from others, for JSON."""
    layout = recipe.layout
    return {
        "name": recipe.name,
        "title": {"en": recipe.title.en, "zh": recipe.title.zh},
        "algorithm": recipe.algorithm,
        "model": layout.model,
        "engine": layout.engine,
        "rollout": layout.rollout,
        "hardware": layout.hardware,
        "nodes": layout.nodes,
        "devices_per_node": layout.devices,
        "pins": list(recipe.pins),
        "stacks": sorted({stack for part in recipe.pins.values() for stack in part.stacks}),
    }


def _run(options: Options, console: Console) -> int:
    recipes = [load(name) for name in names()]
    if options.json:
        console.json({"recipes": [summary(recipe) for recipe in recipes]})
        return 0
    rows = [(one.name, one.layout.hardware, _size(one), ", ".join(one.pins), one.title.en) for one in recipes]
    console.table(("recipe", "on", "devices", "for", "what"), rows)
    return 0


def _size(recipe: Recipe) -> str:
    layout = recipe.layout
    return f"{layout.nodes} x {layout.devices}"


COMMAND = Command(
    name="list",
    summary="list the recipes",
    description=_DESCRIPTION,
    arguments=add_json,
    read=lambda parsed: Options(json=parsed.json),
    run=_run,
)
