"""Places: what stands in braces in a recipe's options, and what it becomes in a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npu_recipes.files import at_home

PACKAGE = Path(__file__).parent.parent
# What is no path unless there is such a folder: a name on the hub, and an address.
_ELSEWHERE = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?|\w+://.*")


def model_of(text: str) -> str:
    """Return a model as every process finds it, from whatever folder: its whole path, or its name on the hub."""
    place = at_home(text)
    return text if _ELSEWHERE.fullmatch(text) and not place.is_dir() else str(place.absolute())


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where a run finds things and puts them.

    Args:
        model: folder of the model, or its name on the hub.
        data: folder with ``train.parquet`` and ``test.parquet``.
        output: folder for checkpoints and logs.
        metrics: the file verl's file logger writes.
    """

    model: str
    data: Path
    output: Path
    metrics: Path

    def missing(self, values: Iterable[Any]) -> list[Path]:
        """Return which files of the data, and which folder of a model, some values name and this machine lacks."""
        places = {str(file): file for split in ("train", "test") for file in [self.data / f"{split}.parquet"]}
        if Path(self.model).is_absolute():  # else it may be a name on the hub
            places[self.model] = Path(self.model)
        named = [value for value in values if isinstance(value, str)]
        return [place for text, place in places.items() if text in named and not place.exists()]

    def filled(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return options with ``{model}``, ``{data}``, ``{output}`` and ``{package}`` replaced in their texts."""
        return {key: self._filled(value) for key, value in options.items()}

    def _filled(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        words = {"model": self.model, "data": self.data, "output": self.output, "package": PACKAGE}
        for word, place in words.items():
            value = value.replace("{" + word + "}", str(place))
        return value
