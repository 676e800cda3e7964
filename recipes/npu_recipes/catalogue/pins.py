"""Pins: which trainers each verl has, and what they are called there, read from `pins.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """A trainer of one verl."""

    module: str  # its main program
    package: str  # the package its configuration lies in
    config: str  # the configuration's name there
    named: bool = False  # whether the main program needs this name as an option, since its default is another one
    torchrun: bool = False  # whether torchrun starts it, once for each device; else Ray starts workers


@dataclass(frozen=True, kw_only=True)
class VerlPin:
    """A verl that recipes are for."""

    name: str  # of its overlay
    version: str  # of its release, or of the commit's
    allocator: bool  # whether EXPANDABLE_SEGMENTS switches the memory of training; else verl always does it by itself
    trainers: Mapping[str, Trainer]  # by algorithm, and where it differs by engine: ``grpo``, ``grpo-megatron``

    def trainer(self, algorithm: str, engine: str) -> Trainer | None:
        """Return the trainer of an algorithm, or None where this verl has none."""
        return self.trainers.get(f"{algorithm}-{engine}") or self.trainers.get(algorithm)


@cache
def load_pins() -> dict[str, VerlPin]:
    """Return all pins by their names, the newest first."""
    text = Path(__file__).with_name("pins.yaml").read_text("utf-8")
    pins = {}
    for name, stated in yaml.safe_load(text).items():
        trainers = {algorithm: Trainer(**trainer) for algorithm, trainer in stated.pop("trainers").items()}
        pins[name] = VerlPin(name=name, trainers=trainers, **stated)
    return pins


def pin_of_version(version: str) -> VerlPin | None:
    """Return the pin of an installed verl by its version, upstream's or ours; None where there is none."""
    release = version.partition("+")[0]
    return next((pin for pin in load_pins().values() if pin.version == release), None)
