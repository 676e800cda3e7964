"""Reading: a YAML file → a recipe, with all that is wrong in it said at once."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from npu_recipes.catalogue.pins import load_pins
from npu_recipes.catalogue.recipe import Layout, Part, Recipe, Said, Source
from npu_recipes.errors import Problem, RecipeError

_FOLDER = Path(__file__).parent / "recipes"
ALGORITHMS = ("sft", "grpo", "dapo")
_KEYS = {
    "title": dict,
    "algorithm": str,
    "data": str,
    "layout": dict,
    "memory": dict,
    "sources": list,
    "environment": dict,
    "options": dict,
    "pins": dict,
}
_LAYOUT = {
    "engine": str,
    "rollout": str,
    "hardware": str,
    "nodes": int,
    "devices": int,
    "memory": int,
    "model": str,
    "billions": float,
}


def names() -> list[str]:
    """Return the names of all recipes, those to try things out first."""
    found = sorted(file.stem for file in _FOLDER.glob("*.yaml"))
    return sorted(found, key=lambda name: not name.startswith("smoke"))


def load(name: str) -> Recipe:
    """Return a recipe.

    Raises:
        RecipeError: there is none of this name.
    """
    known = names()
    if name not in known:
        nearest = get_close_matches(name, known, n=1)
        fix = f"did you mean {nearest[0]}?" if nearest else "`npu-recipes list` prints all"
        raise RecipeError(Problem(where=name, what="there is no such recipe", fix=fix))
    return read(name, (_FOLDER / f"{name}.yaml").read_text("utf-8"))


def read(name: str, text: str) -> Recipe:
    """Return the recipe that a YAML text states.

    Raises:
        RecipeError: with everything that is wrong in it.
    """
    try:
        said = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RecipeError(Problem(where=f"{name}.yaml", what=f"is not YAML: {error}")) from error
    problems = [Problem(where=f"{name}.yaml{where}", what=what) for where, what in _mistakes(said)]
    if problems:
        raise RecipeError(problems)
    return _recipe(name, said)


def _recipe(name: str, said: dict[str, Any]) -> Recipe:
    layout = said["layout"]
    return Recipe(
        name=name,
        title=Said(**said["title"]),
        algorithm=said["algorithm"],
        data=said["data"],
        layout=Layout(**{**layout, "billions": float(layout["billions"])}),
        memory=Said(**said["memory"]),
        sources=tuple(Source(**one) for one in said["sources"]),
        environment={key: str(value) for key, value in said["environment"].items()},
        options=said["options"],
        pins={
            pin: Part(
                stacks=tuple(part["stacks"]),
                options=part.get("options", {}),
                without=tuple(part.get("without", ())),
                note=Said(**part["note"]) if "note" in part else None,
            )
            for pin, part in said["pins"].items()
        },
    )


def _mistakes(said: Any) -> list[tuple[str, str]]:
    if not isinstance(said, dict):
        return [("", "is no table")]
    found = _shape("", said, _KEYS)
    if found:
        return found
    found += _shape(": layout", said["layout"], _LAYOUT)
    if said["algorithm"] not in ALGORITHMS:
        found.append((": algorithm", f"{said['algorithm']} is none of {', '.join(ALGORITHMS)}"))
    for key in ("title", "memory"):
        found += _shape(f": {key}", said[key], {"en": str, "zh": str})
    known = load_pins()
    for pin, part in said["pins"].items():
        found += [(f": pins.{pin}", "there is no such pin")] if pin not in known else []
        found += _part(f": pins.{pin}", part, said["options"])
    return found


def _part(where: str, part: Any, options: Mapping[str, Any]) -> list[tuple[str, str]]:
    optional = {"options": dict, "without": list}
    if not isinstance(part, dict):
        return [(where, "is no table")]
    note = _shape(f"{where}.note", part["note"], {"en": str, "zh": str}) if "note" in part else []
    if not part.get("stacks", [""]) and "note" not in part:
        note = [(f"{where}.stacks", "holds none, and no note says why")]
    part = {key: value for key, value in part.items() if key != "note"}
    found = _shape(where, {**{key: made() for key, made in optional.items()}, **part}, {"stacks": list, **optional})
    lost = [key for key in part.get("without", ()) if key not in options]
    return note + found + [(f"{where}.without", f"{key} is no option of all pins") for key in lost]


def _shape(where: str, said: Any, keys: Mapping[str, type]) -> list[tuple[str, str]]:
    """Return what is missing, too much, or of another type."""
    if not isinstance(said, dict):
        return [(where, "is no table")]
    missing = [(where, f"{key} is missing") for key in keys if key not in said]
    unknown = [(where, f"{key} is no key of it") for key in said if key not in keys]
    accepted = {key: (int, float) if kind is float else kind for key, kind in keys.items()}
    wrong = [
        (f"{where}: {key}".removeprefix(": "), f"is no {keys[key].__name__}")
        for key, value in said.items()
        if key in keys and not isinstance(value, accepted[key])
    ]
    return missing + unknown + wrong
