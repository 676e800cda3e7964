"""Plan: a recipe, a pin and wishes → exactly what will be run, before anything is."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from npu_recipes.catalogue import Recipe, Trainer, VerlPin, load_pins, pin_of_version
from npu_recipes.errors import Problem, RecipeError
from npu_recipes.files import at_home
from npu_recipes.launch.environment import Variable, Wishes, inherited, variables
from npu_recipes.launch.overrides import assigned, merged, untouched

PACKAGE = Path(__file__).parent.parent
# What is no path unless there is such a folder: a name on the hub, and an address.
_ELSEWHERE = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?|\w+://.*")
# verl's file logger writes one object a step to the file this names.
METRICS = "VERL_FILE_LOGGER_PATH"
SEED = "trainer.deterministic_seed"
_NO_WISHES = Wishes()


def model_of(text: str) -> str:
    """Return a model as every process finds it, in any folder: its whole path, or its name on the hub."""
    place = at_home(text)
    return text if _ELSEWHERE.fullmatch(text) and not place.is_dir() else str(place.absolute())


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where a run finds things and puts them."""

    model: str  # folder of the model, or its name on the hub
    data: Path  # folder with ``train.parquet`` and ``test.parquet``
    output: Path  # folder for checkpoints and logs
    metrics: Path  # the file verl's file logger writes

    def missing(self, values: Iterable[Any]) -> list[Path]:
        """Return which files of the data, and which folder of a model, some values name and this machine lacks."""
        places = [self.data / "train.parquet", self.data / "test.parquet"]
        if Path(self.model).is_absolute():  # else it may be a name on the hub
            places.append(Path(self.model))
        named = [value for value in values if isinstance(value, str)]
        return [place for place in places if str(place) in named and not place.exists()]

    def filled(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return options with ``{model}``, ``{data}``, ``{output}`` and ``{package}`` replaced in their texts."""
        words = {"model": self.model, "data": self.data, "output": self.output, "package": PACKAGE}
        found = dict(options)
        for key, value in options.items():
            if isinstance(value, str):
                for word, place in words.items():
                    found[key] = found[key].replace("{" + word + "}", str(place))
        return found


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What will be run."""

    recipe: Recipe  # the recipe
    pin: VerlPin  # the verl it is run with
    trainer: Trainer  # the trainer of that verl
    overrides: tuple[str, ...]  # what Hydra is given
    command: tuple[str, ...]  # the whole command
    # What is added to the environment, and what decides about the run and is there already.
    variables: tuple[Variable, ...]
    places: Places  # where it finds things and puts them
    untouched: Mapping[str, Any]  # the recipe's options that the user left as they are

    @property
    def environment(self) -> dict[str, str]:
        """Its variables, by name."""
        return {one.name: one.value for one in self.variables}

    def shell(self) -> str:
        """Return the command with its environment, to be pasted into a shell."""
        lines = [f"{one.name}={shlex.quote(one.value)}" for one in self.variables]
        lines.append(shlex.join(self.command[: len(self.command) - len(self.overrides)]))
        lines += map(shlex.quote, self.overrides)
        return " \\\n  ".join(lines)


def make_plan(
    recipe: Recipe, *, pin: VerlPin, places: Places, given: Sequence[str] = (), wishes: Wishes = _NO_WISHES
) -> Plan:
    """Return what is run.

    Args:
        recipe: what to run.
        pin: with which verl.
        places: where things are.
        given: what the user wants otherwise.
        wishes: what the environment is asked for.

    Raises:
        RecipeError: the recipe is not for this verl, or something given cannot be used.
    """
    trainer = trainer_for(recipe, pin)
    seed = {} if wishes.deterministic is None else {SEED: wishes.deterministic}
    options = places.filled({**recipe.options_for(pin.name), **seed})
    metrics = Variable(name=METRICS, value=str(places.metrics), why="where metrics go")
    added = (metrics, *variables(recipe.environment, wishes, os.environ))
    overrides = tuple(merged(options, given))
    return Plan(
        recipe=recipe,
        pin=pin,
        trainer=trainer,
        overrides=overrides,
        command=(*_launcher(recipe, trainer, overrides), *overrides),
        variables=(*added, *inherited(recipe.environment, added, os.environ)),
        places=places,
        untouched=untouched(options, given),
    )


def trainer_for(recipe: Recipe, pin: VerlPin) -> Trainer:
    """Return the trainer that a verl has for a recipe; raises `RecipeError` where the recipe is not for it."""
    trainer = pin.trainer(recipe.algorithm, recipe.layout.engine)
    if pin.name not in recipe.pins or trainer is None:
        what = f"is not for {pin.name} (verl {pin.version})"
        fix = f"install one of {', '.join(recipe.pins)}, or name it with --pin to see the command"
        raise RecipeError(Problem(where=recipe.name, what=what, fix=fix))
    return trainer


def _launcher(recipe: Recipe, trainer: Trainer, overrides: Sequence[str]) -> list[str]:
    named = [f"--config-name={trainer.config}"] if trainer.named else []
    if not trainer.torchrun:
        return [sys.executable, "-m", trainer.module, *named]
    # torchrun has to start as many processes as the trainer expects, by the recipe or by an override.
    machines = assigned(overrides, "trainer.nnodes") or str(recipe.layout.nodes)
    each = assigned(overrides, "trainer.n_gpus_per_node") or str(recipe.layout.devices)
    nodes = ["--standalone"] if machines == "1" else [f"--nnodes={machines}"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", *nodes, f"--nproc_per_node={each}"]
    return [*torchrun, "-m", trainer.module, *named]


def chosen_pin(name: str) -> VerlPin:
    """Return the pin a user names by its overlay or its version, else that of the installed verl, else the newest.

    Raises:
        RecipeError: there is no such pin, several are meant, or the installed verl is none of them.
    """
    pins = list(load_pins().values())
    if name:
        named = [pin for pin in pins if name in {pin.name, pin.version, f"verl@{pin.version}"}]
        if len(named) == 1:
            return named[0]
        what = f"is the version of {len(named)} pins" if named else "there is no such pin"
        raise RecipeError(Problem(where=name, what=what, fix=f"name one of {_listed(named or pins)}"))
    version = installed_verl()
    if version is None:
        return pins[0]
    found = pin_of_version(version)
    if found is None:
        fix = f"install one of {_listed(pins)}, or name it with --pin to see the command"
        raise RecipeError(Problem(where=f"verl {version}", what="no recipe is for this version", fix=fix))
    return found


def _listed(pins: Iterable[VerlPin]) -> str:
    return ", ".join(f"{pin.name} (verl {pin.version})" for pin in pins)


def installed_verl() -> str | None:
    """Return the version of the verl that is installed, ours or upstream's; None where there is none."""
    for name in ("verl-npu", "verl"):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None
