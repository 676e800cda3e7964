"""`show`: one recipe, with all its settings and where they come from."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from npu_recipes.catalogue import Recipe, load
from npu_recipes.commands.command import Command
from npu_recipes.commands.listing import summary
from npu_recipes.commands.parser import add_json
from npu_recipes.console import Console
from npu_recipes.launching.memory import estimate
from npu_recipes.launching.overrides import value_text
from npu_recipes.launching.plan import chosen_pin, installed_verl, trainer_for

_DESCRIPTION = """\
Show a recipe: what it runs on, what fills the memory, its settings for one pin
of verl, and where they come from.
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for: the recipe, for which pin (empty for the installed one), and whether it is shown as JSON."""

    name: str
    pin: str
    json: bool


def add_pin(parser: argparse.ArgumentParser) -> None:
    """Add the option that names a pin."""
    parser.add_argument(
        "--pin", default="", help="for which verl, such as 0.9.1 or verl@0.9.1 (default: the installed one)"
    )


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the recipe; `npu-recipes list` prints all")
    add_pin(parser)
    add_json(parser)


def _run(options: Options, console: Console) -> int:
    recipe = load(options.name)
    pin = _pin(recipe, options.pin, console)
    settings = recipe.options_for(pin)
    if options.json:
        console.json({**summary(recipe), **_details(recipe, pin, settings)})
        return 0
    layout = recipe.layout
    console.line(recipe.name, style="bold")
    console.line(f"  {recipe.title.en}")
    console.line(f"  {recipe.title.zh}")
    console.line(f"  on        {layout.hardware}, {layout.nodes} x {layout.devices} devices")
    console.line(f"  engines   {layout.engine}, {layout.rollout or 'nothing is generated'}")
    console.line(f"  data      {recipe.data}")
    console.line(f"  for       {', '.join(recipe.pins)}")
    console.line(f"  memory    {recipe.memory.en}")
    console.line(f"            {recipe.memory.zh}")
    for part in estimate(recipe, settings):
        console.line(f"            {part.gigabytes:6.1f} GB of each device: {part.what}")
    for source in recipe.sources:
        console.line(f"  from      {source.name}" + (f": {source.what}" if source.what else ""))
    for name, own in recipe.pins.items():
        if own.note:
            console.line(f"  {name}  {own.note.en}")
    console.line()
    console.line(f"settings for {pin}:", style="bold")
    for name, value in recipe.environment.items():
        console.line(f"  {name}={value}")
    for key, value in settings.items():
        console.line(f"  {key}={value_text(value)}")
    return 0


def _pin(recipe: Recipe, name: str, console: Console) -> str:
    """Return the pin to show a recipe for: the named one, else the installed one, else the recipe's first."""
    chosen = chosen_pin(name)
    if name:
        trainer_for(recipe, chosen)
    if chosen.name in recipe.pins:
        return chosen.name
    first = next(iter(recipe.pins))
    if version := installed_verl():
        console.notice(
            f"{recipe.name} is not for {chosen.name} (verl {version}), which is installed: shown for {first}"
        )
    return first


def _details(recipe: Recipe, pin: str, settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "data": recipe.data,
        "memory": {"en": recipe.memory.en, "zh": recipe.memory.zh},
        "estimate": [{"what": part.what, "gigabytes": round(part.gigabytes, 1)} for part in estimate(recipe, settings)],
        "sources": [{"name": one.name, "what": one.what} for one in recipe.sources],
        "notes": {name: {"en": part.note.en, "zh": part.note.zh} for name, part in recipe.pins.items() if part.note},
        "pin": pin,
        "environment": dict(recipe.environment),
        "options": settings,
    }


COMMAND = Command(
    name="show",
    summary="show one recipe with its settings",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    read=lambda parsed: Options(name=parsed.name, pin=parsed.pin, json=parsed.json),
    run=_run,
)
