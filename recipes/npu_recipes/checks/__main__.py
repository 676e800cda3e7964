"""``python -m npu_recipes.checks PIN NAME …``: what the installed verl does not accept in recipes, as JSON.

Each name may be followed by overrides of Hydra. Exit code 0 if all are accepted, else 1; 2 if that cannot be checked.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from npu_recipes.catalogue import load
from npu_recipes.console import Console
from npu_recipes.errors import Problem, RecipeError
from npu_recipes.launch.plan import Places, chosen_pin, make_plan


def check(pin: str, name: str, given: list[str]) -> list[str]:
    """Return what the installed verl does not accept in a recipe with overrides; raises `RecipeError`."""
    try:
        from npu_recipes.checks.composition import problems  # noqa: PLC0415  # verl brings what it imports
    except ImportError as error:
        what, fix = f"cannot be imported: {error}", "run it where verl is installed"
        raise RecipeError(Problem(where=error.name or "verl", what=what, fix=fix)) from error
    recipe = load(name)
    model, output = recipe.layout.model or "model", Path("/output")
    places = Places(model=model, data=Path("/data"), output=output, metrics=output / "metrics.jsonl")
    plan = make_plan(recipe, pin=chosen_pin(pin), places=places, given=given)
    return problems(recipe, plan.trainer, plan.overrides)


def main() -> int:
    """Check what the arguments name, and print what was found."""
    try:
        pin, wanted = _wanted(sys.argv[1:])
        with contextlib.redirect_stdout(sys.stderr):  # verl prints that all is well
            found = [
                {"recipe": name, "overrides": given, "problems": check(pin, name, given)} for name, given in wanted
            ]
    except RecipeError as error:
        Console(json_output=False).problems(error.problems)
        return error.exit_code
    json.dump(found, sys.stdout, indent=1)
    return int(any(one["problems"] for one in found))


def _wanted(words: Sequence[str]) -> tuple[str, list[tuple[str, list[str]]]]:
    """Return the pin, and each recipe with its overrides."""
    if not words[1:] or _is_override(words[1]):
        fix = "python -m npu_recipes.checks verl@0.9.1 grpo-qwen3-8b"
        raise RecipeError(Problem(where=" ".join(words), what="is no pin followed by recipes", fix=fix))
    wanted: list[tuple[str, list[str]]] = []
    for word in words[1:]:
        if _is_override(word):
            wanted[-1][1].append(word)
        else:
            wanted.append((word, []))
    return words[0], wanted


def _is_override(word: str) -> bool:
    return "=" in word or word.startswith("~")


if __name__ == "__main__":
    sys.exit(main())
