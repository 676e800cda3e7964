"""Composition: overrides against the installed verl: every key exists and has its type, and verl's own checks pass.

It imports verl: run it in a process of its own, with ``python -m npu_recipes.checks``.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from npu_recipes.catalogue import Recipe, Trainer
from npu_recipes.checks.settings import mistakes, unmet

# An integer may stand for a float, and the other way round.
_NUMBERS = ((int, float), (float, int))
# Keys that verl reads from a section beside its fields.
_RAW = ("reward.reward_kwargs",)
# The sections that verl's trainers of reinforcement learning instantiate whole; of others they use parts.
_MADE = ("actor_rollout_ref.actor", "actor_rollout_ref.rollout", "algorithm")
# What verl and Hydra raise for a configuration that they do not accept.
_REFUSED = (TypeError, ValueError, AssertionError, HydraException, OmegaConfBaseException, NotImplementedError)


def problems(recipe: Recipe, trainer: Trainer, overrides: Sequence[str]) -> list[str]:
    """Return what the installed verl does not accept in overrides.

    Args:
        recipe: what they are of.
        trainer: which of verl's trainers.
        overrides: as Hydra reads them.
    """
    if not config_folder(trainer).is_dir():
        return [f"this verl has no {trainer.package}: its release's archive holds no recipes; build the wheel from git"]
    base = _composed(trainer, [one for one in overrides if _chooses(one, trainer)])
    found = [*_keys(trainer, base, overrides), *_types(base, overrides)]
    if found:
        return found
    config = _composed(trainer, overrides)
    OmegaConf.resolve(config)
    settings = dict(_flat(OmegaConf.to_container(config, resolve=True, throw_on_missing=False)))
    found = [f"{key} has to be set" for key in sorted(OmegaConf.missing_keys(config)) if "reward_model" not in key]
    layout = recipe.layout
    found += mistakes(settings, algorithm=recipe.algorithm, engine=layout.engine, world=layout.world)
    found += unmet(recipe, settings)
    return [*found, *_instantiation(config, trainer), *_validation(config, recipe)]


def _composed(trainer: Trainer, overrides: Sequence[str]) -> DictConfig:
    with initialize_config_dir(str(config_folder(trainer)), version_base=None):
        return compose(trainer.config, overrides=list(overrides))


def config_folder(trainer: Trainer) -> Path:
    """Return the folder with a trainer's configuration; packages of configuration need not be packages of Python."""
    top, *rest = trainer.package.split(".")
    spec = importlib.util.find_spec(top)
    found = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(found or [top])), *rest)


def _chooses(override: str, trainer: Trainer) -> bool:
    """Return whether an override chooses a group, such as the engine, and no value."""
    key = override.partition("=")[0]
    return (config_folder(trainer) / key).is_dir() or key == "model_engine"


def _keys(trainer: Trainer, base: DictConfig, overrides: Sequence[str]) -> Iterator[str]:
    """Yield which keys do not exist, and which exist although they are added."""
    gained = set()
    for text in overrides:
        if _chooses(text, trainer):
            continue
        (override,) = OverridesParser.create().parse_overrides([text])
        key = override.key_or_group
        parent, _, last = key.rpartition(".")
        section = OmegaConf.select(base, parent) if parent else base
        # A key whose value has to be set is not "in" the section.
        names = [*section.keys()] if isinstance(section, DictConfig) else []
        added, there = override.is_add() or override.is_force_add(), last in names
        # What is null may be added, too.
        if override.is_add() and not override.is_force_add() and there and OmegaConf.select(base, key) is not None:
            yield f"{key} is there already: without the +"
        if added and not there and not _takes_more(base, key):
            yield f"{key} is added to what has no such field"
        if not added and not there and key not in gained:
            nearest = get_close_matches(last, map(str, names), n=1)
            yield f"{key} is no key of this verl" + (f"; did you mean `{nearest[0]}`?" if nearest else "")
        if added:
            gained.add(key)


def _takes_more(config: DictConfig, key: str) -> bool:
    """Return whether a key may be added: a section that verl instantiates has the fields of its class and no more."""
    parts = key.split(".")
    for length in range(len(parts) - 1, 0, -1):
        section = OmegaConf.select(config, ".".join(parts[:length]))
        if isinstance(section, DictConfig):
            made = section.get("_target_")
            if made is None:
                return True
            module, _, symbol = made.rpartition(".")
            fields = dataclasses.fields(getattr(importlib.import_module(module), symbol))
            named = any(field.name == parts[length] for field in fields)
            return named or ".".join(parts[: length + 1]) in _RAW
    return len(parts) > 1


def _types(base: DictConfig, overrides: Sequence[str]) -> Iterator[str]:
    for text in overrides:
        (override,) = OverridesParser.create().parse_overrides([text])
        key, value = override.key_or_group, override.value()
        try:
            before = OmegaConf.select(base, key, throw_on_missing=False)
        except OmegaConfBaseException:
            continue  # what it refers to is set by another
        if before is None or value is None or isinstance(before, DictConfig):
            continue
        kinds = (type(_plain(before)), type(_plain(value)))
        if kinds[0] is not kinds[1] and kinds not in _NUMBERS and not _lists(kinds, key):
            yield f"{key} is a {kinds[0].__name__}, not a {kinds[1].__name__}: {value}"


def _plain(value: Any) -> Any:
    return list(value) if OmegaConf.is_list(value) else str(value) if type(value).__name__ == "QuotedString" else value


def _lists(kinds: tuple[type, type], key: str) -> bool:
    """Return whether one or several may be said: files, loggers, modules; and steps that may be named in words."""
    return set(kinds) == {str, list} or (set(kinds) == {int, str} and key.endswith("_freq"))


def _flat(section: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a section by their whole keys."""
    for key, value in section.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _instantiation(config: DictConfig, trainer: Trainer) -> Iterator[str]:
    """Yield why verl cannot instantiate sections."""
    from verl.utils.config import omega_conf_to_dataclass  # noqa: PLC0415  # it takes seconds

    for key, section in _sections(config):
        # The fine-tuning trainer up to 0.6 instantiates no section, the one after it all of them.
        if trainer.config != "sft_trainer_engine" and key not in _MADE:
            continue
        if ".model" in f".{key}":
            continue  # it would load the model
        try:
            omega_conf_to_dataclass(section)
        except _REFUSED as error:
            yield f"{key}: {_cause(error)}"


def _validation(config: DictConfig, recipe: Recipe) -> Iterator[str]:
    """Yield what verl's own validation refuses; trainers of fine-tuning have none."""
    checks = importlib.import_module("verl.utils.config")
    if recipe.algorithm == "sft" or not hasattr(checks, "validate_config"):
        return
    uses_reference = bool(config.actor_rollout_ref.actor.use_kl_loss or config.algorithm.use_kl_in_reward)
    try:
        checks.validate_config(config, use_reference_policy=uses_reference, use_critic=False)
    except _REFUSED as error:
        yield f"verl: {_cause(error)}"


def _sections(config: DictConfig) -> Iterator[tuple[str, DictConfig]]:
    """Yield the outermost sections that verl instantiates."""
    stack: list[tuple[str, Any]] = [("", config)]
    while stack:
        key, node = stack.pop()
        if not isinstance(node, DictConfig):
            continue
        if "_target_" in node:
            yield key, node
            continue
        stack += [(f"{key}.{name}".lstrip("."), node._get_node(name)) for name in node]


def _cause(error: BaseException) -> str:
    """Return the innermost cause of an error in a line, without the layers that Hydra puts around it."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}".split("\n", 1)[0]
