"""Recipes and stacks → the rows of their tables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from document_tables.markdown import table
from npu_overlays.overlay.tables import load_toml
from npu_recipes.catalogue import Part, Recipe, load, load_pins, names
from npu_recipes.launch.environment import DETERMINISTIC
from npu_recipes.launch.memory import estimate

ROOT = Path(__file__).parents[2]
# The columns, by the document's language.
_HEADS: dict[str, dict[str, tuple[str, ...]]] = {
    "recipes": {
        "en": ("recipe", "algorithm and model", "trains", "generates", "on", "devices", "verl, and stacks"),
        "zh": ("配方", "算法与模型", "训练", "生成", "硬件", "设备", "verl 与 stack"),
    },
    "matrix": {
        "en": ("model", "SFT", "GRPO, vllm", "GRPO, sglang", "DAPO, vllm"),
        "zh": ("模型", "SFT", "GRPO，vllm", "GRPO，sglang", "DAPO，vllm"),
    },
    "memory": {
        "en": ("recipe", "verl", "weights and gradients, GB", "moments, GB", "generating: weights, GB", "cache, GB"),
        "zh": ("配方", "verl", "权重与梯度 GB", "优化器状态 GB", "生成：权重 GB", "缓存 GB"),
    },
    "stacks": {
        "en": ("stack", "verl", "transformers", "Python", "CANN", "torch", "torch_npu", "vllm", "sglang"),
        "zh": ("stack", "verl", "transformers", "Python", "CANN", "torch", "torch_npu", "vllm", "sglang"),
    },
    "deterministic": {"en": ("variable", "value"), "zh": ("变量", "值")},
}
_COMPONENTS = ("cann", "torch", "torch_npu", "vllm", "sglang")
_COMMA = {"en": ", ", "zh": "，"}
_IN_LIST = {"en": ", ", "zh": "、"}
_COLON = {"en": ": ", "zh": "："}
_SEMICOLON = {"en": "; ", "zh": "；"}
_HARDWARE: dict[str, dict[str, str]] = {"en": {}, "zh": {"any CPU": "任意 CPU", " or ": " 或 "}}


@cache
def tables(language: str) -> dict[str, str]:
    """Return the tables by name, in a language: `en` or `zh`."""
    return {name: table(_HEADS[name][language], rows(language)) for name, rows in _ROWS.items()}


def _recipes(language: str) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for one in map(load, names()):
        algorithm = _COMMA[language].join((_algorithm(one, language), _model(one, language)))
        layout = (one.layout.engine, one.layout.rollout or "-", _hardware(one, language))
        pins = [" ".join((load_pins()[pin].version, *_of_stacks(part, language))) for pin, part in one.pins.items()]
        devices = f"{one.layout.nodes} x {one.layout.devices}"
        rows.append((f"`{one.name}`", algorithm, *layout, devices, _SEMICOLON[language].join(pins)))
    return rows


def _algorithm(recipe: Recipe, language: str) -> str:
    """Return the algorithm of a recipe; for fine-tuning also what it trains."""
    if recipe.algorithm != "sft":
        return recipe.algorithm.upper()
    trains = {"en": ("SFT of all weights", "SFT by LoRA"), "zh": ("全参数 SFT", "LoRA SFT")}
    return trains[language][_by_lora(recipe)]


def _by_lora(recipe: Recipe) -> bool:
    """Return whether a recipe trains adapters, not the model's own weights."""
    return all(recipe.options_for(pin).get("model.lora_rank") for pin in recipe.pins)


def _hardware(recipe: Recipe, language: str) -> str:
    text = recipe.layout.hardware
    for english, other in _HARDWARE[language].items():
        text = text.replace(english, other)
    return text


def _model(recipe: Recipe, language: str) -> str:
    tiny = {"en": "a tiny random Qwen2", "zh": "随机初始化的微型 Qwen2"}[language]
    return recipe.layout.model.partition("/")[2] or tiny


def _of_stacks(part: Part, language: str) -> list[str]:
    return [f"({_IN_LIST[language].join(part.stacks)})"] if part.stacks else []


def _matrix(language: str) -> list[tuple[str, ...]]:
    """Return the versions of verl by model, and by algorithm with what generates."""
    versions: dict[tuple[str, str], str] = {}
    sizes: dict[str, float] = {}
    for one in map(load, names()):
        if not one.smoke:
            model = re.sub(r"-(Base|Instruct)$", "", one.layout.model.partition("/")[2])
            sizes[model] = one.layout.billions
            listed = _versions(one.pins, language)
            what = f"{one.algorithm} {one.layout.rollout}".strip()
            versions[model, what] = f"LoRA{_COLON[language]}{listed}" if _by_lora(one) else listed
    columns = ("sft", "grpo vllm", "grpo sglang", "dapo vllm")
    if others := {column for _, column in versions} - set(columns):
        msg = f"the matrix has no column for {others}"
        raise ValueError(msg)
    ordered = sorted(sizes, key=lambda model: sizes[model])
    rows: list[tuple[str, ...]] = []
    for model in ordered:
        rows.append((model, *(versions.get((model, column), "-") for column in columns)))
    return rows


def _versions(pins: Iterable[str], language: str) -> str:
    return _IN_LIST[language].join(load_pins()[pin].version for pin in pins)


def _memory(language: str) -> list[tuple[str, ...]]:
    return list(chain.from_iterable(_memory_of(one, language) for one in map(load, names()) if not one.smoke))


def _memory_of(recipe: Recipe, language: str) -> list[tuple[str, ...]]:
    rows: dict[tuple[str, ...], list[str]] = {}
    for pin in recipe.pins:
        sizes = [f"{share.gigabytes:.0f}" for share in estimate(recipe, recipe.options_for(pin))]
        rows.setdefault((*sizes, "-", "-", "-")[:4], []).append(pin)
    return [(f"`{recipe.name}`", _versions(pins, language), *sizes) for sizes, pins in rows.items()]


def _stacks(_: str) -> list[tuple[str, ...]]:
    wanted: dict[str, str] = {}
    for one in map(load, names()):
        for pin, part in one.pins.items():
            wanted.update(dict.fromkeys(part.stacks, pin))
    order = list(load_pins())
    rows = []
    for stack in sorted(wanted, key=lambda name: (order.index(wanted[name]), name)):
        said: dict[str, Any] = json.loads((ROOT / "stacks" / f"{stack}.json").read_text("utf-8"))
        versions = {one["name"]: one.get("version", "") for one in said["components"]}
        upstream = map(_upstream, sorted(said["overlays"], reverse=True))  # verl, then transformers
        rows.append((f"`{stack}`", *upstream, said["python"], *(versions.get(name, "") for name in _COMPONENTS)))
    return rows


def _upstream(overlay: str) -> str:
    """Return the version of an overlay's pin, with the commit if the overlay pins one."""
    version = str(load_toml(ROOT / "overlays" / overlay / "overlay.lock")["metadata"]["version"])
    revision = overlay.partition("@")[2]
    return version if version == revision else f"{version} (`{revision}`)"


def _deterministic(_: str) -> list[tuple[str, ...]]:
    return [(f"`{name}`", f"`{value}`") for name, value in DETERMINISTIC.items()]


_ROWS: dict[str, Callable[[str], list[tuple[str, ...]]]] = {
    "recipes": _recipes,
    "matrix": _matrix,
    "memory": _memory,
    "stacks": _stacks,
    "deterministic": _deterministic,
}
