"""``python -m npu_recipes.checking PIN NAME …``: what the installed verl does not take of recipes, as JSON.

Each name may be followed by overrides of Hydra. Exit code 0 where all are taken, else 1.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

from npu_recipes.catalogue import load, load_pins
from npu_recipes.checking.composition import problems
from npu_recipes.launching.places import Places
from npu_recipes.launching.plan import make_plan


def check(pin: str, name: str, given: list[str]) -> list[str]:
    """Return what the installed verl does not take of a recipe with overrides."""
    recipe = load(name)
    model, output = recipe.layout.model or "model", Path("/output")
    places = Places(model=model, data=Path("/data"), output=output, metrics=output / "metrics.jsonl")
    plan = make_plan(recipe, pin=load_pins()[pin], places=places, given=given)
    return problems(recipe, plan.trainer, plan.overrides)


def main() -> int:
    """Check what the arguments name, and print what was found."""
    pin, *words = sys.argv[1:]
    wanted: list[tuple[str, list[str]]] = []
    for word in words:
        if "=" in word or word.startswith("~"):
            wanted[-1][1].append(word)
        else:
            wanted.append((word, []))
    with contextlib.redirect_stdout(sys.stderr):  # verl prints that all is well
        found = [{"recipe": name, "overrides": given, "problems": check(pin, name, given)} for name, given in wanted]
    json.dump(found, sys.stdout, indent=1)
    return int(any(one["problems"] for one in found))


if __name__ == "__main__":
    sys.exit(main())
