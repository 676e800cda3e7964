"""Recipe: what a recipe is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Said:
    """A sentence in English and in Chinese."""

    en: str
    zh: str


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where settings of a recipe come from.

    Args:
        name: of the page or script.
        what: which of its settings were taken, in English; empty for all that are its own.
    """

    name: str
    what: str = ""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What a recipe runs on.

    Args:
        engine: ``fsdp`` or ``megatron``.
        rollout: ``vllm``, ``sglang``, ``hf`` for that of `npu_recipes.cpu`, or empty where nothing is generated.
        hardware: which machines, such as ``Atlas A2``.
        nodes: how many.
        devices: how many of each are used.
        memory: GB of each device; 0 where there is none.
        model: name on the hub; empty for the tiny one.
        billions: of its parameters.
    """

    engine: str
    rollout: str
    hardware: str
    nodes: int
    devices: int
    memory: int
    model: str
    billions: float

    @property
    def world(self) -> int:
        """How many devices there are."""
        return self.nodes * self.devices


@dataclass(frozen=True, kw_only=True)
class Part:
    """What is different for one pin of verl.

    Args:
        stacks: the stacks it is for, by their names in `stacks/`; none where ours hold nothing that generates with it.
        options: its own options; they come after those of all pins.
        without: options of all pins that this one does not have.
        note: what has to be known of the recipe with this pin.
    """

    stacks: tuple[str, ...]
    options: Mapping[str, Any]
    without: tuple[str, ...]
    note: Said | None = None


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Settings with which a model is trained.

    Args:
        name: of its file, and as it is typed.
        title: what it does.
        algorithm: ``sft``, ``grpo`` or ``dapo``.
        data: what it trains on, by its name in ``npu-recipes data``.
        layout: what it runs on.
        memory: what fills the memory, and what to change where it does not suffice.
        sources: where its settings come from.
        environment: variables it is started with.
        options: keys and values of Hydra, for all pins; a key that begins with ``+`` is added to verl's configuration.
        pins: what is different for each pin, by its overlay's name; the recipe is for no other.
    """

    name: str
    title: Said
    algorithm: str
    data: str
    layout: Layout
    memory: Said
    sources: tuple[Source, ...]
    environment: Mapping[str, str]
    options: Mapping[str, Any]
    pins: Mapping[str, Part]

    @property
    def smoke(self) -> bool:
        """Whether it makes its own model and data, and runs on any machine."""
        return not self.layout.model

    def options_for(self, pin: str) -> dict[str, Any]:
        """Return the options for one of its pins; raises `KeyError` for another's."""
        part = self.pins[pin]
        common = {key: value for key, value in self.options.items() if key not in part.without}
        return {**common, **part.options}
