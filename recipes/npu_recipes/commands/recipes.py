"""`list` and `show`: which recipes there are, and one of them with its settings and their sources."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from typing import Any

from npu_recipes.catalogue import Recipe, load, names
from npu_recipes.commands.parser import Command, add_json
from npu_recipes.console import Console
from npu_recipes.launch.memory import estimate
from npu_recipes.launch.overrides import value_text
from npu_recipes.launch.plan import chosen_pin, installed_verl, trainer_for

_LIST = """\
List the recipes: what each trains, on which devices, and for which pins of
verl.

examples:
  npu-recipes list
  npu-recipes list --json
"""
_SHOW = """\
Show a recipe: the devices it runs on, what fills their memory, its settings for
one pin of verl, and where they come from.

examples:
  npu-recipes show smoke-grpo
  npu-recipes show grpo-qwen3-8b --pin 0.7.1
"""
# Columns of a terminal.
_WIDTH = 100


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """The options of `list`: whether the list is JSON."""

    json: bool


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """The options of `show`: the recipe, its pin (empty for the installed one), and whether to print JSON."""

    name: str
    pin: str
    json: bool


def add_pin(parser: argparse.ArgumentParser) -> None:
    """Add the option that names a pin."""
    text = "for which verl, such as 0.9.1 or verl@0.9.1 (default: the installed one)"
    parser.add_argument("--pin", default="", help=text)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a recipe; `npu-recipes list` prints all")
    add_pin(parser)
    add_json(parser)


def _list(options: ListOptions, console: Console) -> int:
    recipes = list(map(load, names()))
    if options.json:
        console.json({"recipes": list(map(_summary, recipes))})
        return 0
    for one in recipes:
        layout = one.layout
        console.line(one.name, style="bold")
        console.paragraph(one.title.en, indent=2, width=_WIDTH)
        console.line(f"  {layout.nodes} x {layout.devices} devices: {layout.hardware}")
        console.line(f"  {', '.join(one.pins)}")
    return 0


def _show(options: ShowOptions, console: Console) -> int:
    recipe = load(options.name)
    pin = _pin(recipe, options.pin, console)
    settings = recipe.options_for(pin)
    if options.json:
        console.json({**_summary(recipe), **_details(recipe, pin, settings)})
        return 0
    _print_recipe(recipe, settings, console)
    console.line()
    console.line(f"settings for {pin}:", style="bold")
    for name, value in recipe.environment.items():
        console.line(f"  {name}={value}")
    for key, value in settings.items():
        console.line(f"  {key}={value_text(value)}")
    return 0


def _print_recipe(recipe: Recipe, settings: dict[str, Any], console: Console) -> None:
    layout = recipe.layout
    console.line(recipe.name, style="bold")
    console.paragraph(recipe.title.en, indent=2, width=_WIDTH)
    facts = [
        ("on", f"{layout.hardware}, {layout.nodes} x {layout.devices} devices"),
        ("engines", f"{layout.engine}, {layout.rollout or 'nothing is generated'}"),
        ("data", recipe.data),
        ("for", ", ".join(recipe.pins)),
        ("memory", recipe.memory.en),
    ]
    for share in estimate(recipe, settings):
        facts.append((f"{share.gigabytes:5.1f} GB", f"of each device: {share.what}"))
    for source in recipe.sources:
        facts.append(("from", source.name + (f": {source.what}" if source.what else "")))
    for name, own in recipe.pins.items():
        if own.note:
            facts.append((name, own.note.en))
    for name, text in facts:
        console.fact(name, text, width=_WIDTH)


def _pin(recipe: Recipe, name: str, console: Console) -> str:
    """Return the pin whose settings are shown: the named one, else the installed one, else the recipe's first."""
    chosen = chosen_pin(name)
    if name:
        trainer_for(recipe, chosen)
    if chosen.name in recipe.pins:
        return chosen.name
    first = next(iter(recipe.pins))
    if version := installed_verl():
        what = f"{recipe.name} is not for {chosen.name} (verl {version}), which is installed"
        console.notice(f"{what}: shown for {first}")
    return first


def _summary(recipe: Recipe) -> dict[str, Any]:
    layout = recipe.layout
    stacks: set[str] = set()
    for part in recipe.pins.values():
        stacks.update(part.stacks)
    return {
        "name": recipe.name,
        "title": asdict(recipe.title),
        "algorithm": recipe.algorithm,
        "model": layout.model,
        "engine": layout.engine,
        "rollout": layout.rollout,
        "hardware": layout.hardware,
        "nodes": layout.nodes,
        "devices_per_node": layout.devices,
        "pins": list(recipe.pins),
        "stacks": sorted(stacks),
    }


def _details(recipe: Recipe, pin: str, settings: dict[str, Any]) -> dict[str, Any]:
    shares = estimate(recipe, settings)
    return {
        "data": recipe.data,
        "memory": asdict(recipe.memory),
        "estimate": [{"what": share.what, "gigabytes": round(share.gigabytes, 1)} for share in shares],
        "sources": list(map(asdict, recipe.sources)),
        "notes": {name: asdict(part.note) for name, part in recipe.pins.items() if part.note},
        "pin": pin,
        "environment": dict(recipe.environment),
        "options": settings,
    }


COMMANDS: dict[str, Command[Any]] = {
    "list": Command(
        name="list",
        summary="list the recipes",
        description=_LIST,
        arguments=add_json,
        options=ListOptions,
        run=_list,
    ),
    "show": Command(
        name="show",
        summary="show one recipe with its settings",
        description=_SHOW,
        arguments=_add_arguments,
        options=ShowOptions,
        run=_show,
    ),
}
