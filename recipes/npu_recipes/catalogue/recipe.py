"""Recipe: settings with which a model is trained, read from a YAML file; all its mistakes are reported at once.

``like: NAME`` in a file takes from another recipe what this one does not state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from npu_doctor.jsonfiles import DataMistake, decode
from npu_recipes.catalogue.pins import load_pins
from npu_recipes.errors import Problem, RecipeError

_FOLDER = Path(__file__).parent / "recipes"
# The key that names the recipe with which a recipe shares what it does not state.
_LIKE = "like"
# The safe one in C, ten times as fast, where PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ALGORITHMS = ("sft", "grpo", "dapo")


@dataclass(frozen=True, kw_only=True)
class Translated:
    """A sentence in English and in Chinese."""

    en: str
    zh: str


@dataclass(frozen=True, kw_only=True)
class SettingsSource:
    """Where settings of a recipe come from."""

    name: str  # of the page or script
    what: str = ""  # which of its settings were taken, in English; empty for all of its own


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What a recipe runs on."""

    engine: str  # ``fsdp`` or ``megatron``
    rollout: str  # ``vllm``, ``sglang``, ``hf`` for that of `npu_recipes.cpu`, or empty where nothing is generated
    hardware: str  # which machines, such as ``Atlas A2``
    nodes: int  # how many
    devices: int  # how many of each are used
    memory: int  # GB of each device; 0 where there is none
    model: str  # name on the hub; empty for the tiny one
    billions: float  # of its parameters

    @property
    def world(self) -> int:
        """How many devices there are."""
        return self.nodes * self.devices


@dataclass(frozen=True, kw_only=True)
class Part:
    """What is different for one pin of verl."""

    # The stacks it is for, by their names in `stacks/`; none where ours hold nothing that generates with it.
    stacks: tuple[str, ...]
    # Its own options; they come after those of all pins.
    options: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()  # options of all pins that this one does not have
    note: Translated | None = None  # what has to be known of the recipe with this pin


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Settings with which a model is trained."""

    name: str  # of its file, and as it is typed
    title: Translated  # what it does
    algorithm: str  # ``sft``, ``grpo`` or ``dapo``
    data: str  # what it trains on, by its name in ``npu-recipes data``
    layout: Layout  # what it runs on
    memory: Translated  # what fills the memory, and what to change where it does not suffice
    sources: tuple[SettingsSource, ...]  # where its settings come from
    environment: Mapping[str, str]  # variables it is started with
    # Keys and values of Hydra, for all pins; a key that begins with ``+`` is added to verl's configuration.
    options: Mapping[str, Any]
    pins: Mapping[str, Part]  # what is different for each pin, by its overlay's name; the recipe is for no other

    @property
    def smoke(self) -> bool:
        """Whether it makes its own model and data, and runs on any machine."""
        return not self.layout.model

    def options_for(self, pin: str) -> dict[str, Any]:
        """Return the options for one of its pins; raises `KeyError` for another's."""
        part = self.pins[pin]
        common = {key: value for key, value in self.options.items() if key not in part.without}
        return {**common, **part.options}


def names() -> list[str]:
    """Return the names of all recipes, those to try things out first."""
    found = sorted(file.stem for file in _FOLDER.glob("*.yaml"))
    return sorted(found, key=lambda name: not name.startswith("smoke"))


def load(name: str) -> Recipe:
    """Return the recipe of a name; raises `RecipeError` if there is none."""
    known = names()
    if name not in known:
        nearest = get_close_matches(name, known, n=1)
        fix = f"did you mean {nearest[0]}?" if nearest else "`npu-recipes list` prints all"
        raise RecipeError(Problem(where=name, what="there is no such recipe", fix=fix))
    return read(name, (_FOLDER / f"{name}.yaml").read_text("utf-8"))


def read(name: str, text: str) -> Recipe:
    """Return the recipe that a YAML text states; raises `RecipeError` with everything that is wrong in it."""
    stated = _stated(name, text)
    if not isinstance(stated, dict):
        raise RecipeError(
            Problem(where=f"{name}.yaml", what="is no table", fix="write keys with values, as the other recipes do")
        )
    prefix = f"{name}.yaml: "
    mistakes = list(_mistakes(stated, prefix))
    recipe = decode(Recipe, {**stated, "name": name}, prefix, mistakes)
    if mistakes or recipe is None:
        raise RecipeError(Problem(where=one.where, what=one.what, fix=one.fix) for one in mistakes)
    return recipe


def _stated(name: str, text: str) -> Any:
    """Return what a YAML text states, on top of what the recipe states that it is like.

    The two are merged as JSON merge patches are (RFC 7386): tables key by key, and null takes a key away.
    """
    try:
        stated = yaml.load(text, _LOADER)  # noqa: S506  # a safe one
    except yaml.YAMLError as error:
        fix = "correct the syntax at the line that it names"
        raise RecipeError(Problem(where=f"{name}.yaml", what=f"is not YAML: {error}", fix=fix)) from error
    if not isinstance(stated, dict) or _LIKE not in stated:
        return stated
    other = stated.pop(_LIKE)
    if other not in names() or other == name:
        fix = f"name another of {', '.join(names())}"
        raise RecipeError(Problem(where=f"{name}.yaml: {_LIKE}", what=f"{other} is no other recipe", fix=fix))
    return _merged(_stated(other, (_FOLDER / f"{other}.yaml").read_text("utf-8")), stated)


def _merged(whole: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(whole) if isinstance(whole, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged


def _mistakes(stated: Mapping[str, Any], prefix: str) -> Iterator[DataMistake]:
    """Yield what is wrong in a recipe beside the types of its values."""
    algorithm, pins, options = (stated.get(key) for key in ("algorithm", "pins", "options"))
    if algorithm not in (*_ALGORITHMS, None):
        named = ", ".join(_ALGORITHMS)
        yield DataMistake(where=f"{prefix}algorithm", what=f"{algorithm} is none of {named}", fix="name one of them")
    if not isinstance(pins, dict):
        return
    for pin, part in pins.items():
        where = f"{prefix}pins.{pin}"
        if pin not in load_pins():
            yield DataMistake(where=where, what="there is no such pin", fix=f"name one of {', '.join(load_pins())}")
        if not isinstance(part, dict):
            continue
        if part.get("stacks") == [] and "note" not in part:
            yield DataMistake(where=f"{where}.stacks", what="holds none, and no note says why", fix="write a note")
        if isinstance(options, dict):
            for key in set(part.get("without", ())).difference(options):
                yield DataMistake(where=f"{where}.without", what=f"{key} is no option of all pins", fix="leave it out")
